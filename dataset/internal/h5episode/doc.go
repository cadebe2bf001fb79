// Package h5episode is the common part of the HDF5 episode readers. A [Layout] recognises files, finds the episodes in them, and
// reads the attributes of an episode. The package converts a group's datasets to streams and media, adds notes about the rest, and
// implements the open dataset.
//
// An episode has as many steps T as its dataset action or actions, or a dataset in a group with that name, has rows. Without
// actions T is num_samples, or else the most frequent number of rows. With actions, data may have T+1 rows, because the last row is
// observed after the last step.
//
// A numeric dataset [T] or [T,D] is a stream; its name is its path in the group. Rows with more dimensions are streams with up to
// 1024 columns, "[0][0]" to "[3][3]" for [T,4,4]. Compounds [T] are streams with a column for each number in a field. Byte images
// [T,H,W,C] are media with raw pixels. JPEG and PNG files are media too, in byte rows [T,L] that are padded with zeros, in strings
// [T], or in byte sequences [T]. Other data, and data with another length, is left out with the reason. Frames are read when they
// are needed.
//
// Clocks are datasets [T] or [T,1], or fields in compounds, with a clock's name and rising values: "timestamps" or "time_ns" is the
// clock for the data in its group and below, "q_timestamps" and "timestamps/q" for q. The unit comes from the name or from the
// attribute units, or else from the numbers. Data without its own clock uses one with the same length, with a note. A clock is only
// a stream if no data uses it. Attributes such as fps or frequency on a dataset, a group, the episode or the file are rates. Data
// with its own clock or rate may have any number of rows. Other data has the episode's or the caller's rate, from the time at which
// the first clock begins. Without any rate the timestamps count steps.
//
// The memory for an episode is at most the size that the file could hold compressed, or 64 MiB.
package h5episode
