package exec

import (
	"math/bits"
	"slices"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// accessKind is the kind of a memory access.
type accessKind uint8

const (
	accessRead accessKind = iota
	accessWrite
	accessAtomic
	accessCopy // a write that lands later
	accessNone // address checks only: a prefetch, or an access that the caller observes itself
)

// tally counts the work that blocks do.
type tally struct {
	report.Counters
	byLine  bool
	classes [classes]uint64
	atomics map[uint64]uint64 // number of operations, by address
	ahead   map[uint64]bool   // the lines that were prefetched
	banks   [32][32]uint64    // scratch: the words that a request reads from each bank
}

func newTally(byLine bool) *tally {
	return &tally{Counters: report.Counters{Instructions: map[string]uint64{}},
		atomics: map[uint64]uint64{}, ahead: map[uint64]bool{}, byLine: byLine}
}

func (c *tally) line(at int, n uint64) {
	if at >= len(c.Lines) {
		c.Lines = append(c.Lines, make([]uint64, at+1-len(c.Lines))...)
	}
	c.Lines[at] += n
}

func (c *tally) instruction(in *Inst, exec uint32) {
	c.Warps++
	n := uint64(bits.OnesCount32(exec))
	c.classes[in.Class] += n
	if c.byLine {
		c.line(int(in.Line), n)
	}
	if in.Kind == KindBra && exec != 0 {
		c.Branches++
	}
}

// access counts the traffic of one request: n bytes for each lane, at w.ofs.
func (c *tally) access(w *Warp, m *memory.Allocation, sp SpaceKind, here uint32, n uint64, kind accessKind) {
	if kind == accessAtomic {
		c.Atomics += uint64(bits.OnesCount32(here))
	}
	if sp == SpaceShared {
		c.BankConflicts += c.conflicts(w, here, n)
		return
	}
	if kind == accessAtomic {
		for e := here; e != 0; e &= e - 1 {
			c.atomics[m.Addr+w.ofs[bits.TrailingZeros32(e)&31]]++
		}
	}
	t := report.Traffic{Requests: 1, Bytes: uint64(bits.OnesCount32(here)) * n, Sectors: sectors(w, here, n)}
	if kind != accessWrite {
		c.GlobalRead.Add(t)
	}
	if kind != accessRead {
		c.GlobalWrite.Add(t)
	}
}

const lineBytes = 128

// prefetch counts the lines at w.ofs.
func (c *tally) prefetch(w *Warp, m *memory.Allocation, here uint32) {
	for ; here != 0; here &= here - 1 {
		c.ahead[(m.Addr+w.ofs[bits.TrailingZeros32(here)&31])/lineBytes] = true
	}
}

const sectorBytes = 32

// sectors counts the sectors that a request touches.
func sectors(w *Warp, here uint32, n uint64) uint64 {
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

// conflicts counts a request's passes beyond the minimum for its size: shared memory has 32 banks of four bytes, and a pass
// reads one word from each. Lanes that read the same word share it. Accesses of 8 and 16 bytes go by half and quarter warps.
func (c *tally) conflicts(w *Warp, here uint32, n uint64) uint64 {
	extra := uint64(0)
	part := 32
	if n > 4 {
		part = int(32 * 4 / n)
	}
	for from := 0; from < 32; from += part {
		var lengths [32]int
		most := 1
		for i := from; i < from+part; i++ {
			if here>>i&1 == 0 {
				continue
			}
			for word := w.ofs[i] / 4; word <= (w.ofs[i]+n-1)/4; word++ {
				bank := word % 32
				words := c.banks[bank][:lengths[bank]]
				if !slices.Contains(words, word) {
					c.banks[bank][len(words)] = word
					lengths[bank]++
				}
				most = max(most, lengths[bank])
			}
		}
		extra += uint64(most - 1)
	}
	return extra
}

// add adds the counts from one worker.
func (c *tally) add(o *tally) {
	c.Warps += o.Warps
	for i, n := range o.classes {
		if n > 0 {
			c.Instructions[classNames[i]] += n
		}
	}
	for at, n := range o.Lines {
		c.line(at, n)
	}
	c.GlobalRead.Add(o.GlobalRead)
	c.GlobalWrite.Add(o.GlobalWrite)
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
