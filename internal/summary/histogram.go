package summary

import "sort"

// Bins is the bin count in a column's histogram.
const Bins = 5000

// histogram counts values in bins of equal width. The edges are those from numpy's linspace, 1e-10 wider on each side than the values,
// if T has the precision.
type histogram[T Float] struct {
	start, stop, step T
	inverse           T    // 1/step, rounded, so that a bin computed with it is a guess
	flat              bool // the width is 0 in T
	counts            [Bins]uint64
	groups            [(Bins + group - 1) / group]uint64 // counts over groups of consecutive bins
	total             uint64
}

// group is how many bins form a group.
const group = 64

func newHistogram[T Float](lo, hi T) *histogram[T] {
	h := &histogram[T]{}
	h.reset(lo, hi)
	return h
}

// reset clears the histogram and sets the edges for values from lo to hi.
func (h *histogram[T]) reset(lo, hi T) {
	const margin = 1e-10
	*h = histogram[T]{start: lo - T(margin), stop: hi + T(margin)}
	h.step = (h.stop - h.start) / Bins
	h.inverse = 1 / h.step
	h.flat = h.step == 0
}

// edge returns the lower edge of bin i. edge(Bins) is the upper edge of the last bin.
func (h *histogram[T]) edge(i int) T {
	switch {
	case i == Bins:
		return h.stop
	case h.flat:
		return h.start + T(T(i)/Bins*(h.stop-h.start))
	}
	return h.start + T(T(i)*h.step)
}

// add counts a value n times, in the last bin with a lower edge at or below it.
func (h *histogram[T]) add(v T, n uint64) {
	i := h.bin(v)
	h.counts[i] += n
	h.groups[i/group] += n
	h.total += n
}

// fill counts each value once.
func (h *histogram[T]) fill(values []T) {
	start, step, inverse := h.start, h.step, h.inverse
	for _, v := range values {
		i := 0
		if !h.flat {
			i = int((v - start) * inverse)
		}
		at := T(i)
		if h.flat || uint(i) >= Bins-1 || start+T(at*step) > v || start+T((at+1)*step) <= v {
			i = h.bin(v)
		}
		h.counts[i]++
		h.groups[i/group]++
	}
	h.total += uint64(len(values))
}

func (h *histogram[T]) bin(v T) int {
	if !h.flat {
		i := int((v - h.start) * h.inverse)
		i = max(0, min(i, Bins-1))
		for range 4 { // the product is rounded, so the bin may be a neighbour
			switch {
			case i > 0 && h.edge(i) > v:
				i--
			case i < Bins-1 && h.edge(i+1) <= v:
				i++
			default:
				return i
			}
		}
	}
	return max(0, sort.Search(Bins, func(i int) bool { return h.edge(i) > v })-1)
}

// quantiles returns the values at the shares in Quantiles.
func (h *histogram[T]) quantiles() (out [len(Quantiles)]float64) {
	for k, q := range Quantiles {
		target := q * float64(h.total)
		below, g := uint64(0), 0
		for g < len(h.groups)-1 && float64(below+h.groups[g]) < target {
			below += h.groups[g]
			g++
		}
		i := g * group
		for i < Bins-1 && float64(below+h.counts[i]) < target {
			below += h.counts[i]
			i++
		}
		if i == 0 {
			out[k] = float64(h.edge(0))
			continue
		}
		lower, width := h.edge(i), h.edge(i+1)-h.edge(i)
		share := (target - float64(below)) / float64(h.counts[i])
		out[k] = float64(lower) + float64(share*float64(width))
	}
	return out
}
