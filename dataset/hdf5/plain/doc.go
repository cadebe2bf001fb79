// Package plain reads HDF5 files whose layout is none that another package knows, as far as they are series: its format is "hdf5".
//
// A file is one episode, unless all that its root holds are groups whose names differ by a number, such as traj_0 and traj_1: then each is an
// episode. An episode has as many steps T as its dataset action or actions has rows, or else as most of its datasets have. Of these every dataset of
// numbers [T] or [T,D] is a stream that is called as the file has it; so are compounds [T], with a column for each field that is a number. Images
// are media: raw pixels [T,H,W,C] of bytes, and JPEG or PNG in rows, strings or sequences of bytes. Beside actions, what has T+1 rows is a stream,
// too: it goes on until after the last step. Everything else is left out by name, with the reason.
//
// The rate is what the caller says; else the timestamps count steps, a second each. A dataset of times is a stream like the others.
package plain
