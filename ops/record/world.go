package record

import (
	"fmt"
	"sort"
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

// world is a recording device: memory that has addresses and mostly no bytes, and the launches that were asked for. There are two of a recorder, with the
// same things at other addresses.
type world struct {
	target *Target
	place  placement

	mu        sync.Mutex // held in driver calls; between them whoever records has the world for itself
	memories  []*memory  // those that are open, in the order of their addresses, which is that in which they were made
	next      uint64     // the end of the last
	made      int        // since the beginning of a recording
	functions []*function
	modules   map[uintptr]string // the kind of image, as ptx.Forces has it
	handles   uintptr
	capturing map[uintptr]bool // streams
	recording bool
	launches  []launch
	sink      Sink
	read      func(m *memory, at int64, dst []byte) error // serves reads of device memory
	err       error                                       // the first thing that was asked and that a plan cannot have
}

// placement says where the memory of a world lies. Gaps of the second world are larger than those of the first, so that the distance between the two places of a
// buffer is one that no other buffer has.
type placement struct {
	begin, gap uint64
	turn       uint64 // of the bits 4 to 7 of arguments' addresses
}

var placements = [2]placement{{0x7110_0000_0000, 2<<20 + 0x500, 3}, {0x3a20_5500_0000, 7<<20 + 0xb00, 10}}

// memory is an allocation, or an argument.
type memory struct {
	base     uint64
	bytes    int64
	number   int    // in the order in which they were made, since the beginning of the recording
	argument bool   // its address was chosen by the recorder
	host     []byte // pinned memory, which has bytes
	slab     bool   // cells of faults or flags
	fill     *Fill
	init     []byte
	sunk     []Span // what went to the sink: where, and how much
}

func newWorld(t *Target, p placement) *world {
	return &world{target: t, place: p, next: p.begin, handles: 0x1000, modules: map[uintptr]string{}, capturing: map[uintptr]bool{}}
}

// most is how many bytes a buffer may have: no device has as many.
const most = 1 << 44

// add makes memory at the next place.
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

// remove forgets memory by its address, and lets its place be taken if nothing lies behind it.
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

// find returns the memory that holds n bytes at an address.
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

// refuse notes what cannot be recorded.
func (w *world) refuse(format string, args ...any) cudadrv.Code {
	if w.err == nil {
		w.err = fmt.Errorf("record: "+format, args...)
	}
	return cudadrv.ErrUnsupported
}

// kept is how many bytes of an upload are kept, and looked through for addresses, in a session; what is more goes to the sink.
const kept = 64 << 10

// upload notes a copy from the host.
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

// set notes a memset.
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

// download serves a read.
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
