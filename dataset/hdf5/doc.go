// Package hdf5 reads HDF5 files: groups, datasets and attributes, whole or by rows.
//
//	f, err := hdf5.Open("demo.hdf5")
//	...
//	defer f.Close()
//	d, err := f.Root().Dataset("data/demo_0/obs/agentview_image")
//	...
//	images, err := d.Rows(0, 16) // [16,84,84,3] u8
//
// Numbers become contiguous host tensors in row-major order, whatever byte order the file has:
//
//	float16, 32, 64, bfloat16   f16 f32 f64 bf16, bit for bit
//	int32, int64, uint8         i32 i64 u8
//	bool                        u8, 0 or 1; an enumeration of FALSE and TRUE in a byte
//	int8, int16, uint16         i32
//	uint32, uint64              i64; a uint64 above 2^63-1 is an error
//	bitfields                   as unsigned integers: truth values of PyTables are u8
//	times of 4 and 8 bytes      i32 seconds, and i64 nanoseconds of the seconds and microseconds that PyTables writes
//	datetime64, timedelta64     i64, in their unit, as h5py keeps them in opaque bytes
//	other enumerations          as their integers; Type has the names
//	arrays in each element      their dimensions follow those of the dataset
//
// Strings of a fixed size and of any are read by [Values.Strings], sequences of any length by [Values.Bytes], a field of a compound by
// [Values.Field], and the bytes of anything by [Values.Raw].
//
// What is read:
//
//	files        superblocks 0 to 3, behind a user block of any size; object headers 1 and 2, with attributes in them or in heaps, in order of creation
//	groups       symbol tables, compact and dense links; hard and soft links
//	layouts      compact, contiguous, chunked; versions 1 to 4, with B-trees 1 and 2, single, implicit, fixed and extensible indexes, edges without filters
//	filters      deflate, shuffle, fletcher32, lzf
//	fill values  of both messages, for elements that were never written
//	types        as above, in both byte orders, and compounds and arrays of these, versions 1 to 5
//
// Checksums are compared. The rest is an error that is [dataset.ErrUnsupported] and names it:
//
//	files        of several parts (family, multi, split), tables of shared messages, images of the metadata cache
//	links        to other files, and of programs
//	layouts      virtual datasets, elements in other files, layout 5, data blocks in pages of the index block of an extensible array
//	filters      all others, such as szip, blosc, zstd and lz4, and two that compress; the error has the command h5repack that changes them
//	types        references, complex numbers, integers of odd sizes or with unused bits, floats that are not of IEEE 754, such as long double
//
// Arrays of MATLAB (version 7.3) have the dimensions in the order of the file, which is the reverse of MATLAB's.
//
// What breaks the format is a [*dataset.FormatError] with the byte, where it is met: other objects of the file can still be read. A file that was not
// closed, or is cut, says so by [File.Warnings], and a group that has lost names by it by [Group.Lost]. One read never gives more than what the file could hold compressed, or 64 MiB; no structure is read
// twice. Rows are read chunk by chunk, without what lies between; a dataset's index of chunks is kept. So are chunks with filters of which a read took
// some rows only, for the next one: up to 64 MiB a file, or one that is larger.
//
// The format is described at https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.
package hdf5
