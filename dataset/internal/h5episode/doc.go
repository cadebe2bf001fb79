// Package h5episode is what the layouts of episodes in HDF5 files share. A [Layout] says which files are of it, where the episodes are, and what a
// group says of one; the package makes a group's datasets into streams, media, and what is left out, and is the open dataset.
//
// Of an episode with T steps a dataset of numbers [T] or [T,D] is a stream, called by its path in the group; so are compounds [T], with a column for
// each field that is a number. Images [T,H,W,C] of bytes are media, raw pixels; so are JPEG and PNG files in rows of bytes [T,L], filled up with
// zeros, in strings [T], or in byte sequences of any length [T]. What is none of these, or has another length, is left out with the reason. Frames
// are read when they are asked for.
//
// HDF5 layouts have no times: they follow from the steps and the rate. What an episode takes in memory is at most what the file could hold
// compressed, or 64 MiB.
package h5episode
