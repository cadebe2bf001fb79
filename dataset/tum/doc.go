// Package tum reads trajectories in the text format of the TUM RGB-D benchmark, and the benchmark's folders.
//
//	d, err := tum.Open("rgbd_dataset_freiburg1_xyz", dataset.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("pose"), e.MediaStream("rgb")
//
// A trajectory has one pose per line, "timestamp tx ty tz qx qy qz qw", separated by spaces. Lines that begin with # are comments.
// It is an episode with one stream, "pose", with these seven columns except the timestamp: metres, and a unit quaternion with the
// scalar last. Timestamps are decimal seconds, and convert to nanoseconds exactly. Whole numbers that are too large for seconds are
// nanoseconds, as some programs write them; the episode's attribute "clock" reports it.
//
// A folder with groundtruth.txt or rgb.txt is a dataset with one episode: "pose" from groundtruth.txt, "accelerometer" (ax, ay, az)
// from accelerometer.txt, and the media "rgb" and "depth" from rgb.txt and depth.txt, which list a time and a file per line. If a
// listed file is missing, its frame is left out and Info has a problem.
//
// A broken line loses only itself, and Notes counts it.
//
// The format is described at https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats.
package tum
