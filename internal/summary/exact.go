package summary

import (
	"math"
	"sync"
)

// Exact computes exact statistics for columns. Rows may come in any order, in any pieces and from any number of goroutines. Sums are
// not rounded, so that mean and deviation are rounded only once, and the quantiles are those of the sorted values. NaN and infinite
// values are counted and left out.
//
// The first pass over all rows gives everything except the quantiles. Each further pass finds 16 more bits of the values at the ranks
// around each quantile, until [Exact.Next] reports that all are known: two passes for float32, two to four for float64, and two if no
// relevant bin holds more than 65536 values. Memory is bounded by the number of columns: about 30 kB each in the first pass, and later
// at most 512 kB for each relevant bin, with at most two bins per quantile.
type Exact struct {
	width     int
	wide      bool // values are float64, else float32
	quantiles []float64
	pass      int // 0 is the first; -1 if all is known
	columns   []exact
}

// exact is the state for a column.
type exact struct {
	mu     sync.Mutex
	lo, hi float64 // of the finite values
	sums   sums
	first  *prefixes // counts of all values by their first 16 bits
	search search
}

// NewExact returns empty statistics for width columns. Values are float64 if wide is true, else float32. quantiles are shares from 0 to
// 1.
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

// Wide reports whether values are float64.
func (x *Exact) Wide() bool { return x.wide }

// rowsAtOnce is how many rows of a column are processed together. For 26 columns they fit in the processor's inner caches.
const rowsAtOnce = 512

// Add32 adds rows [n,width] to an Exact that is not wide. Goroutines may call it concurrently.
func (x *Exact) Add32(rows []float32) { add(x, rows, (*exact).add32, (*search).find32) }

// Add64 adds rows [n,width] to a wide Exact. Goroutines may call it concurrently.
func (x *Exact) Add64(rows []float64) { add(x, rows, (*exact).add64, (*search).find64) }

func add[T float32 | float64](x *Exact, rows []T, first func(e *exact, rows []T, c, width int), later func(s *search, rows []T, c, width int)) {
	for start := 0; len(rows) > 0; start++ {
		block := rows[:min(len(rows), rowsAtOnce*x.width)]
		rows = rows[len(block):]
		for i := range x.width {
			c := (i + start*7) % x.width // goroutines start at different columns
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
	// Consecutive values often have the same first bits. The sums for such a run stay in registers.
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
		m := uint64(b&(1<<23-1) | (b>>23&255+255)>>8<<23) // numbers with exponent 0 have no implicit one
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

// finiteExtremes returns the extremes of a column's finite values, or +Inf and -Inf if there are none.
func finiteExtremes[T Float](rows []T, c, width int) (lo, hi T) {
	lo, hi = T(math.Inf(1)), T(math.Inf(-1))
	for i := c; i < len(rows); i += width {
		if v := rows[i]; v-v == 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// Next ends a pass. It reports whether the quantiles need another pass over the same rows. It returns [ErrChanged] if this pass had
// other rows than the first. No goroutine may add rows meanwhile.
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
