// Package hdf5 reads HDF5 files: groups, datasets and attributes, complete or by rows.
//
//	f, err := hdf5.Open("demo.hdf5")
//	...
//	defer f.Close()
//	d, err := f.Root().Dataset("data/demo_0/obs/agentview_image")
//	...
//	images, err := d.Rows(0, 16) // [16,84,84,3] u8
//
// Numbers become contiguous host tensors in row-major order, for either byte order in the file:
//
//	float16, 32, 64, bfloat16   f16 f32 f64 bf16, bit for bit
//	int32, int64, uint8         i32 i64 u8
//	bool                        u8, 0 or 1; an enumeration of FALSE and TRUE in a byte
//	int8, int16, uint16         i32
//	uint32, uint64              i64; a uint64 above 2^63-1 is an error
//	bitfields                   as unsigned integers; PyTables booleans are u8
//	4- and 8-byte times         i32 seconds, and i64 nanoseconds from the seconds and microseconds that PyTables writes
//	datetime64, timedelta64     i64, in their unit, as h5py keeps them in opaque bytes
//	other enumerations          as their integers; Type has the names
//	arrays in each element      their dimensions follow the dataset's dimensions
//
// [Values.Strings] reads strings with fixed and variable size, [Values.Bytes] variable-length sequences, [Values.Field] a field in
// a compound, and [Values.Raw] the bytes of any type.
//
// Supported:
//
//	files        superblocks 0 to 3, after a user block of any size; object headers 1 and 2, with attributes in them or in heaps, in creation order
//	groups       symbol tables, compact and dense links; hard and soft links
//	layouts      compact, contiguous, chunked; versions 1 to 4, with B-trees 1 and 2, single, implicit, fixed and extensible indexes, edges without filters
//	filters      deflate, shuffle, fletcher32, lzf
//	fill values  from both messages, for elements that were never written
//	types        as above, in both byte orders, and compounds and arrays of these, versions 1 to 5
//
// Checksums are verified. Everything else is an error that is [dataset.ErrUnsupported] and names the feature:
//
//	files        in several parts (family, multi, split), shared message tables, metadata cache images
//	links        to other files, and user-defined
//	layouts      virtual datasets, elements in other files, layout 5, data blocks in pages of the index block of an extensible array
//	filters      all others, such as szip, blosc, zstd and lz4, and two compressing filters together; the error contains the h5repack command to convert them
//	types        references, complex numbers, integers with odd sizes or unused bits, floats outside IEEE 754 such as long double
//
// MATLAB arrays (version 7.3) have their dimensions in file order, which is the reverse of MATLAB's order.
//
// Broken structures are a [*dataset.FormatError] with the byte offset when they are reached; other objects can still be read. If
// the file was not closed or is cut, [File.Warnings] reports it, and [Group.Lost] reports the affected groups. A read never returns
// more than the file could hold compressed, or 64 MiB, so a malicious file cannot exhaust memory. Rows are read chunk by chunk,
// without the chunks in between. A dataset's chunk index stays in memory, and so do decompressed chunks that a read used in part:
// up to 64 MiB per file, or one larger chunk.
//
// The format is described at https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.
package hdf5
