package cudasim

import (
	"container/heap"
	"math/bits"
	"slices"
)

// set is a set of small numbers.
type set []uint64

func newSet(n int) set         { return make(set, (n+63)/64) }
func (s set) add(i int32)      { s[i>>6] |= 1 << (i & 63) }
func (s set) has(i int32) bool { return s[i>>6]>>(i&63)&1 != 0 }

func (s set) each(f func(i int32)) {
	for w, v := range s {
		for ; v != 0; v &= v - 1 {
			f(int32(w*64 + bits.TrailingZeros64(v)))
		}
	}
}

// uses calls f with every virtual register that in reads.
func (in *inst) uses(f func(*int32)) {
	for _, r := range []*int32{&in.guard, &in.a, &in.b, &in.c, &in.pa, &in.pb} {
		if *r >= 0 {
			f(r)
		}
	}
	if in.x != nil {
		for i := range in.x.aa {
			if in.x.aa[i] >= 0 {
				f(&in.x.aa[i])
			}
		}
	}
}

// defs calls f with every virtual register that in writes.
func (in *inst) defs(f func(*int32)) {
	for _, r := range []*int32{&in.d, &in.pd, &in.pq} {
		if *r >= 0 {
			f(r)
		}
	}
	if in.x != nil {
		for i := range in.x.dd {
			if in.x.dd[i] >= 0 {
				f(&in.x.dd[i])
			}
		}
	}
}

// span is a stretch of straight code.
type span struct {
	from, to int // instructions
	next     []int
	in, out  set
	gen      set // read before it is written
	kill     set // written whatever the guard
}

// spans cuts code at branches and their targets.
func spans(code []inst) []span {
	leads := make([]bool, len(code)+1)
	leads[0] = true
	for i := range code {
		in := &code[i]
		switch {
		case in.kind == kindBra:
			leads[in.target], leads[i+1] = true, true
		case in.kind == kindExit:
			leads[i+1] = true
		case in.x != nil && in.x.targets != nil:
			leads[i+1] = true
			for _, t := range in.x.targets {
				leads[t] = true
			}
		}
	}
	var list []span
	at := make([]int, len(code)+1)
	for i := range code {
		if leads[i] {
			list = append(list, span{from: i})
		}
		at[i] = len(list) - 1
		list[len(list)-1].to = i + 1
	}
	at[len(code)] = -1
	for s := range list {
		last := &code[list[s].to-1]
		guarded := last.guard >= 0
		to := func(i int32) {
			if at[i] >= 0 && !slices.Contains(list[s].next, at[i]) {
				list[s].next = append(list[s].next, at[i])
			}
		}
		switch {
		case last.kind == kindBra:
			to(last.target)
		case last.kind == kindExit:
		case last.x != nil && last.x.targets != nil:
			for _, t := range last.x.targets {
				to(t)
			}
		default:
			guarded = true
		}
		if guarded {
			to(int32(list[s].to))
		}
	}
	return list
}

// liveness finds, for each of n virtual registers, the first and last place in code where a thread may need its value.
// Place 2i is where instruction i reads, 2i+1 where it writes. A register that nothing uses has last < first.
func liveness(code []inst, n int) (first, last []int32) {
	list := spans(code)
	for s := range list {
		sp := &list[s]
		sp.in, sp.out, sp.gen, sp.kill = newSet(n), newSet(n), newSet(n), newSet(n)
		for i := sp.from; i < sp.to; i++ {
			in := &code[i]
			in.uses(func(r *int32) {
				if !sp.kill.has(*r) {
					sp.gen.add(*r)
				}
			})
			if in.guard < 0 {
				in.defs(func(r *int32) { sp.kill.add(*r) })
			}
		}
		copy(sp.in, sp.gen)
	}
	for changed := true; changed; {
		changed = false
		for s := len(list) - 1; s >= 0; s-- {
			sp := &list[s]
			for _, t := range sp.next {
				for w, v := range list[t].in {
					sp.out[w] |= v
				}
			}
			for w := range sp.in {
				if v := sp.gen[w] | sp.out[w]&^sp.kill[w]; v != sp.in[w] {
					sp.in[w], changed = v, true
				}
			}
		}
	}
	first, last = make([]int32, n), make([]int32, n)
	for i := range first {
		first[i], last[i] = 1<<30, -1
	}
	touch := func(r int32, p int32) {
		first[r], last[r] = min(first[r], p), max(last[r], p)
	}
	for s := range list {
		sp := &list[s]
		sp.in.each(func(r int32) { touch(r, int32(2*sp.from)) })
		sp.out.each(func(r int32) { touch(r, int32(2*sp.to)) })
		for i := sp.from; i < sp.to; i++ {
			in, p := &code[i], int32(2*i)
			in.uses(func(r *int32) {
				if in.apart {
					touch(*r, p+1)
				} else {
					touch(*r, p)
				}
			})
			in.defs(func(r *int32) { touch(*r, p+1) })
		}
	}
	return first, last
}

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

// assign gives each register of ids a slot from base on, such that two that are live at once have two, and returns how many
// slots there are with those below base.
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
