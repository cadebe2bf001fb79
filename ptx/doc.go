// Package ptx holds the compiled kernels and chooses the image that a device and its driver can load.
//
// A family is one source NAME.cu with its entries. It is shipped as up to three images that give the same bits:
// PTX for compute capability 9.0 and 8.0, which the driver compiles for any newer GPU as well, and machine code
// (a cubin) for 9.0 alone, which loads without being compiled. All are embedded, compressed but for large cubins;
// scripts/build_ptx.sh makes them and zmanifest.go, the table that says what each contains and what it was made from.
// zinterface.go is what the sources share with the host: the structs that kernels take, constants, enums.
//
// Sizes and alignments are bytes. Nothing here blocks or talks to a driver. What is returned is the caller's own copy, but for
// Image.Data.
package ptx
