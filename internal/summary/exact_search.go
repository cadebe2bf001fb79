package summary

import (
	"errors"
	"math"
	"slices"
)

// prefixes counts 16-bit numbers, such as the first bits of values. It has pages of 256 counts, allocated when needed.
type prefixes [256]*[256]uint64

// add adds another's counts.
func (p *prefixes) add(o *prefixes) {
	for i, page := range o {
		if page == nil {
			continue
		}
		own := p.page(uint32(i))
		for j, n := range page {
			own[j] += n
		}
	}
}

// all yields the counts that are not 0.
func (p *prefixes) all(yield func(uint16, uint64) bool) {
	for i, page := range p {
		for j := 0; page != nil && j < len(page); j++ {
			if page[j] > 0 && !yield(uint16(i<<8|j), page[j]) {
				return
			}
		}
	}
}

func (p *prefixes) at(first uint16) uint64 {
	if page := p[first>>8]; page != nil {
		return page[first&255]
	}
	return 0
}

// page returns the page for the first 8 bits.
func (p *prefixes) page(first uint32) *[256]uint64 {
	page := p[first&255]
	if page == nil {
		page = new([256]uint64)
		p[first&255] = page
	}
	return page
}

// count returns how many values are finite, and how many are not.
func (p *prefixes) count(wide bool) (finite, others int64) {
	for i, page := range p {
		if page == nil {
			continue
		}
		for j, n := range page {
			if isFinite(uint16(i<<8|j), wide) {
				finite += int64(n)
			} else {
				others += int64(n)
			}
		}
	}
	return finite, others
}

// isFinite reports whether values with these first bits are finite.
func isFinite(first uint16, wide bool) bool {
	if wide {
		return first&0x7ff0 != 0x7ff0
	}
	return first&0x7f80 != 0x7f80
}

// rank returns the first bits of the finite value at a rank, and its rank among the values with the same first bits.
func (p *prefixes) rank(rank int64, wide bool) (first uint16, left int64) {
	for i := range 1 << 8 {
		at := i ^ 0x80 // the positive numbers, ascending
		if i < 0x80 {
			at = 0xff - i // the negative ones, from the largest magnitude
		}
		page := p[at]
		if page == nil {
			continue
		}
		for j := range page {
			if i < 0x80 {
				j = 0xff - j
			}
			if n := int64(page[j]); n > 0 && isFinite(uint16(at<<8|j), wide) {
				if rank < n {
					return uint16(at<<8 | j), rank
				}
				rank -= n
			}
		}
	}
	panic("summary: a rank beyond the values")
}

// search finds the values at ranks: the two ranks around each quantile.
type search struct {
	ranks   []ranked
	buckets []bucket
	// slots maps a value's first 16 bits to the first bucket with these bits, plus 1. It has pages of 256; an empty page is noSlots.
	slots *[256]*[256]uint8
}

var noSlots [256]uint8

// ranked is the value at a rank, or the bits known so far.
type ranked struct {
	known  bool
	value  float64
	bucket int   // index of the value's bucket
	left   int64 // its rank in the bucket
}

// bucket collects the values that begin with prefix.
type bucket struct {
	prefix uint64
	bits   int      // length of prefix
	want   uint64   // expected values
	got    uint64   // values seen, except those in tails
	counts prefixes // values by the next 16 bits, if there are many
	list   []uint64 // otherwise the values' bits
	tails  []uint16 // for float32: the bits after the prefix instead of list
}

// listed is the largest bucket that lists its values.
const listed = 1 << 16

// MostQuantiles limits the number of quantiles in one Exact.
const MostQuantiles = 100

// ErrChanged means that a later pass had other rows than the first.
var ErrChanged = errors.New("the rows of a later pass are not those of the first")

func (s *search) find32(rows []float32, c, width int) {
	if s.slots == nil {
		return
	}
	slots, buckets := s.slots, s.buckets
	for i := c; i < len(rows); i += width {
		b := math.Float32bits(rows[i])
		slot := slots[b>>24][b>>16&255]
		if slot == 0 {
			continue
		}
		g := &buckets[slot-1]
		if n := len(g.tails); n < cap(g.tails) {
			g.tails = g.tails[:n+1]
			g.tails[n] = uint16(b)
		} else {
			g.add32(uint16(b))
		}
	}
}

func (s *search) find64(rows []float64, c, width int) {
	if s.slots == nil {
		return
	}
	for i := c; i < len(rows); i += width {
		b := math.Float64bits(rows[i])
		slot := int(s.slots[b>>56][b>>48&255])
		if slot == 0 {
			continue
		}
		for g := slot - 1; g < len(s.buckets); g++ {
			if one := &s.buckets[g]; b>>(64-one.bits) == one.prefix {
				one.add(b, 48-one.bits)
				break
			} else if one.first() != uint16(b>>48) {
				break
			}
		}
	}
}

// first returns the values' first 16 bits.
func (g *bucket) first() uint16 { return uint16(g.prefix >> (g.bits - 16)) }

// all returns how many values were seen.
func (g *bucket) all() uint64 { return g.got + uint64(len(g.tails)) }

// add32 adds a float32 by the bits after the prefix, if tails has no free capacity.
func (g *bucket) add32(next uint16) {
	switch {
	case g.want > listed:
		g.got++
		g.count(next)
	case g.all() < g.want: // for a state read from a file
		g.tails = append(g.tails, next)
	default:
		g.got++
	}
}

// add adds a float64 by its bits. The bits after the prefix begin at shift.
func (g *bucket) add(b uint64, shift int) {
	g.got++
	switch {
	case g.want > listed:
		g.count(uint16(b >> shift))
	case uint64(len(g.list)) < g.want:
		g.list = append(g.list, b)
	}
}

// count counts a value by the bits after the prefix.
func (g *bucket) count(next uint16) {
	page := g.counts[next>>8]
	if page == nil {
		page = g.counts.page(uint32(next >> 8))
	}
	page[next&255]++
}

// begin finds the ranks of the quantiles in the counts by the first 16 bits.
func (s *search) begin(e *exact, quantiles []float64, wide bool) {
	n, _ := e.first.count(wide)
	if n == 0 {
		return
	}
	for _, q := range quantiles {
		below := int64(q * float64(n-1))
		for _, rank := range []int64{below, min(below+1, n-1)} {
			r := ranked{bucket: -1}
			switch {
			case rank == 0 || e.lo == e.hi:
				r.known, r.value = true, e.lo
			case rank == n-1:
				r.known, r.value = true, e.hi
			default:
				var first uint16
				first, r.left = e.first.rank(rank, wide)
				r.bucket = s.bucketOf(uint64(first), 16, e.first.at(first), wide)
			}
			s.ranks = append(s.ranks, r)
		}
	}
	s.order()
}

// bucketOf returns the bucket for a prefix, and creates it if needed.
func (s *search) bucketOf(prefix uint64, bits int, want uint64, wide bool) int {
	if i := slices.IndexFunc(s.buckets, func(g bucket) bool { return g.prefix == prefix && g.bits == bits }); i >= 0 {
		return i
	}
	g := bucket{prefix: prefix, bits: bits, want: want}
	switch {
	case want > listed:
	case wide:
		g.list = make([]uint64, 0, want)
	default:
		g.tails = make([]uint16, 0, want)
	}
	s.buckets = append(s.buckets, g)
	return len(s.buckets) - 1
}

// order sorts buckets so that equal first bits are adjacent, and fills the slots.
func (s *search) order() {
	if s.slots = nil; len(s.buckets) == 0 {
		return
	}
	by := make([]int, len(s.buckets)) // the old index of each bucket
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int { return int(s.buckets[a].first()) - int(s.buckets[b].first()) })
	buckets, to := make([]bucket, len(by)), make([]int, len(by))
	s.slots = new([256]*[256]uint8)
	for i := range s.slots {
		s.slots[i] = &noSlots
	}
	for i, from := range by {
		buckets[i], to[from] = s.buckets[from], i
		first := buckets[i].first()
		page := s.slots[first>>8]
		if page == &noSlots {
			page = new([256]uint8)
			s.slots[first>>8] = page
		}
		if page[first&255] == 0 {
			page[first&255] = uint8(i + 1)
		}
	}
	for i := range s.ranks {
		if r := &s.ranks[i]; !r.known {
			r.bucket = to[r.bucket]
		}
	}
	s.buckets = buckets
}

// next processes the counts from a pass.
func (s *search) next(wide bool) error {
	old := s.buckets
	s.buckets = nil
	for i := range old {
		if old[i].all() != old[i].want {
			return ErrChanged
		}
	}
	size := 32
	if wide {
		size = 64
	}
	var lists []uint64
	var tails []uint16
	for i := range s.ranks {
		r := &s.ranks[i]
		if r.known {
			continue
		}
		g := &old[r.bucket]
		negative := g.first()>>15 == 1 // for negative numbers, greater bits are a smaller number
		if g.want <= listed {
			at := r.left
			if negative {
				at = int64(g.want) - 1 - at
			}
			b := uint64(0)
			if wide {
				b = rank(&lists, g.list, at, size-g.bits)
			} else {
				b = g.prefix<<16 | uint64(rank(&tails, g.tails, at, 16))
			}
			r.known, r.value = true, valueOfBits(b, wide)
			continue
		}
		digit := 0
		for k := range 1 << 16 {
			if digit = k; negative {
				digit = 1<<16 - 1 - k
			}
			if n := int64(g.counts.at(uint16(digit))); r.left >= n {
				r.left -= n
				continue
			}
			break
		}
		prefix := g.prefix<<16 | uint64(digit)
		if g.bits+16 == size {
			r.known, r.value = true, valueOfBits(prefix, wide)
			continue
		}
		r.bucket = s.bucketOf(prefix, g.bits+16, g.counts.at(uint16(digit)), wide)
	}
	s.order()
	return nil
}

// rank returns the list's element at index `before` in sorted order. The elements differ only in the lower bits; bits is a multiple of
// 8. scratch is memory for reuse.
func rank[T uint16 | uint64](scratch *[]T, list []T, before int64, bits int) T {
	for shift := bits - 8; shift >= 0 && len(list) > 1; shift -= 8 {
		var counts [256]int64
		for _, v := range list {
			counts[v>>shift&255]++
		}
		digit := 0
		for ; before >= counts[digit]; digit++ {
			before -= counts[digit]
		}
		if counts[digit] == int64(len(list)) {
			continue
		}
		// From the second round on, list is in scratch and is overwritten only where it was already read.
		rest := slices.Grow((*scratch)[:0], int(counts[digit]))
		for _, v := range list {
			if v>>shift&255 == T(digit) {
				rest = append(rest, v)
			}
		}
		list, *scratch = rest, rest
	}
	return list[0]
}

func valueOfBits(b uint64, wide bool) float64 {
	if wide {
		return math.Float64frombits(b)
	}
	return float64(math.Float32frombits(uint32(b)))
}

// quantiles returns the quantiles for n values, linear between ranks as in numpy. All ranks must be known.
func (s *search) quantiles(list []float64, n int64) []float64 {
	out := make([]float64, len(list))
	for i, q := range list {
		if n == 0 {
			out[i] = math.NaN()
			continue
		}
		at := q * float64(n-1)
		out[i] = between(s.ranks[2*i].value, s.ranks[2*i+1].value, at-math.Trunc(at)) + 0 // adding 0 turns -0 into 0
	}
	return out
}

// between interpolates from a to b at share t, for a <= b.
func between(a, b, t float64) float64 {
	d := b - a
	switch {
	case math.IsInf(d, 1): // both are finite but their difference overflows
		return float64(a*(1-t)) + float64(b*t)
	case t >= 0.5:
		return b - float64(d*(1-t))
	}
	return a + float64(d*t)
}
