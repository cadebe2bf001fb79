package cudasim

import (
	"math/bits"
	"slices"
)

// Counters is what a launch did. Instructions are of threads: a warp instruction counts once for each thread that ran it.
type Counters struct {
	Warps             uint64            // warp instructions
	Instructions      map[string]uint64 // of threads, by class: int, float, double, half, convert, move, predicate, branch, memory, atomic, sync, tensor, other
	GlobalRead        Traffic
	GlobalWrite       Traffic
	Prefetched        uint64   // lines of 128 bytes of global memory that were asked for ahead, each counted once
	BankConflicts     uint64   // extra passes over shared memory that its accesses took
	Atomics           uint64   // of threads, on global and shared memory
	AtomicsOnOne      uint64   // the most on one address of global memory
	AtomicAddress     uint64   // that address
	Barriers          uint64   // barriers that a block completed
	Branches          uint64   // branches of warps
	DivergentBranches uint64   // those that split a warp
	Lines             []uint64 // instructions of threads by line of the module's text, counted from 1; nil unless Config.Lines

	byLine  bool
	classes [classes]uint64
	atomics map[uint64]uint64 // by address
	ahead   map[uint64]bool   // the lines that were prefetched
}

// Traffic is what the requests of warps to global memory moved.
type Traffic struct {
	Requests uint64 // instructions of warps
	Bytes    uint64 // that threads asked for
	Sectors  uint64 // of 32 bytes, each counted once a request
}

func newCounters(byLine bool) *Counters {
	return &Counters{Instructions: map[string]uint64{}, atomics: map[uint64]uint64{}, ahead: map[uint64]bool{}, byLine: byLine}
}

func (c *Counters) line(at int, n uint64) {
	if at >= len(c.Lines) {
		c.Lines = append(c.Lines, make([]uint64, at+1-len(c.Lines))...)
	}
	c.Lines[at] += n
}

func (c *Counters) instruction(in *inst, exec uint32) {
	c.Warps++
	n := uint64(bits.OnesCount32(exec))
	c.classes[in.class] += n
	if c.byLine {
		c.line(int(in.line), n)
	}
	if in.kind == kindBra && exec != 0 {
		c.Branches++
	}
}

func (t *Traffic) add(o Traffic) {
	t.Requests += o.Requests
	t.Bytes += o.Bytes
	t.Sectors += o.Sectors
}

// access counts what lanes ask of memory, n bytes each, at w.ofs.
func (c *Counters) access(w *warp, m *allocation, sp spaceKind, here uint32, n uint64, kind accessKind) {
	if kind == accessAtomic {
		c.Atomics += uint64(bits.OnesCount32(here))
	}
	if sp == spaceShared {
		c.BankConflicts += conflicts(w, here, n)
		return
	}
	if kind == accessAtomic {
		for e := here; e != 0; e &= e - 1 {
			c.atomics[m.addr+w.ofs[bits.TrailingZeros32(e)&31]]++
		}
	}
	t := Traffic{1, uint64(bits.OnesCount32(here)) * n, sectors(w, here, n)}
	if kind != accessWrite {
		c.GlobalRead.add(t)
	}
	if kind != accessRead {
		c.GlobalWrite.add(t)
	}
}

const lineBytes = 128

// prefetch counts the lines that lanes ask for, at w.ofs.
func (c *Counters) prefetch(w *warp, m *allocation, here uint32) {
	for ; here != 0; here &= here - 1 {
		c.ahead[(m.addr+w.ofs[bits.TrailingZeros32(here)&31])/lineBytes] = true
	}
}

const sectorBytes = 32

// sectors counts the sectors that a request touches.
func sectors(w *warp, here uint32, n uint64) uint64 {
	var list [64]uint64
	count := 0
	for e := here; e != 0; e &= e - 1 {
		o := w.ofs[bits.TrailingZeros32(e)&31]
		if n > sectorBytes { // a bulk copy, of one lane
			return (o+n-1)/sectorBytes - o/sectorBytes + 1
		}
		for s := o / sectorBytes; s <= (o+n-1)/sectorBytes; s++ {
			found := false
			for k := count - 1; k >= 0 && !found; k-- {
				found = list[k] == s
			}
			if !found && count < len(list) {
				list[count] = s
				count++
			}
		}
	}
	return uint64(count)
}

// conflicts counts the passes beyond those that a request's size needs: shared memory has 32 banks of four bytes, and a pass
// reads one word of each. Lanes that want the same word share it. Accesses of 8 and 16 bytes go by half and quarter warps.
func conflicts(w *warp, here uint32, n uint64) uint64 {
	extra := uint64(0)
	part := 32
	if n > 4 {
		part = int(32 * 4 / n)
	}
	for from := 0; from < 32; from += part {
		var words [32][]uint64
		most := 0
		for i := from; i < from+part; i++ {
			if here>>i&1 == 0 {
				continue
			}
			for word := w.ofs[i] / 4; word <= (w.ofs[i]+n-1)/4; word++ {
				bank := word % 32
				if !slices.Contains(words[bank], word) {
					words[bank] = append(words[bank], word)
				}
				most = max(most, len(words[bank]))
			}
		}
		if most > 1 {
			extra += uint64(most - 1)
		}
	}
	return extra
}

// add adds what one worker counted.
func (c *Counters) add(o *Counters) {
	c.Warps += o.Warps
	for i, n := range o.classes {
		if n > 0 {
			c.Instructions[classNames[i]] += n
		}
	}
	for at, n := range o.Lines {
		c.line(at, n)
	}
	c.GlobalRead.add(o.GlobalRead)
	c.GlobalWrite.add(o.GlobalWrite)
	c.BankConflicts += o.BankConflicts
	c.Atomics += o.Atomics
	for addr, n := range o.atomics {
		c.atomics[addr] += n
		if sum := c.atomics[addr]; sum > c.AtomicsOnOne || sum == c.AtomicsOnOne && addr < c.AtomicAddress {
			c.AtomicsOnOne, c.AtomicAddress = sum, addr
		}
	}
	for line := range o.ahead {
		c.ahead[line] = true
	}
	c.Prefetched = uint64(len(c.ahead))
	c.Barriers += o.Barriers
	c.Branches += o.Branches
	c.DivergentBranches += o.DivergentBranches
}
