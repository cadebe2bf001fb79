package kitti

import (
	"math"
	"slices"
)

// evidence finds the point width that explains a file's numbers. In rows with the right width, or a multiple, each column holds
// numbers of one kind. Two tests follow:
//
//   - Different columns of a point differ. In rows with a wrong width each column contains a mixture of everything, so all columns
//     are alike.
//   - In rows with a multiple of the right width, columns that are equal modulo the width are alike, in their numbers and in the
//     steps between them, because points alternate. If points are wider than assumed, these are different columns and differ. With
//     lasers that look up and down in turn, z alone differs too.
type evidence struct {
	values  []float64
	classes []uint8
}

const (
	maxWidth   = 16
	maxWeighed = 1 << 18 // numbers that are examined
	alike      = 0.25    // columns are alike if they cannot be further apart
	notAlike   = 0.15    // and are not if one is further apart than this beyond chance
	different  = 0.25    // columns differ if they are apart by so much, and twice as far as in another width
	inSteps    = 0.02    // and by so much in their steps
	deviations = 4       // standard ones that chance is allowed
)

// The classes of numbers.
const (
	notFinite   = 0
	zero        = 1
	firstOfSize = 2 // two of each size: not whole, and whole
	sizes       = 8 // of equally many numbers each
	classes     = firstOfSize + 2*sizes
)

func weigh(data []byte) *evidence {
	values := make([]float64, min(len(data)/4, maxWeighed))
	for i := range values {
		values[i] = number(data, i)
	}
	return &evidence{values, classify(values)}
}

// classify returns the numbers' classes.
func classify(values []float64) []uint8 {
	var sorted []float64
	for _, v := range values {
		if v-v == 0 && v != 0 {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	out := make([]uint8, len(values))
	for i, v := range values {
		switch {
		case v-v != 0:
			out[i] = notFinite
		case v == 0:
			out[i] = zero
		default:
			at, _ := slices.BinarySearch(sorted, v)
			out[i] = uint8(firstOfSize + 2*(at*sizes/len(sorted)))
			if v == math.Trunc(v) {
				out[i]++
			}
		}
	}
	return out
}

// steps returns the classes of the differences between each number and the one later places after it.
func (e *evidence) steps(later int) []uint8 {
	steps := make([]float64, max(len(e.values)-later, 0))
	for i := range steps {
		steps[i] = math.Abs(e.values[i+later] - e.values[i])
	}
	return classify(steps)
}

// apart returns the distance between columns in wide rows that are the same column in narrow rows; the wide width is a multiple of
// the narrow one. Only the given columns of the narrow rows count. The distance is chi-square per number, with its least and most
// value under chance: 0 if columns are alike, and one less than the number of columns if no two share a class.
func apart(class []uint8, wide, narrow int, only []int) (least, most float64) {
	counts := make([][classes]float64, wide)
	for i, c := range class {
		counts[i%wide][c]++
	}
	chi, free, n := 0.0, 0.0, 1.0
	for _, k := range only {
		var together [classes]float64
		var totals []float64
		all := 0.0
		for j := k; j < wide; j += narrow {
			total := 0.0
			for c, v := range counts[j] {
				together[c] += v
				total += v
			}
			totals, all = append(totals, total), all+total
		}
		kinds := 0.0
		for c, v := range together {
			if v == 0 {
				continue
			}
			kinds++
			for m, total := range totals {
				if want := v * total / all; want > 0 {
					chi += (counts[k+m*narrow][c] - want) * (counts[k+m*narrow][c] - want) / want
				}
			}
		}
		if kinds > 1 { // a constant is no evidence
			n += all - together[notFinite]
			free += (kinds - 1) * float64(len(totals)-1)
		}
	}
	chance := deviations * math.Sqrt(2*free)
	return (chi - free - chance) / n, (chi - free + chance) / n
}

// confirms reports whether one layout's width explains the count numbers in the file, and no other width does.
func (e *evidence) confirms(width, count int) bool {
	steps := e.steps(width)
	for other := 1; other <= maxWidth; other++ {
		possible := count%other == 0
		switch both := gcd(width, other); {
		case other == width:
		case both == width:
			if !takeTurns(other, width, possible, e.classes, steps, e.steps(other)) {
				return false
			}
		default:
			only := firstColumns[:both]
			here, _ := apart(e.classes, width, both, only)
			moving, _ := apart(steps, width, both, only)
			there, most := apart(e.classes, other, both, only)
			if possible {
				there = most
			}
			enough := different
			if both > 1 { // points of these few may take turns, and so be apart
				enough *= 2
			}
			if here < max(enough, 2*there) || moving < inSteps {
				return false
			}
		}
	}
	return true
}

// takeTurns reports whether rows of a multiple of a width are several points. Where the file may have such rows it must be so beyond doubt.
func takeTurns(multiple, width int, possible bool, series ...[]uint8) bool {
	only := firstColumns[:width]
	if multiple/width%2 == 0 {
		only = slices.DeleteFunc(slices.Clone(only), func(k int) bool { return k == 2 })
	}
	for _, class := range series {
		if _, most := apart(class, multiple, width, only); possible && most > alike {
			return false
		}
		for i := range only {
			if least, _ := apart(class, multiple, width, only[i:i+1]); least > notAlike {
				return false
			}
		}
	}
	return true
}

var firstColumns = []int{0, 1, 2, 3, 4, 5}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
