package kitti

import (
	"math"
	"slices"
)

// evidence tells how well each width explains the numbers of a file: columns differ from one another, so that in the right width, and only there,
// each is more alike in itself than all numbers together. Numbers are sorted into classes, and a width's score is the logarithm of how probable
// they are if each column draws classes with odds of its own, which are not known (Krichevsky and Trofimov's estimate). Wide is not better by
// itself, for the odds of more columns must be learnt.
type evidence struct {
	n      int
	counts [maxWidth + 1][][classes]int // [width][column]
	score  [maxWidth + 1]float64
}

const (
	maxWidth   = 16
	maxWeighed = 1 << 20 // numbers that are looked at
	doubt      = 3       // a score this much higher may be chance, and is a reason not to be sure
	certain    = 20      // one this much higher is chance once in e^20
	aNumber    = 0.01    // and so much more is asked for each number, as neighbours in a scan are alike
	aSplit     = 0.1     // a column is two if these differ by so much a number
	many       = 64      // points among which columns that are two would have shown
)

func weigh(data []byte) *evidence {
	e := &evidence{n: min(len(data)/4, maxWeighed)}
	values := make([]float64, e.n)
	for i := range values {
		values[i] = number(data, i)
	}
	class := classify(values)
	for width := 1; width <= maxWidth; width++ {
		e.counts[width] = make([][classes]int, width)
		for i, c := range class {
			e.counts[width][i%width][c]++
		}
		for _, c := range e.counts[width] {
			e.score[width] += score(c[:])
		}
		e.score[width] = max(e.score[width], e.score[1])
	}
	return e
}

// kinds are what a number is at first sight: none, zero, or negative or positive and whole or not, which comes in sizes of equally many numbers.
const (
	kinds   = 6
	sizes   = 4
	classes = kinds * sizes // of none and zero the first is used
)

// classify returns the numbers' classes.
func classify(values []float64) []uint8 {
	var sorted []float64
	for _, v := range values {
		if v-v == 0 && v != 0 {
			sorted = append(sorted, math.Abs(v))
		}
	}
	slices.Sort(sorted)
	out := make([]uint8, len(values))
	for i, v := range values {
		kind, size := 0, 0
		switch {
		case v-v != 0:
		case v == 0:
			kind = 1
		default:
			at, _ := slices.BinarySearch(sorted, math.Abs(v))
			kind, size = 2, at*sizes/len(sorted)
			if v > 0 {
				kind = 4
			}
			if v == math.Trunc(v) {
				kind++
			}
		}
		out[i] = uint8(kind*sizes + size)
	}
	return out
}

func score(counts []int) float64 {
	n, sum := 0, 0.0
	for _, c := range counts {
		n += c
		sum += lgamma(float64(c)+.5) - lgamma(.5)
	}
	return sum + lgamma(float64(len(counts))/2) - lgamma(float64(n)+float64(len(counts))/2)
}

func lgamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

// splits reports whether columns are, in a width that is a multiple, columns that differ: half of them in kind, or all of them, each
// with a score that is so much higher. Points that take turns may do so in some: lasers that look up and down.
func (e *evidence) splits(wide, width int, beyond float64) bool {
	inKind, inAny := 0, 0
	for i := range width {
		var parts [][classes]int
		for j := i; j < wide; j += width {
			parts = append(parts, e.counts[wide][j])
		}
		if differ(parts, sizes, beyond) {
			inKind++
		}
		if differ(parts, 1, beyond) {
			inAny++
		}
	}
	return 2*inKind >= width || inAny == width
}

// differ reports whether columns have odds of their own, in classes of which each so many are taken as one. NaNs do not count.
func differ(parts [][classes]int, as int, beyond float64) bool {
	n, gain := 0, 0.0
	whole := make([]int, classes/as)
	for _, part := range parts {
		coarse := make([]int, classes/as)
		for c, k := range part {
			if c < sizes {
				continue
			}
			coarse[c/as] += k
			whole[c/as] += k
			if c >= 2*sizes {
				n += k
			}
		}
		gain += score(coarse)
	}
	gain -= score(whole)
	return gain > beyond && gain > aSplit*float64(n)
}

// confirms reports whether one width explains the numbers, beyond doubt better than any other that the size allows, and no other does so at all.
// The layouts that fit are given.
func (e *evidence) confirms(width, count int, fit [][]string) bool {
	for other := 3; other <= maxWidth; other++ {
		ahead := e.score[width] - e.score[other]
		possible := count%other == 0
		known := slices.ContainsFunc(fit, func(names []string) bool { return len(names) == other })
		switch {
		case other == width:
		case width%other == 0:
			if !e.splits(width, other, certain) {
				return false
			}
		case other%width == 0:
			if e.splits(other, width, doubt) || known && ahead < certain || possible && ahead < doubt && e.n/other < many {
				return false
			}
		case ahead < -doubt || possible && ahead < certain+aNumber*float64(e.n):
			return false
		}
	}
	return true
}
