// Package ptx contains the compiled GPU kernels and chooses the image that a device and its driver can load.
//
// A family is one source NAME.cu with its entries (kernels). It is shipped as up to three images that give the same
// bits. Two are PTX, for compute capability 9.0 and 8.0; the driver compiles PTX and can do so for any newer GPU. The
// third is machine code (a cubin) for 9.0 only, which loads without compilation. All images are embedded in the
// program, and compressed except for large cubins.
//
// The script scripts/build_ptx.sh makes the images and zmanifest.go, a table with each image's entries and sources.
// zinterface.go contains the Go form of declarations in the sources: parameter structs, constants and enums. Example:
// AttentionParams is the struct attention_params.
//
// Sizes and alignments are bytes. Nothing here blocks or calls a driver. Results are the caller's own copies, except
// for [Image.Data].
package ptx
