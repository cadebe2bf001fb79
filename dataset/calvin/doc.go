// Package calvin reads datasets in CALVIN's layout: a folder with training and validation, or one of the two. Each frame is a file,
// episode_0000000.npz.
//
//	d, err := calvin.Open(ctx, "calvin_debug_dataset/training", dataset.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("rel_actions"), e.MediaStream("rgb_static")
//
// The rows in ep_start_end_ids.npy are the episodes, as first and last frame, inclusive. An episode is hours of play, and the
// splits are "training" and "validation". Attributes.Task has the texts of the episode's language annotations.
// Attributes.Other["language"] has them as a JSON list of {"task","text","first","last"}, where first and last are rows of the
// episode.
//
// The folder with a split's annotations, training/lang_annotations, is a dataset as well. There each annotated span is an episode
// with its text as the task, which is the form for policies that follow instructions.
//
// Numeric arrays are streams with their own names, in their own width and dtype. CALVIN's documents declare float32, and its files
// have float64. The arrays rgb_* and depth_* are media with raw pixels that are read when needed. Encodings are "rgb8", "mono8",
// and otherwise the little-endian names in OpenCV and ROS: "8UC6" for the six channels in rgb_tactile, "32FC1" for depth in metres.
//
// The format has no times. CALVIN records 30 frames a second, and Options.Rate overrides it. A frame's time follows from its
// number, so a missing or broken frame leaves a gap.
//
// Annotations are pickles. Package pickle reads them without running code. Their embeddings are left out. Several goroutines read
// frames, and all of them end before the call returns.
package calvin
