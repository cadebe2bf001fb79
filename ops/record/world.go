package record

import (
	"fmt"
	"sort"
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

// world is a recording device: memory with addresses but mostly without bytes, and the recorded launches. A recorder has two worlds
// with the same contents at different addresses.
type world struct {
	target *Target
	place  placement

	mu        sync.Mutex // held in driver calls; between calls the recording goroutine has exclusive use
	memories  []*memory  // open memories, ordered by address and so by creation
	next      uint64     // end of the last memory
	made      int        // memories created since the recording began
	functions []*function
	modules   map[uintptr]string // image kinds, in the spelling of ptx.Forces
	handles   uintptr
	capturing map[uintptr]bool // streams in a capture
	recording bool
	launches  []launch
	sink      Sink
	read      func(m *memory, at int64, dst []byte) error // serves reads of device memory
	err       error                                       // the first request that a plan cannot contain
}

// placement sets the addresses in a world. The second world has larger gaps, so that each buffer has its own distance between its two
// addresses.
type placement struct {
	begin, gap uint64
	turn       uint64 // selects bits 4 to 7 in the arguments' addresses
}

var placements = [2]placement{{0x7110_0000_0000, 2<<20 + 0x500, 3}, {0x3a20_5500_0000, 7<<20 + 0xb00, 10}}

// memory is an allocation or an argument.
type memory struct {
	base     uint64
	bytes    int64
	number   int    // creation order since the recording began
	argument bool   // the recorder chose its address
	host     []byte // bytes of pinned memory
	slab     bool   // holds cells of faults or flags
	fill     *Fill
	init     []byte
	sunk     []Span // parts that went to the sink
}

func newWorld(t *Target, p placement) *world {
	return &world{target: t, place: p, next: p.begin, handles: 0x1000, modules: map[uintptr]string{}, capturing: map[uintptr]bool{}}
}

// most is the maximum buffer size in bytes; no device has as much memory.
const most = 1 << 44

// add creates memory at the next free address.
func (w *world) add(bytes int64, argument bool, align int) *memory {
	base := (w.next + w.place.gap + 255) &^ 255
	if argument {
		base += 16*(w.place.turn*uint64(w.made+1)%16) + uint64(align)
	}
	m := &memory{base: base, bytes: bytes, argument: argument, number: w.made}
	w.made++
	w.next = base + uint64(bytes)
	w.memories = append(w.memories, m)
	return m
}

// remove deletes memory by its address. If it is the last one, its address range becomes free.
func (w *world) remove(base uint64) bool {
	for i := len(w.memories) - 1; i >= 0; i-- {
		if w.memories[i].base != base {
			continue
		}
		w.memories = append(w.memories[:i], w.memories[i+1:]...)
		if i == len(w.memories) {
			w.next = w.place.begin
			if i > 0 {
				last := w.memories[i-1]
				w.next = last.base + uint64(last.bytes)
			}
		}
		return true
	}
	return false
}

// find returns the memory with n bytes at an address, and the offset there.
func (w *world) find(addr uint64, n int64) (*memory, int64) {
	i := sort.Search(len(w.memories), func(i int) bool { return w.memories[i].base > addr }) - 1
	if i < 0 {
		return nil, 0
	}
	m := w.memories[i]
	at := addr - m.base
	if at > uint64(m.bytes) || uint64(n) > uint64(m.bytes)-at {
		return nil, 0
	}
	return m, int64(at)
}

// refuse records an error for a request that a plan cannot contain.
func (w *world) refuse(format string, args ...any) cudadrv.Code {
	if w.err == nil {
		w.err = fmt.Errorf("record: "+format, args...)
	}
	return cudadrv.ErrUnsupported
}

// kept is the largest upload in a session that is kept and searched for addresses. Larger uploads go to the sink.
const kept = 64 << 10

// upload records a copy from the host.
func (w *world) upload(dst uint64, data []byte) cudadrv.Code {
	m, at := w.find(dst, int64(len(data)))
	switch {
	case m == nil || m.argument:
		return w.refuse("a copy of %d bytes to the device: not to memory of the plan", len(data))
	case m.slab: // a cell is reset
	case w.recording:
		return w.refuse("a copy of %d bytes to the device in a run: a plan only launches kernels", len(data))
	case w.sink != nil && (len(data) > kept || m.sunk != nil):
		if m.init != nil {
			return w.refuse("a copy of %d bytes to a buffer behind a smaller one", len(data))
		}
		m.sunk = append(m.sunk, Span{at, int64(len(data))})
		if err := w.sink(m.number, m.bytes, at, data); err != nil {
			w.err = err
			return cudadrv.ErrUnsupported
		}
	case at > int64(len(m.init)):
		return w.refuse("a copy of %d bytes to the device at byte %d of %d: nothing was copied to the bytes before", len(data), at, m.bytes)
	default:
		if more := at + int64(len(data)) - int64(len(m.init)); more > 0 {
			m.init = append(m.init, make([]byte, more)...)
		}
		copy(m.init[at:], data)
	}
	return cudadrv.Success
}

// set records a memset.
func (w *world) set(dst uint64, value byte, n int64) cudadrv.Code {
	m, at := w.find(dst, n)
	switch {
	case m == nil || m.argument || at != 0 || m.init != nil || m.fill != nil:
		return w.refuse("a memset of %d bytes: not of the beginning of new memory of the plan", n)
	case w.recording:
		return w.refuse("a memset of %d bytes in a run: a plan only launches kernels", n)
	}
	m.fill = &Fill{int64(value), n}
	return cudadrv.Success
}

// download serves a read of device memory.
func (w *world) download(src uint64, dst []byte) cudadrv.Code {
	m, at := w.find(src, int64(len(dst)))
	if m == nil || w.read == nil {
		return w.refuse("a read of %d bytes of the device: a plan depends on no value", len(dst))
	}
	if err := w.read(m, at, dst); err != nil {
		w.err = err
		return cudadrv.ErrUnsupported
	}
	return cudadrv.Success
}

// Sink receives an upload to a session's buffer. buffer is the buffer's number, in the order in which buffers are made.
// size is the buffer's size in bytes, and data are the bytes from offset on. The sink must not use data after it
// returns.
type Sink func(buffer int, size, offset int64, data []byte) error
