package exec

import "encoding/binary"

// mbar is an mbarrier object: eight bytes of shared memory in a layout private to this package.
type mbar struct {
	phase   uint64 // completed phases, its last bit is the parity; 12 bits
	count   uint64 // arrivals that a phase expects; 15 bits
	pending uint64 // arrivals still expected; 15 bits
	tx      int64  // bytes still expected; 21 bits
	ready   bool
}

const mbarReady = uint64(1) << 63

func readMbar(b *block, at uint64) mbar {
	v := binary.LittleEndian.Uint64(b.shared.Data[at:])
	return mbar{phase: v & 0xfff, count: v >> 12 & 0x7fff, pending: v >> 27 & 0x7fff, tx: int64(v<<1) >> 43, ready: v&mbarReady != 0}
}

func (m *mbar) write(b *block, at uint64) {
	v := m.phase&0xfff | m.count<<12 | m.pending<<27 | uint64(m.tx)&(1<<21-1)<<42
	if m.ready {
		v |= mbarReady
	}
	binary.LittleEndian.PutUint64(b.shared.Data[at:], v)
	b.shared.Mark(at, 8)
}

// settle begins the next phase if this one expects no more arrivals and bytes.
func (m *mbar) settle() {
	if m.pending == 0 && m.tx == 0 {
		m.phase++
		m.pending = m.count
	}
}

// state returns the token for arrive: the object's bits.
func (m *mbar) state() uint64 { return m.phase&0xfff | m.pending<<27 }

// PendingCount executes mbarrier.pending_count: each lane of d gets the pending arrivals in a token.
func PendingCount(d, a, _, _ *Lanes) {
	for i := range d {
		d[i] = a[i] >> 27 & 0x7fff
	}
}
