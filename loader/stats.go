package loader

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

// ColumnStats are the statistics of a column over the samples of the episodes that a loader draws from, as they were recorded. NaN and infinite
// samples are left out of them. They are computed exactly and rounded once, so they depend on no order of the samples.
type ColumnStats struct {
	Count     int
	Mean, Std float64 // of the population: divided by Count
	Min, Max  float64
	// Q01 to Q99 are quantiles, linear between the nearest ranks as numpy's quantile; 0 where the stream's rule needs none.
	Q01, Q10, Q90, Q99 float64
}

// visitor takes values [N,D] of a part. It may be called from several goroutines.
type visitor func(part int, values *tensor.Tensor) error

// Statistics are what a stream is normalised with that others have computed. Those of the loader that a policy was trained with, [Loader.Normalisation],
// are used as they are: Shift and Scale, and ClipMin and ClipMax if these are given. Without Shift the rule of the plan makes them of Stats.
type Statistics struct {
	Rule                           string   // that they were computed for; the plan's must be the same, if it has one
	Columns                        []string // names, which must be the stream's; not looked at where there are none
	Shift, Scale, ClipMin, ClipMax []float32
	Stats                          []ColumnStats // NaN where something is not known
}

// check returns an *OptionError unless statistics are those of a part.
func (s *Statistics) check(p *part) error {
	arg := "Statistics[" + p.name + "]"
	var names []string
	for _, c := range p.columns {
		names = append(names, c.Name)
	}
	own := p.how.Normalise
	switch {
	case s.Rule != "" && own != "" && own != "none" && s.Rule != own:
		return &OptionError{arg, "those of the rule " + strconv.Quote(s.Rule), fmt.Sprintf("of %q, as the plan has it", own)}
	case s.Columns != nil && !slices.Equal(s.Columns, names):
		return &OptionError{arg, fmt.Sprintf("those of the columns %q", s.Columns), fmt.Sprintf("of %q", names)}
	}
	for _, list := range []struct {
		name string
		n    int
		must bool
	}{{"shift", len(s.Shift), s.Shift != nil}, {"scale", len(s.Scale), s.Shift != nil}, {"clip_min", len(s.ClipMin), s.ClipMin != nil}, {"clip_max", len(s.ClipMax), s.ClipMin != nil},
		{"statistics", len(s.Stats), s.Stats != nil || s.Shift == nil}} {
		if list.must && list.n != len(names) {
			return &OptionError{arg, fmt.Sprintf("%s of %d columns", list.name, list.n), fmt.Sprintf("of the %d of the stream", len(names))}
		}
	}
	for i := range s.Shift {
		if shift, scale := s.Shift[i], s.Scale[i]; shift-shift != 0 || scale-scale != 0 || scale == 0 {
			return &OptionError{arg, fmt.Sprintf("shift %g, scale %g of column %s", shift, scale, names[i]), "finite numbers, and a scale that is not 0"}
		}
	}
	for i := range s.ClipMin {
		if lo, hi := s.ClipMin[i], s.ClipMax[i]; !(lo <= hi) {
			return &OptionError{arg, fmt.Sprintf("clip_min %g, clip_max %g of column %s", lo, hi, names[i]), "the lower one first"}
		}
	}
	return nil
}

// affine is what normalises a part by statistics that were given.
func (s *Statistics) affine(p *part) (*affine, error) {
	if s.Shift != nil {
		return &affine{cmp.Or(s.Rule, p.how.Normalise), s.Shift, s.Scale, s.ClipMin, s.ClipMax}, nil
	}
	a := normalise(p.how.Normalise, s.Stats)
	if a == nil {
		return nil, nil
	}
	for i := range a.shift {
		if v := a.shift[i] + a.scale[i]; v-v != 0 {
			return nil, &OptionError{"Statistics[" + p.name + "]", "no finite numbers of what the rule " + strconv.Quote(p.how.Normalise) + " needs, of column " + p.columns[i].Name,
				"mean and std, min and max, or the quantiles q01 to q99, by the rule; or shift and scale"}
		}
	}
	return a, nil
}

// statistics gives the parts that are normalised their statistics, and what normalises them. Each pass visits all samples of all parts; there are as
// many as the rules need: none, one, or with quantiles one for each digit of a number.
func statistics(parts []part, given map[string]Statistics, pass func(visitor) error) error {
	for name, s := range given {
		m := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if m < 0 {
			return &OptionError{"Statistics[" + name + "]", "those of a stream that is not taken", "of streams of the batches"}
		}
		if err := s.check(&parts[m]); err != nil {
			return err
		}
	}
	columns := make([][]*tally, len(parts))
	digits := 0
	for m := range parts {
		p := &parts[m]
		rule, there := normalisations[p.how.Normalise]
		if _, known := given[p.name]; known || !there {
			continue
		}
		n := 1
		if rule.quantiles {
			n = (keyBits(p.packed) + digitBits - 1) / digitBits
		}
		digits = max(digits, n)
		for range p.width {
			t := &tally{sum: newExact(), squares: newExact(), min: math.Inf(1), max: math.Inf(-1)}
			if rule.quantiles {
				t.wide, t.shift, t.seen = keyBits(p.packed) == 64, (n-1)*digitBits, []prefixed{{}}
			}
			columns[m] = append(columns[m], t)
		}
	}
	for k := range digits {
		err := pass(func(m int, values *tensor.Tensor) error {
			first := k == 0
			if !slices.ContainsFunc(columns[m], func(t *tally) bool { return first || t.seen != nil }) {
				return nil
			}
			list, err := tensor.Floats(values)
			width := len(columns[m])
			for i := range width {
				d := (i + values.Dim(0)) % width // not every worker begins with the same
				columns[m][d].add(list, d, width, first)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, list := range columns {
			for _, t := range list {
				t.passed()
			}
		}
	}
	for m := range parts {
		p := &parts[m]
		for _, t := range columns[m] {
			p.stats = append(p.stats, t.stats())
		}
		s, known := given[p.name]
		if !known {
			p.affine = normalise(p.how.Normalise, p.stats)
			continue
		}
		var err error
		if p.affine, err = s.affine(p); err != nil {
			return err
		}
		p.stats = slices.Clone(s.Stats)
	}
	return nil
}

// quantiles are those of ColumnStats.
var quantiles = [...]float64{.01, .1, .9, .99}

// digitBits is how many bits of the samples' keys a pass looks at.
const digitBits = 11

// keyBits is how many bits the keys of numbers of a dtype have.
func keyBits(d tensor.DType) int {
	if d == tensor.F64 {
		return 64
	}
	return 32
}

// tally gathers the statistics of a column.
type tally struct {
	mu           sync.Mutex
	n            int
	sum, squares exact
	min, max     float64

	// The samples' keys are ordered as they are. Each pass finds another digit of the keys at the ranks that the quantiles lie between.
	wide  bool // keys of 64 bits
	shift int  // of the digit
	ranks []rank
	seen  []prefixed // nil where no quantiles are needed, or all are found
}

// rank is the key of a rank, as far as it is known.
type rank struct {
	prefix uint64
	left   int // its rank among the keys that begin so
}

// prefixed counts the keys that begin with a prefix by their next digit.
type prefixed struct {
	prefix uint64
	counts [1 << digitBits]int
}

// add adds column d of samples. The first time they are counted.
func (t *tally) add(list []float64, d, width int, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := d; i < len(list); i += width {
		v := list[i]
		if v-v != 0 {
			continue
		}
		if first {
			t.n++
			t.min, t.max = min(t.min, v), max(t.max, v)
			t.sum.add(v)
			t.squares.addSquare(v)
		}
		if t.seen == nil {
			continue
		}
		key := keyOf(v, t.wide)
		for s := range t.seen {
			if key>>(t.shift+digitBits) == t.seen[s].prefix {
				t.seen[s].counts[key>>t.shift&(1<<digitBits-1)]++
				break
			}
		}
	}
}

// passed takes up the digits that a pass has found.
func (t *tally) passed() {
	if t.seen == nil || t.n == 0 {
		t.seen = nil
		return
	}
	if t.ranks == nil {
		for _, q := range quantiles {
			lo := int(q * float64(t.n-1))
			t.ranks = append(t.ranks, rank{left: lo}, rank{left: min(lo+1, t.n-1)})
		}
	}
	var next []prefixed
	for i := range t.ranks {
		r := &t.ranks[i]
		s := &t.seen[slices.IndexFunc(t.seen, func(s prefixed) bool { return s.prefix == r.prefix })]
		digit := 0
		for ; r.left >= s.counts[digit]; digit++ {
			r.left -= s.counts[digit]
		}
		r.prefix = r.prefix<<digitBits | uint64(digit)
		if !slices.ContainsFunc(next, func(s prefixed) bool { return s.prefix == r.prefix }) {
			next = append(next, prefixed{prefix: r.prefix})
		}
	}
	if t.seen, t.shift = next, t.shift-digitBits; t.shift < 0 {
		t.seen = nil
	}
}

func (t *tally) stats() ColumnStats {
	if t.n == 0 {
		return ColumnStats{}
	}
	s := ColumnStats{Count: t.n, Min: t.min, Max: t.max}
	s.Mean, s.Std = moments(t.n, &t.sum, &t.squares)
	for i, to := range []*float64{&s.Q01, &s.Q10, &s.Q90, &s.Q99} {
		if t.ranks != nil {
			at := quantiles[i] * float64(t.n-1)
			lo, hi := valueOf(t.ranks[2*i].prefix, t.wide), valueOf(t.ranks[2*i+1].prefix, t.wide)
			*to = lo + float64((hi-lo)*(at-math.Trunc(at))) // rounded twice everywhere
		}
	}
	return s
}

// keyOf returns a whole number that is ordered as numbers are; valueOf is its inverse. Numbers of 32-bit keys are float32, or fewer bits.
func keyOf(v float64, wide bool) uint64 {
	if wide {
		b := math.Float64bits(v)
		return b ^ (uint64(int64(b)>>63) | 1<<63)
	}
	b := math.Float32bits(float32(v))
	return uint64(b ^ (uint32(int32(b)>>31) | 1<<31))
}

func valueOf(key uint64, wide bool) float64 {
	if wide {
		return math.Float64frombits(key ^ (uint64(^int64(key)>>63) | 1<<63))
	}
	k := uint32(key)
	return float64(math.Float32frombits(k ^ (uint32(^int32(k)>>31) | 1<<31)))
}

// exact is a sum of numbers, or of their squares, that is not rounded: limbs of 32 bits, each kept in 64, the lowest first. It counts in units of the
// smallest float64, or of its square.
type exact struct {
	limbs []int64
	added int // since the carries were passed on
}

// newExact returns a sum of nothing, of up to 2^62 squares.
func newExact() exact { return exact{limbs: make([]int64, 2*(2046+53)/32+4)} }

// mantissaOf returns a number's mantissa and its exponent in units of the smallest float64.
func mantissaOf(v float64) (mantissa uint64, exponent int) {
	b := math.Float64bits(v)
	mantissa, exponent = b&(1<<52-1), int(b>>52&0x7ff)
	if exponent == 0 { // it has no leading one
		return mantissa, 0
	}
	return mantissa | 1<<52, exponent - 1
}

func (x *exact) add(v float64) {
	mantissa, exponent := mantissaOf(v)
	x.put(0, mantissa, exponent, int64(1)|int64(math.Float64bits(v))>>63)
}

func (x *exact) addSquare(v float64) {
	mantissa, exponent := mantissaOf(v)
	hi, lo := bits.Mul64(mantissa, mantissa)
	x.put(hi, lo, 2*exponent, 1)
}

// put adds a number of 128 bits times a power of two and a sign.
func (x *exact) put(hi, lo uint64, exponent int, sign int64) {
	if x.added++; x.added == 1<<30 { // each addition adds less than 2^32 to a limb
		x.carry()
	}
	to, shift := x.limbs[exponent>>5:], exponent&31
	to[0] += sign * int64(lo<<shift&math.MaxUint32)
	to[1] += sign * int64(lo>>(32-shift)&math.MaxUint32)
	middle := hi<<shift | lo>>(64-shift)
	to[2] += sign * int64(middle&math.MaxUint32)
	if hi != 0 {
		to[3] += sign * int64(middle>>32)
		to[4] += sign * int64(hi>>(64-shift))
	}
}

// carry passes carries on to the next limb.
func (x *exact) carry() {
	for i := range len(x.limbs) - 1 {
		x.limbs[i+1] += x.limbs[i] >> 32
		x.limbs[i] &= math.MaxUint32
	}
	x.added = 0
}

func (x *exact) total() *big.Int {
	sum := new(big.Int)
	for _, l := range slices.Backward(x.limbs) {
		sum.Lsh(sum, 32)
		sum.Add(sum, big.NewInt(l))
	}
	return sum
}

// moments returns mean and standard deviation of n numbers, from their sum and that of their squares.
func moments(n int, sum, squares *exact) (mean, std float64) {
	const unit = -1074 // the smallest float64 is 2^-1074
	count, s := big.NewInt(int64(n)), sum.total()
	scaled := func(f *big.Float) float64 {
		v, _ := f.SetMantExp(f, unit).Float64()
		return v
	}
	divisor := new(big.Float).SetInt(count)
	mean = scaled(new(big.Float).SetPrec(53).Quo(new(big.Float).SetInt(s), divisor))
	spread := new(big.Int).Mul(count, squares.total())
	spread.Sub(spread, new(big.Int).Mul(s, s)) // n^2 times the variance
	if spread.Sign() == 0 {
		return mean, 0
	}
	root := new(big.Float).SetPrec(128).Sqrt(new(big.Float).SetPrec(128).SetInt(spread))
	return mean, scaled(root.Quo(root, divisor))
}

// packedPass returns a pass over the packed values.
func (c *chosen) packedPass(ctx context.Context, from stores) func(visitor) error {
	const rows = 1 << 14 // of a piece
	parts := c.parts
	var pieces [][2]int
	for m := range parts {
		for at := 0; at < parts[m].values.Dim(0); at += rows {
			pieces = append(pieces, [2]int{m, at})
		}
	}
	return func(visit visitor) error {
		for _, err := range inorder.Each(ctx, len(pieces), c.opt.Workers, manyAhead, func(error) int { return manyAhead }, func(_ context.Context, i int) error {
			m, at := pieces[i][0], pieces[i][1]
			v := parts[m].values
			piece, err := v.Slice(0, at, min(at+rows, v.Dim(0)))
			if err != nil {
				return err
			}
			return from.Guard(func() error { return visit(m, piece) })
		}) {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	}
}

// pass passes over the samples of the episodes that were chosen, which it reads again.
func (c *chosen) pass(ctx context.Context, visit visitor) error {
	read := func(ctx context.Context, e int) error {
		return c.from.guard(c.numbers[e], func() error {
			recorded, _, err := c.from.read(ctx, c.numbers[e])
			if err != nil {
				return err
			}
			rows, err := c.again(e, recorded)
			if err != nil {
				return &dataset.EpisodeError{Episode: c.numbers[e], Err: err}
			}
			for m := range rows {
				if rows[m].values == nil {
					continue
				}
				if err := visit(m, rows[m].values); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, err := range inorder.Each(ctx, len(c.numbers), c.opt.Workers, manyAhead, func(error) int { return manyAhead }, read) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
