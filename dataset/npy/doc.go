// Package npy reads and writes numpy's .npy arrays (file versions 1, 2 and 3) as tensors.
//
// [Read] gives contiguous host tensors in row-major order, whatever order and byte order the file has:
//
//	f2 f4 f8        f16 f32 f64, bit for bit
//	i4 i8 u1        i32 i64 u8
//	b1              u8, 0 or 1
//	i1 i2 u2        i32
//	u4 u8           i64; a uint64 above 2^63-1 is an error
//	U, S            strings, by ReadStrings
//	M8, m8          i64 nanoseconds, by ReadTimes
//	records         features by ReadTable, points by ReadCloud
//
// [ReadTable] gives floats whatever the numbers are, and says which were whole. Records are numpy's structured types: their fields in order, an
// array in a field as "acc[0]", a nested field as "pose.x"; of titles nothing is kept, padding is skipped. A field of no number is said to be left
// out, and so is an array in one that is too wide.
//
// numpy has no bfloat16: a bf16 tensor is written as uint16 and read back by ReadBF16. Any other type, such as complex numbers and objects, is an
// error that is [dataset.ErrUnsupported]. Writing is little-endian and row-major, and the same tensor always gives the same bytes.
//
// A reader allocates as data arrives, so that a header cannot make it take more than the file fills. Functions block as
// their reader or writer does; nothing here keeps a reference to either.
package npy
