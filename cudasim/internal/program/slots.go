package program

import (
	"container/heap"
	"slices"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

type freeSlots []int32

func (h freeSlots) Len() int           { return len(h) }
func (h freeSlots) Less(i, j int) bool { return h[i] < h[j] }
func (h freeSlots) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *freeSlots) Push(x any)        { *h = append(*h, x.(int32)) }

func (h *freeSlots) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// assign gives each register in ids a slot from base on. Two registers that are live at once get different slots. It returns
// the number of slots, with those below base.
func assign(ids []int32, first, last []int32, base int32, slot []int32) int32 {
	ids = slices.DeleteFunc(slices.Clone(ids), func(r int32) bool { return last[r] < first[r] })
	slices.SortFunc(ids, func(a, b int32) int {
		if first[a] != first[b] {
			return int(first[a] - first[b])
		}
		return int(a - b)
	})
	byEnd := slices.Clone(ids)
	slices.SortFunc(byEnd, func(a, b int32) int { return int(last[a] - last[b]) })
	free, next := freeSlots{}, base
	for _, r := range ids {
		for len(byEnd) > 0 && last[byEnd[0]] < first[r] {
			heap.Push(&free, slot[byEnd[0]])
			byEnd = byEnd[1:]
		}
		if len(free) > 0 {
			slot[r] = heap.Pop(&free).(int32)
		} else {
			slot[r] = next
			next++
		}
	}
	return next
}

// maxRegisters is the most 32-bit registers that a thread can have.
const maxRegisters = 255

// pressure returns the number of 32-bit registers for the values that are live at once, limited to the registers of a thread in the
// largest block. A real assembler may need more or fewer.
func (c *compiler) pressure(data, first, last []int32) uint32 {
	change := make([]int, 2*len(c.code)+2)
	for _, r := range data {
		if last[r] >= first[r] {
			n := max(1, ptxparse.TypeSize(c.kinds[r])/4)
			change[first[r]] += n
			change[last[r]+1] -= n
		}
	}
	live, most := 0, 0
	for _, n := range change {
		live += n
		most = max(most, live)
	}
	limit := maxRegisters
	if c.k.MaxThreads > 0 {
		limit = min(limit, exec.RegistersPerSM/int(c.k.MaxThreads)/8*8)
	}
	return uint32(min(most, limit))
}

// slots replaces the virtual registers by slots in a warp's register file.
func (c *compiler) slots() {
	first, last := liveness(c.code, len(c.kinds))
	slot := make([]int32, len(c.kinds))
	for i, r := range c.constR {
		slot[r] = exec.FirstConst + int32(i)
	}
	var data, preds []int32
	for i, t := range c.kinds {
		switch t {
		case "const":
		case "pred":
			preds = append(preds, int32(i))
		default:
			data = append(data, int32(i))
		}
	}
	c.k.Consts = c.values
	base := exec.FirstConst + int32(len(c.values))
	c.k.Slots = assign(data, first, last, base, slot)
	c.k.PredSlots = assign(preds, first, last, exec.FirstPred, slot)
	c.k.Registers = c.pressure(data, first, last)
	for i := range c.code {
		in := &c.code[i]
		to := func(r *int32) { *r = slot[*r] }
		uses(in, to)
		defs(in, to)
		sink := func(r *int32, s int32) {
			if *r < 0 {
				*r = s
			}
		}
		sink(&in.Guard, exec.PredTrue)
		sink(&in.D, exec.SlotSink)
		sink(&in.A, exec.SlotZero)
		sink(&in.B, exec.SlotZero)
		sink(&in.C, exec.SlotZero)
		sink(&in.PD, exec.PredSink)
		sink(&in.PQ, exec.PredSink)
		sink(&in.PA, exec.PredTrue)
		sink(&in.PB, exec.PredTrue)
		if in.X != nil {
			for j := range in.X.DD {
				sink(&in.X.DD[j], exec.SlotSink)
			}
			for j := range in.X.AA {
				sink(&in.X.AA[j], exec.SlotZero)
			}
		}
	}
	c.k.Code = c.code
}
