// Package h5episode is what the layouts of episodes in HDF5 files share. A [Layout] says which files are of it, where the episodes are, and what a
// group says of one. The package makes a group's datasets into streams, media, and what is left out, and is the open dataset.
//
// An episode has as many steps T as its dataset action or actions, or a dataset in a group of that name, has rows. Without actions it has as many as
// num_samples says, or as most datasets have. With actions, data may have T+1 rows: the last is observed after the last step. A dataset of numbers [T]
// or [T,D] is a stream with the name of its path in the group. Rows of more dimensions are streams of up to 1024 columns, "[0][0]" to "[3][3]" of
// [T,4,4]. So are compounds [T], with a column for each number in a field. Images [T,H,W,C] of bytes are media, raw pixels. JPEG and PNG files are
// media too, in rows of bytes [T,L] that zeros fill up, in strings [T], or in byte sequences [T]. What is none of these, or has another length, is left
// out with the reason. Frames are read on demand.
//
// Clocks are datasets [T] or [T,1], or fields of compounds, that rise and are called so: "timestamps" or "time_ns" is the clock of the data in its group
// and below, "q_timestamps" and "timestamps/q" of q. The unit is that of the name or of the attribute units, else it follows from the numbers. Data
// without a clock of its own takes one of as many rows, with a note. A clock is no stream, unless no data has it. Attributes such as fps or frequency
// of a dataset, a group, the episode or the file state rates. Data with a clock or a rate of its own may have any number of rows. Other data has the
// rate of the episode or of the caller, from the time at which the first clock begins. Without any rate the timestamps count steps.
//
// What an episode takes in memory is at most what the file could hold compressed, or 64 MiB.
package h5episode
