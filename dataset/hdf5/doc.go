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
//	other enumerations          as their integers; Type has the names
//	arrays in each element      their dimensions follow those of the dataset
//
// Strings of a fixed size and of any are read by [Values.Strings], sequences of any length by [Values.Bytes], a field of a compound by
// [Values.Field], and the bytes of anything by [Values.Raw].
//
// It knows superblocks 0 to 3, object headers 1 and 2, groups of both kinds, all five chunk indexes of layout 4, and the filters deflate, shuffle,
// fletcher32 and lzf. Checksums are compared. What else there is, is an error that is [dataset.ErrUnsupported] and names it: other filters, the
// values of opaque, bitfield, reference, time and complex types, integers and floats of odd sizes, virtual datasets, elements in other files,
// external links, files in several parts, shared message tables, layout 5.
//
// What breaks the format is a [*dataset.FormatError] with the byte, where it is met: other objects of the file can still be read. A file that was not
// closed, or is cut, says so by [File.Warnings], and a group that has lost names by it by [Group.Lost]. One read never gives more than what the file could hold compressed, or 64 MiB; no structure is read
// twice. Rows are read chunk by chunk, without what lies between; a dataset's index of chunks is kept. So are chunks with filters of which a read took
// some rows only, for the next one: up to 64 MiB a file, or one that is larger.
//
// The format is described at https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html.
package hdf5
