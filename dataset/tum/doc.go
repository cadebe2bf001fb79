// Package tum reads trajectories in the text format of the TUM RGB-D benchmark, and the benchmark's folders.
//
// A trajectory is a line a pose, "timestamp tx ty tz qx qy qz qw" with spaces between; lines that begin with # are comments. It is an episode of one
// stream, "pose", whose columns are these seven: metres, and a unit quaternion with the scalar last. Timestamps are decimal seconds, and become
// nanoseconds as their digits say; whole numbers that are too large for that are nanoseconds, as some programs write them, and the attribute "clock"
// of the episode says so.
//
// A folder with groundtruth.txt or rgb.txt is a dataset of one episode: "pose" of groundtruth.txt, "accelerometer" (ax, ay, az) of accelerometer.txt,
// and the media "rgb" and "depth" of rgb.txt and depth.txt, which list a time and a file a line. Files on the lists that are not there are a problem
// that Info tells, and are left out.
//
// A line that is broken costs itself alone, and Damage counts it.
//
// The format is described at https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats.
package tum
