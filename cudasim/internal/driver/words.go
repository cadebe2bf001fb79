package driver

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/cudadrv"
)

func putFloat(addr uintptr, v float32) code { return put32(addr, math.Float32bits(v)) }

// Functions for the C arguments of a call. If the address of a result is null, they return an invalid value,
// as the driver does.

func put64(addr uintptr, v uint64) code {
	b := cudadrv.View(addr, 8)
	if b == nil {
		return cudadrv.ErrInvalidValue
	}
	binary.NativeEndian.PutUint64(b, v)
	return cudadrv.Success
}

func put32(addr uintptr, v uint32) code {
	b := cudadrv.View(addr, 4)
	if b == nil {
		return cudadrv.ErrInvalidValue
	}
	binary.NativeEndian.PutUint32(b, v)
	return cudadrv.Success
}

func get64(addr uintptr) uint64 { return binary.NativeEndian.Uint64(cudadrv.View(addr, 8)) }
func get32(addr uintptr) uint32 { return binary.NativeEndian.Uint32(cudadrv.View(addr, 4)) }

// putText writes a C string to a buffer of n bytes, and cuts it off if it is too long.
func putText(addr uintptr, n int, s string) {
	b := cudadrv.View(addr, n)
	if len(b) == 0 {
		return
	}
	b[copy(b[:n-1], s)] = 0
}

// cText returns a C string of any length without a copy. It reads aligned words, each in the same memory as its first byte.
func cText(addr uintptr) []byte {
	n := 0
	for (addr+uintptr(n))%8 != 0 {
		if cudadrv.View(addr+uintptr(n), 1)[0] == 0 {
			return cudadrv.View(addr, n)
		}
		n++
	}
	for {
		if i := bytes.IndexByte(cudadrv.View(addr+uintptr(n), 8), 0); i >= 0 {
			return cudadrv.View(addr, n+i)
		}
		n += 8
	}
}
