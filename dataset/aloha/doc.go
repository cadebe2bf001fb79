// Package aloha reads episodes in the HDF5 layout of ALOHA and ACT: one file an episode, with a dataset action and a group observations. A folder of
// such files is a dataset.
//
// Every dataset of numbers [T] or [T,D] is a stream that is called as the file has it: "action", "observations/qpos", "base_action". Images are
// media, "observations/images/cam_high": raw pixels [T,H,W,3], or JPEG in rows of bytes [T,L] that zeros fill up to the longest. A frame ends where
// its JPEG does, so that compress_len is not needed, and is left out. Whether raw pixels are RGB or BGR the file does not say; recorders write RGB,
// and so they are called. JPEG is handed over as it is: of recorders that gave RGB to an encoder that takes BGR, red and blue are swapped in it,
// which nothing in the file says.
//
// Timestamps beside the data are its clock. Otherwise the rate is that of the caller or of an attribute such as fps; else the timestamps count steps, a
// second each, although 50 Hz is usual. What has a row more than the actions goes on until after the last step.
// The attribute sim is in Attributes.Other.
package aloha
