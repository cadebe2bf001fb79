package summary

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
)

// ErrState means that bytes are not a valid state of an Exact.
var ErrState = errors.New("not a state of exact statistics")

// ErrUnlike means that two states differ in columns, quantiles or pass.
var ErrUnlike = errors.New("states of other columns, quantiles or passes")

// Merge adds the rows of another state in the same pass. In the first pass the other state has its own rows; later both must come from
// the same merged state. It returns [ErrUnlike], or [ErrChanged] if both together have more values than the first pass; x must not be
// used after ErrChanged.
func (x *Exact) Merge(o *Exact) error {
	if x.width != o.width || x.wide != o.wide || x.pass != o.pass || !slices.Equal(x.quantiles, o.quantiles) {
		return ErrUnlike
	}
	for c := range x.columns {
		if err := x.columns[c].merge(&o.columns[c], x.pass == 0); err != nil {
			return err
		}
	}
	return nil
}

func (e *exact) merge(o *exact, first bool) error {
	e.sums.flush()
	o.sums.flush()
	if first {
		e.lo, e.hi = min(e.lo, o.lo), max(e.hi, o.hi)
		e.sums.total.Add(&e.sums.total, &o.sums.total)
		e.sums.squares.Add(&e.sums.squares, &o.sums.squares)
		e.first.add(o.first)
		return nil
	}
	same := func(a, b bucket) bool { return a.prefix == b.prefix && a.bits == b.bits && a.want == b.want }
	if e.lo != o.lo || e.hi != o.hi || e.sums.total.Cmp(&o.sums.total) != 0 || !slices.EqualFunc(e.search.buckets, o.search.buckets, same) {
		return ErrUnlike
	}
	for i := range e.search.buckets {
		b, other := &e.search.buckets[i], &o.search.buckets[i]
		b.list, b.tails = append(b.list, other.list...), append(b.tails, other.tails...)
		if b.got += other.got; b.all() > b.want {
			return ErrChanged
		}
		b.counts.add(&other.counts)
	}
	return nil
}

// AppendBinary appends the state, so that [ReadExact] can continue from it. No goroutine may add rows meanwhile.
func (x *Exact) AppendBinary(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(x.width))
	to = append(to, boolByte(x.wide))
	to = binary.AppendUvarint(to, uint64(len(x.quantiles)))
	for _, q := range x.quantiles {
		to = appendFloat(to, q)
	}
	to = binary.AppendUvarint(to, uint64(x.pass+1))
	for c := range x.columns {
		to = x.columns[c].append(to)
	}
	return to
}

func (e *exact) append(to []byte) []byte {
	e.sums.flush()
	to = appendFloat(appendFloat(to, e.lo), e.hi)
	to = append(to, boolByte(e.sums.total.Sign() < 0))
	for _, b := range [][]byte{e.sums.total.Bytes(), e.sums.squares.Bytes()} {
		to = append(binary.AppendUvarint(to, uint64(len(b))), b...)
	}
	to = appendCounts(to, e.first)
	to = binary.AppendUvarint(to, uint64(len(e.search.buckets)))
	for i := range e.search.buckets {
		b := &e.search.buckets[i]
		for _, v := range []uint64{uint64(b.bits), b.prefix, b.want, b.all()} {
			to = binary.AppendUvarint(to, v)
		}
		for _, v := range b.list {
			to = binary.LittleEndian.AppendUint64(to, v)
		}
		for _, v := range b.tails {
			to = binary.LittleEndian.AppendUint64(to, b.prefix<<16|uint64(v))
		}
		if b.want > listed {
			to = appendCounts(to, &b.counts)
		}
	}
	to = binary.AppendUvarint(to, uint64(len(e.search.ranks)))
	for _, r := range e.search.ranks {
		if to = append(to, boolByte(r.known)); r.known {
			to = appendFloat(to, r.value)
		} else {
			to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(r.bucket)), uint64(r.left))
		}
	}
	return to
}

// appendCounts appends the numbers, each as the distance from the previous one, with their counts. A 0 ends the list.
func appendCounts(to []byte, p *prefixes) []byte {
	next := 0
	for k, n := range p.all {
		to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(int(k)+1-next)), n)
		next = int(k) + 1
	}
	return binary.AppendUvarint(to, 0)
}

func appendFloat(to []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ReadExact reads a state and returns the remaining bytes. Invalid bytes return [ErrState].
func ReadExact(from []byte) (x *Exact, rest []byte, err error) {
	r := &reader{rest: from}
	width, wide := r.number(uint64(len(from))), r.byte() == 1
	quantiles := make([]float64, r.number(MostQuantiles))
	for i := range quantiles {
		quantiles[i] = r.float()
		r.want(quantiles[i] >= 0 && quantiles[i] <= 1)
	}
	passes := uint64(2)
	if wide {
		passes = 4
	}
	pass := int(r.number(passes)) - 1
	r.want(width <= uint64(len(r.rest))/columnBytes) // each column takes at least columnBytes
	if r.bad {
		return nil, nil, ErrState
	}
	x = NewExact(int(width), wide, quantiles)
	x.pass = pass
	for c := range x.columns {
		if r.column(&x.columns[c], x); r.bad {
			return nil, nil, ErrState
		}
	}
	return x, r.rest, nil
}

// columnBytes is the minimum bytes per column.
const columnBytes = 22

// mostValues limits the values in a column, so that counts cannot overflow when added.
const mostValues = 1 << 53

func (r *reader) column(e *exact, x *Exact) {
	e.lo, e.hi = r.float(), r.float()
	negative := r.byte() == 1
	e.sums.total.SetBytes(r.bytes(r.number(1 << 10)))
	if negative {
		e.sums.total.Neg(&e.sums.total)
	}
	e.sums.squares.SetBytes(r.bytes(r.number(1 << 10)))
	r.counts(e.first)
	finite, _ := e.first.count(x.wide)
	least := new(big.Int).Mul(&e.sums.total, &e.sums.total) // squares sum to at least this, as if all values were equal
	r.want(new(big.Int).Mul(&e.sums.squares, big.NewInt(finite)).Cmp(least) >= 0)
	r.want(finite == 0 || e.lo <= e.hi && e.lo-e.lo == 0 && e.hi-e.hi == 0)
	s := &e.search
	size := 32
	if x.wide {
		size = 64
	}
	for range r.number(2 * MostQuantiles) {
		bits, prefix, want, got := r.number(48), r.number(math.MaxUint64), r.number(mostValues), r.number(mostValues)
		r.want(bits >= 16 && bits%16 == 0 && int(bits) < size && prefix>>bits == 0 && want > 0 && got <= want)
		if r.bad {
			return
		}
		b := bucket{prefix: prefix, bits: int(bits), want: want, got: got}
		if want > listed {
			r.want(got == r.counts(&b.counts))
		} else {
			if r.want(got <= uint64(len(r.rest))/8); r.bad {
				return
			}
			for range got {
				v := r.word()
				if x.wide {
					b.list = append(b.list, v)
				} else {
					r.want(v>>16 == prefix)
					b.got--
					b.tails = append(b.tails, uint16(v))
				}
			}
		}
		s.buckets = append(s.buckets, b)
	}
	ranks := r.number(2 * MostQuantiles)
	r.want(ranks == 0 && (x.pass == 0 || finite == 0) || ranks == 2*uint64(len(x.quantiles)) && x.pass != 0)
	for range ranks {
		rank := ranked{known: r.byte() == 1, bucket: -1}
		if rank.known {
			rank.value = r.float()
		} else {
			at, left := r.number(2*MostQuantiles), r.number(mostValues)
			if r.want(x.pass > 0 && at < uint64(len(s.buckets)) && left < s.buckets[at].want); r.bad {
				return
			}
			rank.bucket, rank.left = int(at), int64(left)
		}
		s.ranks = append(s.ranks, rank)
	}
	if !r.bad {
		s.order()
	}
}

// reader decodes a state. bad is set after the first invalid field.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) want(ok bool) { r.bad = r.bad || !ok }

func (r *reader) bytes(n uint64) []byte {
	if r.want(n <= uint64(len(r.rest))); r.bad {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) word() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.word()) }

// number reads a number up to most.
func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.want(n > 0 && v <= most); r.bad {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// counts reads counts written by appendCounts, and returns their sum.
func (r *reader) counts(p *prefixes) (sum uint64) {
	for next := 0; ; {
		step := r.number(1 << 16)
		if step == 0 {
			return sum
		}
		n := r.number(mostValues)
		k := next + int(step) - 1
		if r.want(k < 1<<16 && n > 0 && sum+n <= mostValues); r.bad {
			return 0
		}
		p.page(uint32(k >> 8))[k&255] = n
		sum += n
		next = k + 1
	}
}
