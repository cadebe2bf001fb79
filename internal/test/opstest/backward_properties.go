package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// smoothFusing returns a float64 fusion with only finite values and kinds that have a gradient.
func smoothFusing(seed uint64) *fusing {
	g := &generator{Rand: rng(seed)}
	f := &fusing{Name: fmt.Sprint("seed ", seed), Out: tensor.F64, Targets: vals(tensor.I64, uniformTimes(g, 2*40, 3e8), 2, 40)}
	for kind := ops.InterpLinear; kind <= ops.InterpNearest; kind++ {
		c := resampling{Src: vals(tensor.F64, uniformValues(g.Rand, 2*30*5), 2, 30, 5), Times: arr(ascending(g.Rand, 30, 0), 30)}
		c.Opts = ops.ResampleOptions{Interp: kind, Edge: []ops.Edge{ops.EdgeExtrapolate, ops.EdgeClamp, ops.EdgeHold, ops.EdgeFill}[(int(kind)+int(seed))%4], Snap: ops.Within(1e5),
			MaxGap: ops.Within(15e6), FillGaps: seed%2 == 0, Channels: []ops.Channel{{Lo: 1, Hi: 3, Interp: ops.InterpLinear}}}
		f.Streams = append(f.Streams, &part{resampling: c})
	}
	f.Targets = sortedTargets(f)
	return f
}

// gradientAdjoint tests that the sum of the outputs times their gradients equals the sum of the samples times theirs.
func (s *suite) gradientAdjoint(t *testing.T) {
	for seed := range uint64(8) {
		f := smoothFusing(seed)
		b := gradient(seed, f, false, 0)
		out := s.called(t, f)
		var left, right, size float64
		for i, bits := range out.dst {
			x := decode(f.Out, bits) * decode(f.Out, b.Grad.raw[i])
			left, size = left+x, size+math.Abs(x)
		}
		for m, grads := range s.gradientOf(t, b) {
			for i, g := range grads {
				x := g * f.Streams[m].Src.float(i)
				right, size = right+x, size+math.Abs(x)
			}
		}
		assert.InDelta(t, left, right, 1e-13*size, "%s", f.Name) // a few roundings for each term and for the sums
	}
}

// gradientDifferences tests that Resample's output changes by the gradient if one sample changes, as far as a difference of two
// outputs can show.
func (s *suite) gradientDifferences(t *testing.T) {
	const step = 1.0 / 64
	for seed := range uint64(4) {
		f := smoothFusing(seed)
		b := gradient(seed+100, f, false, 0)
		grads := s.gradientOf(t, b)
		loss := func() (sum float64) {
			out := s.called(t, f)
			for i, bits := range out.dst {
				sum += decode(f.Out, bits) * decode(f.Out, b.Grad.raw[i])
			}
			return sum
		}
		src := f.Streams[0].Src
		for i := int(seed); i < len(src.raw); i += 37 {
			x := src.float(i)
			src.raw[i] = encode(tensor.F64, x+step)
			up := loss()
			src.raw[i] = encode(tensor.F64, x-step)
			down := loss()
			src.raw[i] = encode(tensor.F64, x)
			// The sums reach thousands, and their rounding errors are divided by 1/64.
			assert.InDelta(t, (up-down)/(2*step), grads[0][i], 1e-9, "%s, element %d", f.Name, i)
		}
	}
}

// drawBackward returns the generated cases with a number.
func drawBackward(i int) []trial {
	return []trial{{drawGradient(uint64(11_000+i), clockDTypes[i%3], valueDTypes[i/3%4], i/3%4, i), layouts[i%2]}}
}

// drawGradient draws a gradient; every third is of a resampling. More than half of the numbers also make an input wrong.
func drawGradient(seed uint64, clock, out tensor.DType, form, number int) *backward {
	f := generateFusing(seed, clock, out, form, true)
	g := &generator{Rand: rng(seed + 1)}
	if number%3 == 1 {
		f.Streams = f.Streams[:1]
	}
	for _, p := range f.Streams {
		if p.Src == nil {
			continue
		}
		// The operation writes the gradient, so no two elements may share a place.
		p.Src = packed(p.Src.dtype, make([]uint64, p.Src.len()), p.Src.shape...)
		if g.one(3) {
			p.Opts.Channels = tabled(g, p.width())
		}
		if g.one(4) {
			p.Opts.Edge = ops.EdgeHold
		}
	}
	if g.one(3) {
		f = f.snapping(seed)
	}
	alone := len(f.Streams) == 1 && number%3 == 1
	if alone {
		p := f.Streams[0]
		p.Offset, p.Shift, p.Scale = 0, nil, nil
	}
	b := gradient(seed, f, alone, []int{0, 6, 50}[g.IntN(3)])
	switch {
	case number%8 == 5: // wrong timestamps, targets or lengths
		b.vary(g.Rand, 3)
	case number%8 == 7 && b.Targets != nil && len(b.Targets.raw) > 1: // targets out of order
		b.Targets.raw[g.IntN(len(b.Targets.raw))] = b.Targets.raw[g.IntN(len(b.Targets.raw))]
	case number%16 == 14:
		b.vary(g.Rand, 12)
		b.Wrong = true
	}
	b.Name, b.Planned = fmt.Sprint("seed ", seed), number >= 48
	return b
}

// FuzzGradients runs gradient cases from any seed on the devices and compares the results. The first device is the CPU.
func FuzzGradients(f *testing.F, devs ...*ops.Device) {
	for i := range uint8(24) {
		f.Add(uint64(i), i, i/3, i, i)
	}
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64, clock, out, form, number uint8) {
		b := drawGradient(seed, clockDTypes[clock%3], valueDTypes[out%4], int(form%4), int(number))
		for _, s := range all {
			s.check(t, b, layouts[seed%2])
		}
	})
}
