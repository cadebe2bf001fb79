// Package depth reads the depth images of a recording, each with its camera's intrinsics, its pose and its colour.
//
//	d, err := dataset.Open(ctx, "rgbd_dataset_freiburg1_xyz", dataset.Options{}) // Clock "header" for a robot log
//	e, err := d.Episode(ctx, 0)
//	s, err := depth.Open(ctx, device, e, depth.Options{}) // device is from ops.Open("cpu")
//	for f, err := range s.Frames(ctx) { ... }             // f.Depth [H,W], f.Pose, f.Color
//
// # Poses
//
// A pose transforms points from the camera, with x to the right, y down and z forward, to the world. Package align interpolates it at the
// image's time: positions linearly, quaternions on the shorter arc. An image before the first pose, after the last,
// or between two poses further apart than the limit has no pose and is left out. If a pose is 1024 m or more from the world's origin along an
// axis, as in UTM coordinates, Series.Origin is subtracted from all, because float32 would lose bits: 3 cm at 500 km. WithPoints returns an
// error then, because the points of all episodes are in one frame.
//
// In a folder of the TUM RGB-D benchmark the poses are groundtruth.txt. In a robot log they are the transforms of /tf and /tf_static
// on the way from the image's frame_id to the fixed frame. Each transform is interpolated on its own before they are multiplied.
//
// # Intrinsics
//
// They come from the option, the recording, or for a robot log from the topic camera_info next to the images. Lens distortion is not
// corrected; Counts.Distorted reports it.
//
// # Points
//
// WithPoints gives a dataset's episodes a stream of points for each stream with Points in a plan, from which a loader draws.
//
// Times are nanoseconds, lengths are metres.
package depth
