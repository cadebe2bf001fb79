package doctor

import (
	"math"
	"slices"

	"golang.org/x/sys/cpu"
)

// hasVector says that the processor has AVX2, and that the system keeps its registers.
var hasVector = cpu.X86.HasAVX2

// lanes32 is what is counted of 8 neighbouring columns, lanes64 of 4. Their layout is that of look_amd64.s.
type (
	lanes32 struct {
		low, high, step    [8]float32
		equal, limit       [8]int32
		shift, sum, square [8]float64
	}
	lanes64 struct {
		low, high, step    [4]float64
		equal, limit       [4]int64
		shift, sum, square [4]float64
	}
)

// look8 and look4 take rows, at least one, which lie so many bytes apart, from a column on: as many columns as the mask has ones. before is the row before
// the first, at that column.
//
//go:noescape
func look8(from *float32, rows, apart int, mask *[8]int32, before *float32, to *lanes32)

//go:noescape
func look4(from *float64, rows, apart int, mask *[4]int64, before *float64, to *lanes64)

// beyond8 and beyond4 return how many steps there are from a row on, and a column, until one is beyond the limit of a column that has a one in the mask; all
// steps, of which there is one at least, if none is.
//
//go:noescape
func beyond8(from *float32, steps, apart int, limits *[8]float32, mask *[8]int32) int

//go:noescape
func beyond4(from *float64, steps, apart int, limits *[4]float64, mask *[4]int64) int

// sum4 is the sum of the products of n numbers, a multiple of 8 that is not 0.
//
//go:noescape
func sum4(a, b *float64, n int) float64

// scanVectors is scan, several columns at a time.
func scanVectors(t *tally, v *values) {
	if v.f32 != nil {
		scan8(t, v.f32, v.width)
	} else {
		scan4(t, v.f64, v.width)
	}
}

func scan8(t *tally, data []float32, width int) {
	groups := slices.Grow(t.lanes32[:0], (width+7)/8)[:(width+7)/8]
	t.lanes32 = groups
	for g := range groups {
		to := &groups[g]
		*to = lanes32{}
		for i, x := range data[8*g : min(8*g+8, width)] {
			to.low[i], to.high[i], to.shift[i], to.equal[i], to.limit[i] = x, x, float64(x), -1, -1 // the first is as itself
		}
	}
	var mask [2][8]int32 // of a whole group, and of the last
	for i := range 8 {
		if mask[0][i] = -1; i <= (width-1)%8 {
			mask[1][i] = -1
		}
	}
	last := data[:width]
	for len(data) > 0 {
		part := data[:min(len(data), max(8, block/width)*width)]
		data = data[len(part):]
		for g := range groups {
			of := &mask[0]
			if g == len(groups)-1 {
				of = &mask[1]
			}
			look8(&part[8*g], len(part)/width, 4*width, of, &last[8*g], &groups[g])
		}
		last = part[len(part)-width:]
	}
	for c := range t.columns {
		k, i := &groups[c/8], c%8
		t.columns[c] = columnTally{min: float64(k.low[i]), max: float64(k.high[i]), step: float64(k.step[i]), equal: int(k.equal[i]), limit: int(k.limit[i]),
			shift: k.shift[i], sum: k.sum[i], square: k.square[i]}
	}
}

func scan4(t *tally, data []float64, width int) {
	groups := slices.Grow(t.lanes64[:0], (width+3)/4)[:(width+3)/4]
	t.lanes64 = groups
	for g := range groups {
		to := &groups[g]
		*to = lanes64{}
		for i, x := range data[4*g : min(4*g+4, width)] {
			to.low[i], to.high[i], to.shift[i], to.equal[i], to.limit[i] = x, x, x, -1, -1 // the first is as itself
		}
	}
	var mask [2][4]int64 // of a whole group, and of the last
	for i := range 4 {
		if mask[0][i] = -1; i <= (width-1)%4 {
			mask[1][i] = -1
		}
	}
	last := data[:width]
	for len(data) > 0 {
		part := data[:min(len(data), max(8, block/width)*width)]
		data = data[len(part):]
		for g := range groups {
			of := &mask[0]
			if g == len(groups)-1 {
				of = &mask[1]
			}
			look4(&part[4*g], len(part)/width, 8*width, of, &last[4*g], &groups[g])
		}
		last = part[len(part)-width:]
	}
	for c := range t.columns {
		k, i := &groups[c/4], c%4
		t.columns[c] = columnTally{min: k.low[i], max: k.high[i], step: k.step[i], equal: int(k.equal[i]), limit: int(k.limit[i]),
			shift: k.shift[i], sum: k.sum[i], square: k.square[i]}
	}
}

// jumpsOfVectors is jumpsOf of several columns at a time.
func jumpsOfVectors(list []int, v *values, limits []float64, most int) []int {
	lanes := 4
	if v.f32 != nil {
		lanes = 8
	}
	for c := 0; c < v.width && len(list) <= most; c += lanes {
		if here := limits[c:min(c+lanes, v.width)]; slices.Min(here) == math.Inf(1) {
			continue
		} else if v.f32 != nil {
			list = jumps8(list, v, c, here, most)
		} else {
			list = jumps4(list, v, c, here, most)
		}
	}
	return list
}

func jumps8(list []int, v *values, c int, limits []float64, most int) []int {
	var narrow [8]float32
	var mask [8]int32
	for i, l := range limits {
		narrow[i], mask[i] = float32(l), -1
	}
	for row := 1; row < v.rows && len(list) <= most; row++ {
		if row += beyond8(&v.f32[(row-1)*v.width+c], v.rows-row, 4*v.width, &narrow, &mask); row < v.rows {
			list = appendJumps(list, v.f32, v.width, row, c, narrow[:len(limits)])
		}
	}
	return list
}

func jumps4(list []int, v *values, c int, limits []float64, most int) []int {
	var wide [4]float64
	var mask [4]int64
	for i, l := range limits {
		wide[i], mask[i] = l, -1
	}
	for row := 1; row < v.rows && len(list) <= most; row++ {
		if row += beyond4(&v.f64[(row-1)*v.width+c], v.rows-row, 8*v.width, &wide, &mask); row < v.rows {
			list = appendJumps(list, v.f64, v.width, row, c, limits)
		}
	}
	return list
}
