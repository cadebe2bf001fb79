// Package npy reads and writes numpy's .npy arrays (file versions 1, 2 and 3) as tensors.
//
//	t, err := npy.ReadFile("actions.npy") // [S,D]
//	err = npy.Write(file, t)
//
// [Read] returns contiguous host tensors in row-major order, for any order and byte order in the file:
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
// [ReadTable] converts all numbers to floats, and marks the columns with whole numbers. Records are numpy's structured types: their
// fields in order, an array in a field as "acc[0]", a nested field as "pose.x". Titles are ignored, and padding is skipped. A field
// without numbers, or with too wide an array, is left out with a note.
//
// numpy has no bfloat16, so a bf16 tensor is written as uint16, and ReadBF16 reads it back. Any other type, such as complex numbers
// and objects, is an error that is [dataset.ErrUnsupported]. Files are written little-endian and row-major, and equal tensors give
// equal bytes.
//
// A reader allocates memory as data arrives, so a header cannot make it allocate more than the file contains. Functions block as
// long as their reader or writer blocks, and keep no reference to it.
package npy
