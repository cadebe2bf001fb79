// Package zarr reads and writes datasets in zarr's ReplayBuffer layout, which diffusion_policy, UMI and DP3 use: the group data has an
// array for each stream, with the episodes' rows one after the other, and meta/episode_ends has the row after each episode. A dataset is
// a folder, or a zip file with such a folder.
//
// Zarr 2 and 3 are read, with the compressors blosc (lz4, zlib, zstd), zlib, gzip, zstd and lz4, both byte orders, rows or columns first,
// and the filter or codec crc32c. A chunk without a file has the fill value, with a note if it is a stream's. Other codecs, for example
// the images imagecodecs_jpegxl, leave out their array with a note. Version 2 is written.
//
// A numeric array [N,...] is a stream; it has the array's name, and trailing dimensions become columns, for example "[0][1]". The
// array's attribute columns names them. uint8 [N,H,W,1], [N,H,W,3] and [N,H,W,4] are cameras. float32 [N,H,W,3] is one too if its values are
// whole numbers from 0 to 255, as in diffusion_policy's PushT. uint16 and float32 [N,H,W,1], and wide [N,H,W], are depth images.
//
// An array with a clock's name, such as timestamp, is the clock for an episode if it rises there. Otherwise the rows have the caller's
// rate, or the dataset's attribute fps, or 10 Hz if its folder is diffusion_policy's pusht_cchi_v7_replay.zarr. Without a rate the
// timestamps count steps. The dataset's attribute episodes, a list with an object for each episode, has their names, tasks and success;
// [Writer] writes it.
//
// Episode reads its rows and decodes chunks in parallel; a chunk that the next episode shares is kept in a cache with 64 MiB.
// Frames are read when they are needed. Memory is the caller's.
package zarr
