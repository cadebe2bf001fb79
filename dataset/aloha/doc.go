// Package aloha reads episodes in the HDF5 layout of ALOHA and ACT: one file per episode, with a dataset action and a group
// observations. A folder with such files is a dataset.
//
//	d, err := aloha.Open("episode_0.hdf5", dataset.Options{Rate: 50})
//	e, err := d.Episode(ctx, 0) // e.Stream("observations/qpos"), e.MediaStream("observations/images/cam_high")
//
// Every numeric dataset [T] or [T,D] is a stream with its name in the file: "action", "observations/qpos", "base_action". Images
// are media, such as "observations/images/cam_high": raw pixels [T,H,W,3], or JPEG in byte rows [T,L] that are padded with zeros. A
// frame ends with its JPEG, so compress_len is not needed and is left out.
//
// The file does not declare whether raw pixels are RGB or BGR. Recorders write RGB, so the reader assumes it. JPEG frames are not
// changed. If a recorder passed RGB to an encoder for BGR, red and blue are swapped, and the reader cannot detect it.
//
// If timestamps are stored next to the data, they are the clock. Otherwise the rate comes from Options.Rate or from an attribute
// such as fps. Without a rate the timestamps count steps of one second, although 50 Hz is usual. An array with one row more than
// the actions continues after the last step. The attribute sim is in Attributes.Other.
package aloha
