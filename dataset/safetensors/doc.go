// Package safetensors reads and writes .safetensors files: named tensors without code, the usual format for model weights.
//
//	f, err := safetensors.Open("policy.safetensors")
//	defer f.Close()
//	w, err := f.Tensor("encoder.weight")
//
//	err = safetensors.WriteFile("run.safetensors", func(w *safetensors.Writer) error { return w.Add("pose.values", values) })
//
// A file has three parts: the length of the header in 8 bytes, little-endian; the header, JSON with the dtype, shape and byte range
// of each tensor; and the tensors, little-endian and row-major, one after the other. The header may have texts under
// "__metadata__".
//
// [Open] verifies the whole header against the format and the file: no name twice, no gap, no overlap, nothing after the last
// tensor, and shapes that match the byte ranges. A [File] then reads tensors on demand, in any order and from any number of
// goroutines:
//
//	F16 BF16 F32 F64    f16 bf16 f32 f64, bit for bit
//	I32 I64 U8          i32 i64 u8
//	BOOL                u8, 0 or 1
//	I8 I16 U16          i32
//	U32 U64             i64; a U64 above 2^63-1 is an error
//
// Any other dtype is an error that names it. If a file ends too early, its whole tensors can be read.
//
// [Map] returns tensors as views of the memory-mapped file, so data is only read when it is used.
//
// The format has no string lists. This package stores one as a JSON list in the metadata, under the name that the array would have:
// "imu.columns". A [Writer] is deterministic. It orders tensors by element size, largest first, and otherwise in the order of Add,
// and aligns each tensor to its element size and the first to 64 bytes.
//
// As a dataset, a file is one episode. Its streams are NAME.values and NAME.times, with NAME.columns, as in package npz.
package safetensors
