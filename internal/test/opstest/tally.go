package opstest

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tallying is a case of Tally.
type tallying struct {
	title    string
	src      *array // [N,D]
	known    int
	prefixes [][]int64 // for each column
	runs     int       // the number of a plan's runs; 0 means 1
}

// tallyParts returns the tests for Tally.
func tallyParts() parts {
	return parts{
		"named":     (*suite).tallyNamed,
		"generated": generated("tally"),
	}
}

// tallied has the outputs that a Tally adds to. They begin with different small numbers.
type tallied struct{ counts, sums []int64 }

func (c *tallying) begun() *tallied {
	d, p := c.src.shape[1], 1
	if c.known > 0 {
		p = len(c.prefixes[0])
	}
	w := &tallied{counts: make([]int64, d*p*ops.TallyDigits)}
	if c.known == 0 {
		w.sums = make([]int64, d*ops.TallyBins*ops.TallyWords)
	}
	for i := range w.counts {
		w.counts[i] = int64(i % 3)
	}
	for i := range w.sums {
		w.sums[i] = int64(i % 5)
	}
	return w
}

// after returns the outputs after a number of runs. It computes from the numbers' values, unlike the backends, which use their bits.
func (c *tallying) after(runs int) *tallied {
	w := c.begun()
	p := 1
	if c.known > 0 {
		p = len(c.prefixes[0])
	}
	c.src.each(func(n, at int) {
		d := n % c.src.shape[1]
		v := float32(c.src.float(at))
		b := math.Float32bits(v)
		text := fmt.Sprintf("%032b", b)
		number := func(digits string) (x int64) {
			for _, r := range digits {
				x = 2*x + int64(r-'0')
			}
			return x
		}
		if c.known == 0 {
			w.counts[d*ops.TallyDigits+int(number(text[:11]))] += int64(runs)
			m := number("1" + text[9:]) // a value that is not finite, by its bits
			if exponent := number(text[1:9]); exponent < 255 {
				fraction, e := math.Frexp(math.Abs(float64(v)))
				m = int64(math.Ldexp(fraction, e+150-int(max(exponent, 1))))
			}
			square := new(big.Int).Mul(big.NewInt(m), big.NewInt(m))
			high, low := new(big.Int).QuoRem(square, big.NewInt(1<<24), new(big.Int))
			for k, word := range []int64{m, low.Int64(), high.Int64()} {
				w.sums[(d*ops.TallyBins+int(number(text[:9])))*ops.TallyWords+k] += word * int64(runs)
			}
			return
		}
		for k, prefix := range c.prefixes[d] {
			if number(text[:c.known]) == prefix {
				w.counts[(d*p+k)*ops.TallyDigits+int(number(text[c.known:min(c.known+11, 32)]))] += int64(runs)
				return
			}
		}
	})
	return w
}

// args returns the arguments. put makes inputs; out makes an output with the initial content of an array.
func (c *tallying) args(put func(*array) *tensor.Tensor, out func(name string, a *array) *tensor.Tensor) (a ops.TallyArgs) {
	w := c.begun()
	d, p := c.src.shape[1], 1
	a.Src = put(c.src)
	if c.known > 0 {
		p = len(c.prefixes[0])
		a.Prefixes = put(arr(slices.Concat(c.prefixes...), d, p))
	} else {
		a.Sums = out("Sums", arr(w.sums, d, ops.TallyBins, ops.TallyWords))
	}
	a.Counts = out("Counts", arr(w.counts, d, p, ops.TallyDigits))
	return a
}

func (c *tallying) options() ops.TallyOptions { return ops.TallyOptions{Known: c.known} }

func (c *tallying) plan(p *placed, l layout, _ ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put, func(name string, a *array) *tensor.Tensor {
		return p.out(name, spaced(a.dtype, a.shape, 0, 0, l.sideOffset+len(name)%2), l.end, a.raw...)
	})
	return p.dev.PlanTally(args, c.options())
}

func (c *tallying) call(dev *ops.Device) (*result, error) {
	args := c.args((*array).host, func(_ string, a *array) *tensor.Tensor { return a.host() })
	if err := dev.Tally(context.Background(), args, c.options()); err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Counts": args.Counts, "Sums": args.Sums}), nil
}

func (c *tallying) name() string { return c.title }

func (c *tallying) traits() traits {
	return traits{exact: true, runs: c.runs, modes: plainAndReady[:1]}
}

func (c *tallying) describe() string {
	return fmt.Sprintf("%s N=%d D=%d known=%d prefixes=%d src=%s", c.src.dtype, c.src.shape[0], c.src.shape[1], c.known, len(slices.Concat(c.prefixes...)), c.src.spacing())
}

func (c *tallying) solve(*suite) (*ops.ValueError, func(*result) string) {
	return nil, func(got *result) string {
		want := c.after(got.round + 1)
		bits := map[string][]uint64{"Counts": arr(want.counts, len(want.counts)).raw}
		if c.known == 0 {
			bits["Sums"] = arr(want.sums, len(want.sums)).raw
		}
		return got.differAny(bits)
	}
}

// prefixesOf sets p prefixes for each column: some that values begin with, others that no value begins with, one that is no prefix,
// and a duplicate.
func (c *tallying) prefixesOf(known, p int) *tallying {
	again := *c
	again.known, again.prefixes = known, nil
	n, d := c.src.shape[0], c.src.shape[1]
	for col := range d {
		own := make([]int64, p)
		for k := range own {
			switch {
			case k%5 == 3:
				own[k] = []int64{-1, 1 << known, 1<<known - 1, math.MinInt64, 1 << 40}[k/5%5]
			case k%5 == 4:
				own[k] = own[k-4]
			case n > 0:
				v := float32(c.src.float(c.src.at(k*7919%n, col)))
				own[k] = int64(math.Float32bits(v) >> (32 - known))
			}
		}
		again.prefixes = append(again.prefixes, own)
	}
	again.title = fmt.Sprintf("%s, %d prefixes of %d bits", c.title, p, known)
	return &again
}

// passes returns the case for each pass.
func (c *tallying) passes() []*tallying {
	if c.src.shape[1] == 0 {
		return []*tallying{c}
	}
	return []*tallying{c, c.prefixesOf(11, 1+len(c.title)%16), c.prefixesOf(22, 1+len(c.title)*7%16)}
}

func (s *suite) tallyPasses(t *testing.T, c *tallying) {
	t.Helper()
	for _, pass := range c.passes() {
		s.check(t, pass, layouts[1])
	}
}
