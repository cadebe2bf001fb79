package summary

import (
	"math"
	"math/big"
	"slices"
)

// Ranks finds the extremes and quantiles of a float32 column from counts of its values by 11, 11 and 10 bits. The Tally operation in
// package ops makes these counts.
type Ranks struct {
	count, others int64
	quantiles     []float64
	ranks         []ranking // two around each quantile, then the first and the last
	bits          int       // known bits of each
}

// ranking is the known first bits of the value at a rank, and its rank among the values with these bits.
type ranking struct {
	prefix uint32
	left   int64
}

// NewRanks starts with the counts of all values by their first 11 bits.
func NewRanks(counts []int64, quantiles []float64) *Ranks {
	r := &Ranks{quantiles: quantiles, bits: 11}
	for digit, n := range counts {
		if digit>>2&0xff == 0xff {
			r.others += n
		} else {
			r.count += n
		}
	}
	if r.count == 0 {
		return r
	}
	for _, q := range quantiles {
		below := int64(q * float64(r.count-1))
		r.ranks = append(r.ranks, ranking{left: below}, ranking{left: min(below+1, r.count-1)})
	}
	r.ranks = append(r.ranks, ranking{}, ranking{left: r.count - 1})
	for i := range r.ranks {
		p := &r.ranks[i]
		for k := range counts {
			digit := k ^ 1<<10 // the positive numbers, ascending
			if k < 1<<10 {
				digit = len(counts) - 1 - k // the negative ones, from the largest magnitude
			}
			if digit>>2&0xff == 0xff {
				continue
			}
			if p.prefix = uint32(digit); p.left < counts[digit] {
				break
			}
			p.left -= counts[digit]
		}
	}
	return r
}

// Count returns how many values are finite, and how many are not.
func (r *Ranks) Count() (finite, others int64) { return r.count, r.others }

// Prefixes returns the first bits of the values that the next pass must count.
func (r *Ranks) Prefixes() []uint32 {
	var list []uint32
	for _, p := range r.ranks {
		if !slices.Contains(list, p.prefix) {
			list = append(list, p.prefix)
		}
	}
	return list
}

// Next adds the counts for the values with each prefix, 2048 per prefix: by the next 11 bits, and in the last pass by the last 10.
func (r *Ranks) Next(counts []int64) {
	prefixes, width := r.Prefixes(), min(32-r.bits, 11)
	for i := range r.ranks {
		p := &r.ranks[i]
		own := counts[slices.Index(prefixes, p.prefix)<<11:][:1<<width]
		digit := 0
		for k, n := range own {
			if digit = k; p.prefix>>(r.bits-1) == 1 { // for negative numbers, greater bits are a smaller number
				digit = len(own) - 1 - k
				n = own[digit]
			}
			if p.left < n {
				break
			}
			p.left -= n
		}
		p.prefix = p.prefix<<width | uint32(digit)
	}
	r.bits += width
}

// Values returns the extremes and quantiles after all 32 bits are known; NaN if there are no values.
func (r *Ranks) Values() (lo, hi float64, quantiles []float64) {
	if r.count == 0 {
		return math.NaN(), math.NaN(), slices.Repeat([]float64{math.NaN()}, len(r.quantiles))
	}
	value := func(i int) float64 { return float64(math.Float32frombits(r.ranks[i].prefix)) }
	for i, q := range r.quantiles {
		at := q * float64(r.count-1)
		quantiles = append(quantiles, between(value(2*i), value(2*i+1), at-math.Trunc(at))+0) // adding 0 turns -0 into 0
	}
	n := len(r.ranks)
	return value(n-2) + 0, value(n-1) + 0, quantiles
}

// Moments returns the mean and standard deviation for n finite float32 numbers, from the sums of package ops' Tally with three words
// for each sign and exponent. It returns NaN if n is 0.
func Moments(words []int64, n int64) (mean, std float64) {
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	s := sums{narrow: new([512][2]uint64)}
	for bin := range s.narrow {
		exponent := bin & 255
		if exponent == 255 {
			continue
		}
		sum, squares := big.NewInt(words[3*bin]), big.NewInt(words[3*bin+2])
		squares.Add(squares.Lsh(squares, 24), big.NewInt(words[3*bin+1]))
		s.put(bin>>8 == 1, exponent, sum, squares)
	}
	return s.moments(n)
}
