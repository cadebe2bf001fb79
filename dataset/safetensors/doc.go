// Package safetensors reads and writes .safetensors files: named tensors without code, as models and their inputs are kept.
//
// A file is the length of its header, 8 bytes little-endian, the header, JSON with each tensor's dtype, shape and bytes, and the tensors, little-endian
// and in row-major order, one after the other. The header may have texts of its own under "__metadata__".
//
// [Open] holds the whole header against the format's rules and against the file, so that no tensor is somewhere where it should not be: no name twice, no
// hole, no overlap, nothing after the last tensor, and each shape fills its bytes. A [File] then reads tensors on demand, in any order and from any
// number of goroutines, as
//
//	F16 BF16 F32 F64    f16 bf16 f32 f64, bit for bit
//	I32 I64 U8          i32 i64 u8
//	BOOL                u8, 0 or 1
//	I8 I16 U16          i32
//	U32 U64             i64; a U64 above 2^63-1 is an error
//
// and names any other dtype as one that is not supported. Of a file that ends too soon the tensors that are whole are read.
//
// [Map] gives tensors as views of the file, which is mapped into memory, so that nothing is read before it is wanted.
//
// The format has no lists of strings. Here one is a text of the metadata, a JSON list, under the name that the array would have: "imu.columns". What a
// [Writer] writes depends on nothing but what it was given: the header lists the tensors as they lie in the file, those with the larger elements first,
// so that each lies at a multiple of its element's size, the first at a multiple of 64, and otherwise in the order in which they were added.
//
// As a dataset a file is an episode. Its streams are NAME.values and NAME.times, with NAME.columns, as package npz has them.
package safetensors
