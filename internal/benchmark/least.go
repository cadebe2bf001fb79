package benchmark

import (
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// rowsOf returns how many samples a target reads, for kinds without a window.
func rowsOf(kind ops.Interp) int64 {
	switch kind {
	case ops.InterpPrevious, ops.InterpNext, ops.InterpNearest:
		return 1
	case ops.InterpPchip, ops.InterpCatmullRom:
		return 4
	}
	return 2
}

// leastValues returns how many values the targets need, from b rows with s samples. Evenly spaced targets each need their own samples,
// up to the total. If the clock has gaps or windows overlap, the needed samples are counted.
func leastValues(f *Form, channels []ops.Channel, times, targets *tensor.Tensor) (n int64) {
	b, s, t := int64(times.Dim(0)), int64(times.Dim(1)), int64(targets.Dim(1))
	for _, c := range channels {
		rows := min(b*s, rowsOf(c.Interp)*b*t)
		if f.Clock == "gapped" || c.Interp.Windowed() {
			rows = needed(c, times, targets)
		}
		n += rows * int64(c.Hi-c.Lo)
	}
	return n
}

// needed counts the samples that the targets need.
func needed(c ops.Channel, times, targets *tensor.Tensor) int64 {
	window, _ := c.Window.Get()
	switch times.DType() {
	case tensor.I64:
		return neededBy(c.Interp, int64(window), dataOf[int64](times), dataOf[int64](targets), times.Dim(0))
	case tensor.F64:
		return neededBy(c.Interp, window.Seconds(), dataOf[float64](times), dataOf[float64](targets), times.Dim(0))
	}
	return neededBy(c.Interp, float32(float64(window)/float64(time.Second)), dataOf[float32](times), dataOf[float32](targets), times.Dim(0))
}

// dataOf returns the elements of a host tensor that this package created.
func dataOf[T tensor.Element](t *tensor.Tensor) []T {
	data, err := tensor.Data[T](t)
	if err != nil {
		panic(err)
	}
	return data
}

func neededBy[T int64 | float64 | float32](kind ops.Interp, window T, times, targets []T, b int) (n int64) {
	s, t := len(times)/b, len(targets)/b
	seen := make([]bool, s)
	for row := range b {
		clear(seen)
		c := times[row*s:][:s]
		for _, x := range targets[row*t:][:t] {
			lo, hi := between(kind, window, c, x)
			for ; lo < hi; lo++ {
				if !seen[lo] {
					seen[lo] = true
					n++
				}
			}
		}
	}
	return n
}

// between returns the range lo to hi-1 of samples that a target needs. Outside the clock it is the end sample.
func between[T int64 | float64 | float32](kind ops.Interp, window T, c []T, x T) (lo, hi int) {
	above := upper(c, x)
	k := above - 1
	switch {
	case k < 0:
		return 0, 1
	case kind == ops.InterpWindowLast:
		if k < len(c)-1 && x-c[k] >= window {
			return 0, 0
		}
		return k, k + 1
	case kind.Windowed() && x <= c[len(c)-1]:
		return upper(c, x-window), above
	case above == len(c) || c[k] == x || kind == ops.InterpPrevious:
		return k, k + 1
	case kind == ops.InterpNext || kind == ops.InterpNearest && c[above]-x < x-c[k]:
		return above, above + 1
	case kind == ops.InterpNearest:
		return k, k + 1
	case rowsOf(kind) == 4:
		return max(k-1, 0), min(k+3, len(c))
	}
	return k, k + 2
}

// upper returns the index of the first timestamp after x.
func upper[T int64 | float64 | float32](c []T, x T) int {
	lo, hi := 0, len(c)
	for lo < hi {
		if mid := (lo + hi) / 2; c[mid] <= x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
