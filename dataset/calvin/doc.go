// Package calvin reads datasets in CALVIN's layout: a folder with training and validation, or one of the two, in which each frame is a file of its own,
// episode_0000000.npz.
//
// The rows of ep_start_end_ids.npy are the episodes, their first frame and their last, inclusive: hours of play, which are the splits "training" and
// "validation". An episode names the spans of it that are annotated with language: Attributes.Task has their texts, and Attributes.Other["language"] a
// JSON list of {"task","text","first","last"}, the last two as rows of the episode.
//
// The folder of a split's annotations, training/lang_annotations, is a dataset as well: each span is an episode of its own, with its text as the task, as
// policies are trained on that are told what to do.
//
// Arrays of numbers are streams by their own names, as wide as they are and of the files' dtype: CALVIN's documents say float32, its files have
// float64. Arrays rgb_ and depth_ are media, raw pixels that are read when they are asked for: "rgb8", "mono8", and otherwise as OpenCV and ROS name
// them, little-endian: "8UC6" for the six channels of rgb_tactile, "32FC1" for depths in metres.
//
// The format has no times. CALVIN records 30 frames a second, unless the caller says otherwise; a frame's time is its number's, so that one that is
// not there, or is broken, leaves a gap.
//
// Annotations are pickles, which package pickle reads without running anything. Their embeddings are left out. Frames are read by several goroutines,
// none of which outlives the call.
package calvin
