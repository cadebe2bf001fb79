package exec

import (
	"encoding/binary"
	"sync"

	"github.com/robocache/robocache/cudasim/internal/memory"
)

func get(b []byte, size uint64) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func put(b []byte, size, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// atomicGet reads an aligned element as one access.
func atomicGet(data []byte, o, size uint64) uint64 {
	switch size {
	case 4:
		return uint64(memory.Word32(data[o:]).Load())
	case 8:
		return memory.Word64(data[o:]).Load()
	}
	narrowMu.Lock()
	defer narrowMu.Unlock()
	return get(data[o:], size)
}

func atomicPut(data []byte, o, size, v uint64) {
	switch size {
	case 4:
		memory.Word32(data[o:]).Store(uint32(v))
	case 8:
		memory.Word64(data[o:]).Store(v)
	default:
		narrowMu.Lock()
		defer narrowMu.Unlock()
		put(data[o:], size, v)
	}
}

// narrowMu makes accesses of 8 and 16 bits atomic among themselves.
var narrowMu sync.Mutex

// modify replaces an element by f(element) atomically, and returns the old value.
func modify(data []byte, o, size uint64, f func(old uint64) uint64) uint64 {
	switch size {
	case 4:
		p := memory.Word32(data[o:])
		for {
			old := p.Load()
			if p.CompareAndSwap(old, uint32(f(uint64(old)))) {
				return uint64(old)
			}
		}
	case 8:
		p := memory.Word64(data[o:])
		for {
			old := p.Load()
			if p.CompareAndSwap(old, f(old)) {
				return old
			}
		}
	}
	narrowMu.Lock()
	defer narrowMu.Unlock()
	old := get(data[o:], size)
	put(data[o:], size, f(old))
	return old
}
