package program

import (
	"math/bits"
	"slices"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// set is a set of small integers.
type set []uint64

func (s set) add(i int32)      { s[i>>6] |= 1 << (i & 63) }
func (s set) has(i int32) bool { return s[i>>6]>>(i&63)&1 != 0 }

func (s set) each(f func(i int32)) {
	for w, v := range s {
		for ; v != 0; v &= v - 1 {
			f(int32(w*64 + bits.TrailingZeros64(v)))
		}
	}
}

// span is a range of instructions without branches.
type span struct {
	from, to int // instructions
	next     []int
	in, out  set
	gen      set // registers read before they are written
	kill     set // registers written without a guard
}

// spans cuts code at branches and their targets.
func spans(code []inst) []span {
	leads := make([]bool, len(code)+1)
	leads[0] = true
	for i := range code {
		in := &code[i]
		switch {
		case in.Kind == exec.KindBra:
			leads[in.Target], leads[i+1] = true, true
		case in.Kind == exec.KindExit:
			leads[i+1] = true
		case in.X != nil && in.X.Targets != nil:
			leads[i+1] = true
			for _, t := range in.X.Targets {
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
		guarded := last.Guard >= 0
		to := func(i int32) {
			if at[i] >= 0 && !slices.Contains(list[s].next, at[i]) {
				list[s].next = append(list[s].next, at[i])
			}
		}
		switch {
		case last.Kind == exec.KindBra:
			to(last.Target)
		case last.Kind == exec.KindExit:
		case last.X != nil && last.X.Targets != nil:
			for _, t := range last.X.Targets {
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

// liveness returns, for each of n virtual registers, the first and last place in code where a thread may need its value.
// At place 2i instruction i reads, at 2i+1 it writes. For an unused register, last < first.
func liveness(code []inst, n int) (first, last []int32) {
	list := spans(code)
	words := (n + 63) / 64
	room := make(set, 4*words*len(list))
	before := make([][]int, len(list)) // the spans that go on with a span
	for s := range list {
		sp := &list[s]
		for _, of := range []*set{&sp.in, &sp.out, &sp.gen, &sp.kill} {
			*of, room = room[:words:words], room[words:]
		}
		for _, t := range sp.next {
			before[t] = append(before[t], s)
		}
		for i := sp.from; i < sp.to; i++ {
			in := &code[i]
			uses(in, func(r *int32) {
				if !sp.kill.has(*r) {
					sp.gen.add(*r)
				}
			})
			if in.Guard < 0 {
				defs(in, func(r *int32) { sp.kill.add(*r) })
			}
		}
		copy(sp.in, sp.gen)
	}
	due := make([]bool, len(list)) // the spans for which one of the next has changed
	for s := range due {
		due[s] = len(list[s].next) > 0
	}
	for changed := true; changed; {
		changed = false
		for s := len(list) - 1; s >= 0; s-- {
			if !due[s] {
				continue
			}
			sp, grown := &list[s], false
			due[s] = false
			for _, t := range sp.next {
				for w, v := range list[t].in {
					sp.out[w] |= v
				}
			}
			for w := range sp.in {
				if v := sp.gen[w] | sp.out[w]&^sp.kill[w]; v != sp.in[w] {
					sp.in[w], grown = v, true
				}
			}
			if grown {
				changed = true
				for _, b := range before[s] {
					due[b] = true
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
			uses(in, func(r *int32) {
				if in.Apart {
					touch(*r, p+1)
				} else {
					touch(*r, p)
				}
			})
			defs(in, func(r *int32) { touch(*r, p+1) })
		}
	}
	return first, last
}

// uses calls f for every virtual register that in reads.
func uses(in *inst, f func(*int32)) {
	for _, r := range []*int32{&in.Guard, &in.A, &in.B, &in.C, &in.PA, &in.PB} {
		if *r >= 0 {
			f(r)
		}
	}
	if in.X != nil {
		for i := range in.X.AA {
			if in.X.AA[i] >= 0 {
				f(&in.X.AA[i])
			}
		}
	}
}

// defs calls f for every virtual register that in writes.
func defs(in *inst, f func(*int32)) {
	for _, r := range []*int32{&in.D, &in.PD, &in.PQ} {
		if *r >= 0 {
			f(r)
		}
	}
	if in.X != nil {
		for i := range in.X.DD {
			if in.X.DD[i] >= 0 {
				f(&in.X.DD[i])
			}
		}
	}
}
