// Package zarr reads and writes datasets in zarr's ReplayBuffer layout, which diffusion_policy, UMI and DP3 use: the group data has an
// array for each stream, with the rows of all episodes one after the other, and meta/episode_ends has the end of each episode. A dataset is
// a folder, or a zip file with such a folder.
//
// Versions 2 and 3 of zarr are read, with the compressors blosc (lz4, zlib, zstd), zlib, gzip, zstd and lz4, both byte orders, rows or
// columns first, and the filter or codec crc32c. A chunk without a file has the fill value. Other codecs, for example the images
// imagecodecs_jpegxl, leave out their array with a note. Version 2 is written.
//
// A numeric array [N,...] is a stream; its name is that of the array, and trailing dimensions become columns, for example "[0][1]". The
// attribute columns of an array names them. uint8 [N,H,W,C] with C of 1, 3 or 4 is a camera. float32 [N,H,W,3] is one too if its values are
// whole numbers from 0 to 255, as in diffusion_policy's PushT. Arrays [N,H,W,1] and wide [N,H,W] of uint16 or float32 are depth images.
//
// An array with a clock's name, such as timestamp, is the clock of an episode if it rises there. Otherwise the rows have the caller's rate,
// or the attribute fps of the dataset. Without a rate the timestamps count steps. The dataset's attribute episodes, a list with an object
// for each episode, has their names, tasks and success; [Writer] writes it.
//
// A call of Episode reads its rows and decodes chunks in parallel; a chunk that the next episode shares is kept in a cache of 64 MiB.
// Frames are read when they are needed. Memory is the caller's.
package zarr
