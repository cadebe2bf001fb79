package dav1d

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/robocache/robocache/internal/video"
)

// libraryEnv names the one library to load.
const libraryEnv = "ROBOCACHE_LIBDAV1D"

// function is an index into functions.
type function int

const (
	version function = iota
	defaultSettings
	open
	dataCreate
	sendData
	getPicture
	pictureUnref
	dataUnref
	closeDecoder
	functionCount
)

var functions = [functionCount]string{
	"dav1d_version", "dav1d_default_settings", "dav1d_open", "dav1d_data_create", "dav1d_send_data", "dav1d_get_picture",
	"dav1d_picture_unref", "dav1d_data_unref", "dav1d_close",
}

// layout has the sizes and offsets, in bytes, that differ between the library's sonames.
type layout struct {
	soname     int
	from, to   [2]int // versions: from the first one up to, but without, the second one
	threads    []int  // offsets of the thread counts in the settings; all become 1
	picture    int    // size
	colorRange int    // offset of a byte in the sequence header
}

var layouts = []layout{
	{soname: 7, from: [2]int{1, 3}, to: [2]int{2, 0}, threads: []int{0, 4}, picture: 272, colorRange: 33},
	{soname: 6, from: [2]int{1, 0}, to: [2]int{1, 3}, threads: []int{0, 4}, picture: 264, colorRange: 36},
	{soname: 5, from: [2]int{0, 9}, to: [2]int{1, 0}, threads: []int{0, 4, 64}, picture: 264, colorRange: 36},
}

// Offsets and sizes that all versions share.
const (
	settingsSize = 96
	applyGrain   = 8
	allLayers    = 16
	sizeLimit    = 20
	logger       = 56 // the callback

	dataSize      = 72
	dataLeft      = 8
	dataTimestamp = 24

	pictureHeader    = 0
	pictureData      = 16
	pictureStride    = 40
	pictureWidth     = 56
	pictureHeight    = 60
	pictureLayout    = 64
	pictureBits      = 68
	pictureTimestamp = 72

	headerMatrix = 24
)

// library is an open libdav1d.
type library struct {
	layout *layout
	// call calls a function with C arguments, each widened to a machine word.
	call func(f function, args ...uintptr) uintptr
}

// newLibrary checks an opened library's version.
func newLibrary(call func(f function, args ...uintptr) uintptr) (*library, error) {
	got, is := text(call(version)), []int{-1, -1}
	_, _ = fmt.Sscanf(got, "%d.%d", &is[0], &is[1])
	for i := range layouts {
		if l := &layouts[i]; slices.Compare(is, l.from[:]) >= 0 && slices.Compare(is, l.to[:]) < 0 {
			return &library{l, call}, nil
		}
	}
	return nil, &video.Refusal{Driver: driver, Reason: video.OldLibrary, Err: fmt.Errorf("version %q, want 0.9 to 1.x", got)}
}

// names returns the libraries to try, in order.
func names() ([]string, error) {
	if name := os.Getenv(libraryEnv); name != "" {
		if strings.Contains(name, "/") && !filepath.IsAbs(name) {
			return nil, errors.New(libraryEnv + " must be an absolute path or a bare name")
		}
		return []string{name}, nil
	}
	var list []string
	for _, l := range layouts {
		list = append(list, fmt.Sprintf("libdav1d.so.%d", l.soname))
	}
	return list, nil
}

// put sets a 32-bit number in a structure.
func put(s []byte, at int, v uint32) { binary.NativeEndian.PutUint32(s[at:], v) }

func word(s []byte, at int) uint64 { return binary.NativeEndian.Uint64(s[at:]) }

func half(s []byte, at int) int { return int(int32(binary.NativeEndian.Uint32(s[at:]))) }

// address returns the address of a decoder's structure for a call.
func address(s []byte) uintptr {
	// SAFETY: the library uses the address only during the call. Until then call keeps the decoder, and so s, which is on the heap.
	return uintptr(unsafe.Pointer(unsafe.SliceData(s)))
}

// memory returns n bytes of the library's memory.
func memory(at uintptr, n int) []byte {
	if at == 0 || n <= 0 {
		return nil
	}
	// SAFETY: the library gave the address of at least n bytes, which stay until the caller releases their object.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// text returns the C string at an address, at most 63 bytes.
func text(at uintptr) string {
	var s []byte
	for i := uintptr(0); at != 0 && i < 63; i++ {
		b := memory(at+i, 1)[0]
		if b == 0 {
			break
		}
		s = append(s, b)
	}
	return string(s)
}
