package summary

import (
	"math"
	"sync"
)

// Exact is the exact statistics of columns of rows that come in any order, in any pieces and from any number of goroutines: the sums are not rounded, so
// that mean and deviation are those of the numbers, rounded once, and the quantiles are those of the sorted values. NaN and infinite values are counted
// and left out.
//
// The first pass over all rows gives all but the quantiles. Each further pass finds 16 more bits of the values at the ranks that the quantiles lie
// between, until [Exact.Next] says that all are known: two passes of float32, two to four of float64, two where no bin that matters holds more than
// 65536 values. Memory is bounded by the number of columns: about 30 kB each in the first pass, and in those that follow at most 512 kB for each bin
// that matters, of which there are two a quantile at the most.
type Exact struct {
	width     int
	wide      bool // the values' bits are those of float64, else of float32
	quantiles []float64
	pass      int // 0 is the first; -1 when all is known
	columns   []exact
}

// exact is the state of a column.
type exact struct {
	mu     sync.Mutex
	lo, hi float64 // of the finite values
	sums   sums
	first  *prefixes // all values, by the first 16 bits
	search search
}

// NewExact returns the statistics of no rows of width columns, of float64 if wide, else of float32, with quantiles of the given shares from 0 to 1.
func NewExact(width int, wide bool, quantiles []float64) *Exact {
	x := &Exact{width: width, wide: wide, quantiles: quantiles, columns: make([]exact, width)}
	for c := range x.columns {
		e := &x.columns[c]
		e.lo, e.hi, e.first = math.Inf(1), math.Inf(-1), new(prefixes)
		e.sums.init(wide)
	}
	return x
}

// Width returns the number of columns.
func (x *Exact) Width() int { return x.width }

// Wide reports whether values are of float64.
func (x *Exact) Wide() bool { return x.wide }

// rowsAtOnce is how many rows a column is taken of at a time: of 26 columns they fit the processor's nearer caches.
const rowsAtOnce = 512

// Add32 takes rows [n,width] of a narrow Exact. All goroutines may call it at a time.
func (x *Exact) Add32(rows []float32) { add(x, rows, (*exact).add32, (*search).find32) }

// Add64 takes rows [n,width] of a wide Exact. All goroutines may call it at a time.
func (x *Exact) Add64(rows []float64) { add(x, rows, (*exact).add64, (*search).find64) }

func add[T float32 | float64](x *Exact, rows []T, first func(e *exact, rows []T, c, width int), later func(s *search, rows []T, c, width int)) {
	for start := 0; len(rows) > 0; start++ {
		block := rows[:min(len(rows), rowsAtOnce*x.width)]
		rows = rows[len(block):]
		for i := range x.width {
			c := (i + start*7) % x.width // not all goroutines begin with the same column
			e := &x.columns[c]
			e.mu.Lock()
			if x.pass == 0 {
				first(e, block, c, x.width)
			} else {
				later(&e.search, block, c, x.width)
			}
			e.mu.Unlock()
		}
	}
}

func (e *exact) add32(rows []float32, c, width int) {
	e.sums.room(len(rows)/width + 1)
	bins, pages := e.sums.narrow, e.first
	lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
	// What follows in a column often has the same first bits: what such runs add up to stays in registers.
	run, sum, squares, n := math.Float32bits(rows[c])>>16, uint64(0), uint64(0), uint64(0)
	for i := c; i < len(rows); i += width {
		v := rows[i]
		b := math.Float32bits(v)
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		if b>>16 != run {
			s := &bins[run>>7]
			s[0], s[1] = s[0]+sum, s[1]+squares
			pages.page(run >> 8)[run&255] += n
			run, sum, squares, n = b>>16, 0, 0, 0
		}
		n++
		m := uint64(b&(1<<23-1) | (b>>23&255+255)>>8<<23) // numbers of exponent 0 have no leading one
		sum += m
		squares += m * m
	}
	bins[run>>7][0] += sum
	bins[run>>7][1] += squares
	pages.page(run >> 8)[run&255] += n
	if math.IsInf(float64(lo), -1) || math.IsInf(float64(hi), 1) {
		lo, hi = finiteExtremes(rows, c, width)
	}
	e.lo, e.hi = min(e.lo, float64(lo)), max(e.hi, float64(hi))
}

func (e *exact) add64(rows []float64, c, width int) {
	pages := e.first
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := c; i < len(rows); i += width {
		v := rows[i]
		b := math.Float64bits(v)
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		e.sums.add64(b)
		page := pages[b>>56]
		if page == nil {
			page = pages.page(uint32(b >> 56))
		}
		page[b>>48&255]++
	}
	if math.IsInf(lo, -1) || math.IsInf(hi, 1) {
		lo, hi = finiteExtremes(rows, c, width)
	}
	e.lo, e.hi = min(e.lo, lo), max(e.hi, hi)
}

// finiteExtremes returns the extremes of the finite values of a column, infinities the wrong way round if there are none.
func finiteExtremes[T Float](rows []T, c, width int) (lo, hi T) {
	lo, hi = T(math.Inf(1)), T(math.Inf(-1))
	for i := c; i < len(rows); i += width {
		if v := rows[i]; v-v == 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// Next ends a pass. It reports whether another pass over the same rows is needed for the quantiles, and returns [ErrChanged] if the rows of this pass
// were not those of the first. No rows are added meanwhile.
func (x *Exact) Next() (more bool, err error) {
	if x.pass < 0 {
		return false, nil
	}
	for c := range x.columns {
		e := &x.columns[c]
		if x.pass == 0 {
			e.search.begin(e, x.quantiles, x.wide)
		} else if err := e.search.next(x.wide); err != nil {
			return false, err
		}
		more = more || len(e.search.buckets) > 0
	}
	if x.pass++; !more {
		x.pass = -1
	}
	return more, nil
}
