package cudadrv

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// frame is the memory for one driver call: its argument list, and buffers that the driver reads and writes. Frames are on the
// heap, which does not move, and are reused.
type frame struct {
	args [16]uintptr
	out  [8]uint64
	buf  [256]byte
	copy memcpy2D
	keep [2][]byte // caller's memory that the call reads or writes
}

// memcpy2D is CUDA_MEMCPY2D_v2.
type memcpy2D struct {
	srcX, srcY uint64
	srcType    uint32
	_          uint32
	srcHost    uintptr
	srcDevice  uint64
	srcArray   uintptr
	srcPitch   uint64
	dstX, dstY uint64
	dstType    uint32
	_          uint32
	dstHost    uintptr
	dstDevice  uint64
	dstArray   uintptr
	dstPitch   uint64
	width      uint64
	height     uint64
}

// launchParams is CUlaunchConfig.
type launchParams struct {
	grid   [3]uint32
	block  [3]uint32
	shared uint32
	_      uint32
	stream uintptr
	attrs  uintptr
	count  uint32
	_      uint32
}

// launchAttr is CUlaunchAttribute: a number and a union of 64 bytes.
type launchAttr struct {
	id    uint32
	_     uint32
	value [8]uint64
}

// extended is the structure that cuLaunchKernelEx reads. It is in a [Launch], on the heap.
type extended struct {
	params launchParams
	attrs  [maxLaunchAttrs]launchAttr
}

// addr gives the structure's address, and makes it point to its own attributes.
func (e *extended) addr() uintptr {
	// SAFETY: e is part of a heap object that the launch's method holds until the call is over.
	e.params.attrs = uintptr(unsafe.Pointer(&e.attrs))
	// SAFETY: as above.
	return uintptr(unsafe.Pointer(&e.params))
}

var frames = sync.Pool{New: func() any { return new(frame) }}

func getFrame() *frame { return frames.Get().(*frame) }

// put returns the frame for reuse. Until then, it keeps the frame and its memory alive.
func (f *frame) put() {
	f.keep = [2][]byte{}
	frames.Put(f)
}

// outAddr clears result cell i and gives its address.
func (f *frame) outAddr(i int) uintptr {
	f.out[i] = 0
	// SAFETY: f is on the heap (frames come from a pool) and is alive until put, after the call.
	return uintptr(unsafe.Pointer(&f.out[i]))
}

// bufAddr clears the text buffer and gives its address.
func (f *frame) bufAddr() uintptr {
	clear(f.buf[:])
	// SAFETY: as outAddr.
	return uintptr(unsafe.Pointer(&f.buf))
}

// text is the C string in the buffer.
func (f *frame) text() string {
	for i, b := range f.buf {
		if b == 0 {
			return string(f.buf[:i])
		}
	}
	return string(f.buf[:])
}

// bytesAddr gives the address of b, which cell i of keep holds until put.
func (f *frame) bytesAddr(i int, b []byte) uintptr {
	f.keep[i] = b
	return Addr(b)
}

// copyAddr gives the address of the structure.
func (f *frame) copyAddr() uintptr {
	// SAFETY: as outAddr.
	return uintptr(unsafe.Pointer(&f.copy))
}

// escape forces the compiler to allocate b's memory on the heap.
var escape []byte

// Addr returns the address of b's first byte, or 0 if b is empty. It stays valid only as long as the program still refers to b,
// because b is on Go's heap.
func Addr(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	if neverTrue {
		escape = b
		runtime.KeepAlive(escape)
	}
	// SAFETY: b escapes to the heap, which does not move; the caller keeps it alive, as documented.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// neverTrue is a variable so that the compiler cannot see through it.
var neverTrue bool

// wordsAddr is Addr for words.
func wordsAddr(w []uintptr) uintptr {
	if len(w) == 0 {
		return 0
	}
	// SAFETY: callers pass slices of heap objects that they hold until the call is over.
	return uintptr(unsafe.Pointer(unsafe.SliceData(w)))
}

// wordBytes shows words as bytes.
func wordBytes(w []uint64) []byte {
	// SAFETY: the result refers to w's own memory and keeps it alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}

// elementSize is the size of an element in bytes.
func elementSize[T Element]() int64 {
	var x T
	return int64(unsafe.Sizeof(x))
}

// elementBytes shows elements as bytes.
func elementBytes[T Element](list []T) []byte {
	// SAFETY: an Element is plain bytes without pointers; the result refers to list's own memory and keeps it alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), int64(len(list))*elementSize[T]())
}

// View returns n bytes of memory at an address, for function tables written in Go. Example: if argument i of a [Proc] is a
// pointer to n bytes, they are View(args[i], n). The bytes may be used until the Proc returns, or as long as the memory's owner
// permits. Address 0 returns nil.
func View(addr uintptr, n int) []byte {
	if addr == 0 || n <= 0 {
		return nil
	}
	// SAFETY: addr is C memory, or heap memory kept alive by the caller's frame; reading the integer as a
	// pointer is how it comes back.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}

// storeWord writes the word at an address of pinned memory, a multiple of 4, at once.
func storeWord(addr uintptr, v uint32) {
	// SAFETY: the caller has found the address within memory that is open; reading the integer as a pointer is how it comes back.
	atomic.StoreUint32(*(**uint32)(unsafe.Pointer(&addr)), v)
}

// CString reads the zero-terminated text at an address, at most 64 KiB of it.
func CString(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	for n := range 1 << 16 {
		// SAFETY: as View; the driver's texts and the names that we pass end in a zero byte.
		if *(*byte)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&addr)), n)) == 0 {
			return string(View(addr, n))
		}
	}
	return string(View(addr, 1<<16))
}

// cstring is s with a zero byte at its end, in whole words of 8 bytes, so that who looks for the zero may read by these.
func cstring[T string | []byte](s T) []byte {
	b := make([]byte, (len(s)+8)&^7)
	copy(b, s)
	return b[:len(s)+1]
}
