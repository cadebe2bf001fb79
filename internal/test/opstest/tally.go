package opstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// tallying is a case of Tally.
type tallying struct {
	name     string
	src      *array // [N,D]
	known    int
	prefixes [][]int64 // of each column
	runs     int       // of the plan; 1 unless given
}

// tally runs the parts of the suite that are about Tally.
func (s *suite) tally(t *testing.T) {
	s.parts(t, "tally", []group{
		{"named", (*suite).tallyNamed},
		{"misuse", (*suite).tallyMisuse},
		{"generated", (*suite).tallyGenerated},
		{"large", (*suite).tallyLarge},
		{"life", (*suite).tallyLife},
	})
}

// tallied is what a Tally adds to: both begin with small numbers of their own.
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

// solve adds by the meaning of numbers, where the backends look at bits.
func (c *tallying) solve(runs int) *tallied {
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
			m := number("1" + text[9:]) // of what is not finite, by its bits
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

// args are the inputs and what they are added to, somewhere.
func (c *tallying) args(put func(*array) *tensor.Tensor) (a ops.TallyArgs, w *tallied) {
	w = c.begun()
	d, p := c.src.shape[1], 1
	a.Src = put(c.src)
	if c.known > 0 {
		var list []int64
		for _, own := range c.prefixes {
			list = append(list, own...)
		}
		p = len(c.prefixes[0])
		a.Prefixes = put(arr(list, d, p))
	} else {
		a.Sums = put(arr(w.sums, d, ops.TallyBins, ops.TallyWords))
	}
	a.Counts = put(arr(w.counts, d, p, ops.TallyDigits))
	return a, w
}

// tallied runs the case by a call and as a plan, between guards.
func (s *suite) tallied(t *testing.T, c *tallying) {
	t.Helper()
	verify := func(form string, want *tallied, counts, sums []int64, kernels []string) {
		t.Helper()
		for _, x := range []struct {
			name      string
			want, got []int64
		}{{"Counts", want.counts, counts}, {"Sums", want.sums, sums}} {
			if !assert.Len(t, x.got, len(x.want), "%s, %s", c.name, form) {
				return
			}
			for i := range x.want {
				if x.want[i] != x.got[i] {
					t.Errorf("%s, %s: %s, element %d: got %d, want %d%s", c.name, form, x.name, i, x.got[i], x.want[i], (&result{kernels: kernels}).by())
					return
				}
			}
		}
	}
	opt := ops.TallyOptions{Known: c.known}
	form := s.form()
	if form != planned {
		a, _ := c.args((*array).host)
		require.NoError(t, s.dev.Tally(context.Background(), a, opt), c.name)
		var sums []int64
		if a.Sums != nil {
			sums = int64s(bitsOf(a.Sums))
		}
		verify("call", c.solve(1), int64s(bitsOf(a.Counts)), sums, nil)
	}
	if form == called {
		return
	}
	runs := max(c.runs, 1)
	p := &placed{dev: s.dev}
	a, w := c.args(p.put)
	require.NoError(t, p.err)
	defer func() { assert.NoError(t, p.close()) }()
	var outs []*guarded
	for i, to := range []**tensor.Tensor{&a.Counts, &a.Sums} {
		if *to == nil {
			continue
		}
		g, err := guard(s.dev, tensor.I64, (*to).Shape(), (*to).Strides(), 1+2*i, 5)
		require.NoError(t, err)
		p.open = append(p.open, g.base)
		list := w.counts
		if i == 1 {
			list = w.sums
		}
		if len(list) > 0 {
			require.NoError(t, s.dev.Copy(context.Background(), g.view, arr(list, (*to).Shape()...).host()))
		}
		outs, *to = append(outs, g), g.view
	}
	plan, err := s.dev.PlanTally(a, opt)
	require.NoError(t, err, c.name)
	defer func() { assert.NoError(t, plan.Close()) }()
	for range runs {
		require.NoError(t, plan.Run(s.dev.Queue()), c.name)
	}
	require.NoError(t, s.dev.Synchronize(context.Background()), c.name)
	var got [2][]int64
	for i, g := range outs {
		raw, err := g.read(s.dev)
		require.NoError(t, err, c.name)
		got[i] = int64s(raw)
	}
	verify("plan", c.solve(runs), got[0], got[1], kernelsOf(plan))
}

// prefixesOf are prefixes that a column's values begin with, others that none does, one that is no prefix, and one twice.
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
	again.name = fmt.Sprintf("%s, %d prefixes of %d bits", c.name, p, known)
	return &again
}

// passes runs the case in each pass.
func (s *suite) tallyPasses(t *testing.T, c *tallying) {
	t.Helper()
	s.tallied(t, c)
	if c.src.shape[1] == 0 {
		return
	}
	s.tallied(t, c.prefixesOf(11, 1+len(c.name)%16))
	s.tallied(t, c.prefixesOf(22, 1+len(c.name)*7%16))
}

// tallyLife: plans add again each time, in a graph too, and run beside each other.
func (s *suite) tallyLife(t *testing.T) {
	c := &tallying{name: "again and again", src: robot(tensor.F32, 200, 5, 3), runs: 3}
	s.tallyPasses(t, c)
	p := &placed{dev: s.dev}
	a, _ := c.args(p.put)
	require.NoError(t, p.err)
	plan, err := s.dev.PlanTally(a, ops.TallyOptions{})
	require.NoError(t, err)
	require.NoError(t, plan.Close())
	assert.ErrorIs(t, plan.Run(s.dev.Queue()), ops.ErrClosed, "a closed plan")
	plan, err = s.dev.PlanTally(a, ops.TallyOptions{})
	require.NoError(t, err)
	require.NoError(t, p.close())
	var e *ops.ArgError
	err = plan.Run(s.dev.Queue())
	require.True(t, errors.As(err, &e), "closed tensors: %v", err)
	assert.Equal(t, "Tally", e.Op)
	require.NoError(t, plan.Close())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, _ = c.args((*array).host)
	assert.ErrorIs(t, s.dev.Tally(ctx, a, ops.TallyOptions{}), context.Canceled)
}
