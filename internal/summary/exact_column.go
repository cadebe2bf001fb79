package summary

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// ExactColumn holds the statistics for a column.
type ExactColumn struct {
	Count, NotFinite    int64
	Mean, Std, Min, Max float64 // of the finite values; NaN if there are none. Std is divided by Count
	Quantiles           []float64
}

// Columns returns the statistics for the rows that the first pass added. Quantiles are nil until all are known.
func (x *Exact) Columns() []ExactColumn {
	out := make([]ExactColumn, x.width)
	for c := range out {
		e := &x.columns[c]
		o := &out[c]
		o.Count, o.NotFinite = e.first.count(x.wide)
		if o.Count == 0 {
			o.Mean, o.Std, o.Min, o.Max = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		} else {
			o.Min, o.Max = e.lo+0, e.hi+0 // adding 0 turns -0 into 0
			o.Mean, o.Std = e.sums.moments(o.Count)
		}
		if x.pass < 0 {
			o.Quantiles = e.search.quantiles(x.quantiles, o.Count)
		}
	}
	return out
}

// sums holds exact sums of a column's values and squares.
type sums struct {
	narrow         *[512][2]uint64      // float32 bins by sign and exponent: sum of mantissas and of their squares, for pending values
	wide           *[256]*[16][5]uint64 // float64 bins in pages of 16 exponents: the same in two words and three words
	pending        int
	total, squares big.Int // without pending values: in units of the smallest number, and of its square
}

// most is how many pending values the float32 bins may hold, because a squared mantissa has 48 bits.
const most = 1 << 16

func (s *sums) init(wide bool) {
	if wide {
		s.wide = new([256]*[16][5]uint64)
	} else {
		s.narrow = new([512][2]uint64)
	}
}

// room makes room in the bins for n more values, n at most most.
func (s *sums) room(n int) {
	if s.pending+n > most && s.narrow != nil {
		s.flush()
	}
	s.pending += n
}

// add64 adds the float64 with the given bits.
func (s *sums) add64(b uint64) {
	page := s.wide[b>>56]
	if page == nil {
		page = new([16][5]uint64)
		s.wide[b>>56] = page
	}
	exponent := b >> 52 & 0x7ff
	m := b&(1<<52-1) | (exponent+0x7ff)>>11<<52
	bin := &page[b>>52&15]
	var carry uint64
	bin[0], carry = bits.Add64(bin[0], m, 0)
	bin[1] += carry
	hi, lo := bits.Mul64(m, m)
	bin[2], carry = bits.Add64(bin[2], lo, 0)
	bin[3], carry = bits.Add64(bin[3], hi, carry)
	bin[4] += carry
}

// flush moves the bins' sums to the totals.
func (s *sums) flush() {
	words := func(list ...uint64) *big.Int {
		v, word := new(big.Int), new(big.Int)
		for _, w := range slices.Backward(list) {
			v.Lsh(v, 64).Add(v, word.SetUint64(w))
		}
		return v
	}
	if s.narrow != nil {
		for i := range s.narrow {
			bin := &s.narrow[i]
			if exponent := i & 255; exponent != 255 && bin[1] != 0 {
				s.put(i>>8 == 1, exponent, words(bin[0]), words(bin[1]))
			}
			*bin = [2]uint64{}
		}
	} else {
		for p, page := range s.wide {
			if page == nil {
				continue
			}
			for i := range page {
				bin := &page[i]
				if exponent := p<<4&0x7ff | i; exponent != 0x7ff && *bin != [5]uint64{} {
					s.put(p>>7 == 1, exponent, words(bin[0], bin[1]), words(bin[2], bin[3], bin[4]))
				}
			}
			s.wide[p] = nil
		}
	}
	s.pending = 0
}

// put adds one bin's sums of mantissas and squares, for a sign and exponent. It changes its arguments.
func (s *sums) put(negative bool, exponent int, sum, squares *big.Int) {
	shift := uint(max(exponent, 1) - 1)
	if sum.Lsh(sum, shift); negative {
		sum.Neg(sum)
	}
	s.total.Add(&s.total, sum)
	s.squares.Add(&s.squares, squares.Lsh(squares, 2*shift))
}

// moments returns the mean and standard deviation for n >= 1 numbers.
func (s *sums) moments(n int64) (mean, std float64) {
	s.flush()
	unit := -149 // the smallest float32 is 2^-149
	if s.narrow == nil {
		unit = -1074
	}
	scaled := func(f *big.Float) float64 {
		v, _ := f.SetMantExp(f, unit).Float64()
		return v
	}
	count := big.NewInt(n)
	divisor := new(big.Float).SetInt(count)
	mean = scaled(new(big.Float).SetPrec(53).Quo(new(big.Float).SetInt(&s.total), divisor))
	spread := new(big.Int).Mul(count, &s.squares)
	spread.Sub(spread, new(big.Int).Mul(&s.total, &s.total)) // n^2 times the variance
	if spread.Sign() == 0 {
		return mean, 0
	}
	root := new(big.Float).SetPrec(128).Sqrt(new(big.Float).SetPrec(128).SetInt(spread))
	return mean, scaled(root.Quo(root, divisor))
}
