package memory

import (
	"sync/atomic"
	"unsafe"
)

// AlignedBytes returns n zeroed bytes that begin at a multiple of 16 and are followed by whole words.
func AlignedBytes(n uint64) []byte {
	words := make([]uint64, (n+15)/8)
	// SAFETY: the bytes are the words' own memory, which the slice keeps alive; n is at most 8*len(words).
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n]
}

// Word32 returns the aligned 32-bit word at the start of b, for atomic operations of kernels.
func Word32(b []byte) *atomic.Uint32 {
	b = b[:4] // without reading it
	// SAFETY: four bytes are there, and the device address, whose alignment was checked, has the alignment of b.
	return (*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(b)))
}

// Word64 returns the aligned 64-bit word at the start of b.
func Word64(b []byte) *atomic.Uint64 {
	b = b[:8]
	// SAFETY: eight bytes are there, and the device address, whose alignment was checked, has the alignment of b.
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b)))
}
