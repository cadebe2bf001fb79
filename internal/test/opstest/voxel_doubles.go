package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// doubleParts returns the tests for Voxelize in every form with f64 points and features, which are binned and reduced in float64.
func doubleParts() parts {
	return parts{
		"forms":    (*suite).doubleForms,
		"specials": (*suite).doubleSpecials,
		"cut":      (*suite).doubleCut,
		"rounded":  (*suite).doubleRounded,
		"order":    (*suite).doubleOrder,
		"empty":    (*suite).doubleEmpty,
		"outputs":  (*suite).doubleOutputs,
		"poses":    (*suite).doublePoses,
		"crowds":   (*suite).doubleCrowds,
	}
}

// northing is a coordinate at which float32 numbers are half a metre apart.
const northing = 5648321

// utm returns points in UTM coordinates with millimetres, which float32 cannot represent.
func utm(r *rand.Rand, n int) []float64 {
	xyz := make([]float64, 0, 3*n)
	for range n {
		xyz = append(xyz, 412345+float64(r.IntN(2000))/1000, northing+float64(r.IntN(2000))/1000, 100+float64(r.IntN(2000))/1000)
	}
	return xyz
}

var utmBox = ops.VoxelGrid{Min: [3]float64{412345, northing, 100}, Max: [3]float64{412347, northing + 2, 102}, Size: [3]float64{.25, .25, .25}}

func (s *suite) doubleForms(t *testing.T) {
	r := rng(90)
	n := 300
	points, features := vals(tensor.F64, utm(r, n), n, 3), vals(tensor.F64, utm(r, n), n, 3)
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(r.IntN(3))
	}
	for _, opts := range append(voxelForms, ops.VoxelizeOptions{Reduce: ops.ReduceMajority}, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMajority},
		ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMax}) {
		c := &voxelizing{Name: "doubles", Points: points, Box: utmBox, Opts: opts}
		if opts.Reduce == ops.ReduceMajority {
			c.Labels = arr(labels, n)
		}
		got := s.voxelized(t, c)
		assert.EqualValues(t, n, got.found.InRange, "%+v", opts)
		if c.reduction().OfFeatures() || opts.Mode == ops.VoxelHard {
			for _, name := range []string{"Grid", "Values"} {
				if out := got.out[name]; out != nil {
					assert.Equal(t, tensor.F64, out.dtype, "%+v", opts)
				}
			}
			c.Features = features
			s.voxelCheck(t, c)
			c.Points, c.Box = vals(tensor.F32, features.floats(), n, 3), cube(northing-1e7, 4e6, 6) // f32 points, f64 features
			s.voxelCheck(t, c)
		}
	}
}

// doubleCells checks sums, means and extremes of cells with the given values, and with their negatives.
func (s *suite) doubleCells(t *testing.T, name string, cells [][]float64) {
	t.Helper()
	xyz, v, box := cellValues(cells)
	for reduce := ops.ReduceSum; reduce <= ops.ReduceMin; reduce++ {
		for _, mode := range []ops.VoxelMode{ops.VoxelDense, ops.VoxelSparse} {
			for _, to := range []tensor.DType{tensor.F64, tensor.F32} {
				s.voxelCheck(t, &voxelizing{Name: name, Points: cloud(xyz...), Features: vals(tensor.F64, v, len(v)/2, 2), Box: box, To: to, Opts: ops.VoxelizeOptions{Mode: mode, Reduce: reduce}})
			}
		}
	}
}

func (s *suite) doubleSpecials(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	tiny, huge := math.SmallestNonzeroFloat64, math.MaxFloat64
	s.doubleCells(t, "specials", [][]float64{
		{1, nan}, {nan, inf}, {inf, -inf}, {inf, 1}, {-inf, 1}, {-inf, -inf, 3}, {inf, huge, huge}, {0, zero}, {zero, zero}, {zero, 0}, {zero}, {0}, {nan}, {inf},
		{tiny, tiny, -tiny}, {-tiny}, {tiny, zero}, {tiny, tiny, tiny}, {tiny, 0}, {tiny, 0, 0}, {3 * tiny, 0}, {5 * tiny, 0}, {0x1p-1022, tiny}, {0x1p-1022, -tiny}, {0x1p-1021, -tiny, 0},
		{huge, huge}, {-huge, -huge}, {huge, huge, -huge}, {huge, -huge, 1}, {huge, tiny, -huge}, {huge, huge, huge, -huge, -huge, -huge}, {huge, 0x1p970}, {huge, 0x1p969},
		{1, 0x1p-90, -1}, {1, 0x1p-91, -1}, {1, 0x1p-52, -1}, {1e30, 1, -1e30}, {1e300, 1e200, -1e300}, {0x1.fffffffffffffp-1, 0x1p-53}, {1, 0x1p-53}, {1 + 0x1p-52, 0x1p-53}, {1, 0x1p-53, 0x1p-80},
		{3, 3, 3}, {1 << 53, 1, 1, 1}, {1.1, 2.2, 3.3}, {-1.1, -2.2, -3.4}, {.1, .1, .1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1.5}, {1e38, 1e38, 1e38, 1e38},
	})
}

// doubleCut tests that bits more than 90 below the largest value of a voxel do not count, and that all higher bits do, for few points
// and for many.
func (s *suite) doubleCut(t *testing.T) {
	last := 1 + 0x1p-52 // the last bit of a float64
	var cells [][]float64
	for _, n := range []int{3, 16, 17, 33, 64, 65, 257} {
		for _, x := range []float64{last * 0x1p-37, last * 0x1p-38, last * 0x1p-39, last * 0x1p-40, -last * 0x1p-60, 1.5 * 0x1p-90, 1.5 * 0x1p-91, last * 0x1p-200} {
			cell := make([]float64, n)
			cell[0], cell[n-2], cell[n-1] = 1, x, -1
			cells = append(cells, cell)
		}
	}
	s.doubleCells(t, "cut", cells)
	// Exact expected bits: 2^-90 counts, and lower bits do not.
	for low, want := range map[float64]float64{0x1p-90: 0x1p-90, 0x1.8p-90: 0x1p-90, -0x1.8p-90: -0x1p-90, 0x1p-91: 0} {
		c := &voxelizing{Points: diagonal(.5, .5, .5), Features: vals(tensor.F64, []float64{1, low, -1}, 3, 1), Box: cube(0, 1, 1), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum}}
		assert.Equal(t, want, decode(tensor.F64, s.dense(t, c).raw[0]), "%g", low)
	}
}

// doubleRounded tests that sums and means are rounded once, to nearest with ties to even, also for subnormal results.
func (s *suite) doubleRounded(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	for _, x := range []struct {
		reduce ops.Reduce
		in     []float64
		want   float64
	}{
		{ops.ReduceMean, []float64{1, 2, 6}, 3}, {ops.ReduceMean, []float64{1, 0, 0}, 1.0 / 3}, {ops.ReduceMean, []float64{-2, 0, 0}, -2.0 / 3}, {ops.ReduceMean, []float64{.1, .1, .1}, .1},
		{ops.ReduceSum, []float64{1, 0x1p-53}, 1}, {ops.ReduceSum, []float64{1 + 0x1p-52, 0x1p-53}, 1 + 0x1p-51}, {ops.ReduceSum, []float64{1, 0x1p-53, 0x1p-90}, 1 + 0x1p-52},
		{ops.ReduceSum, []float64{1, 0x1p-53, -0x1p-90}, 1}, {ops.ReduceSum, []float64{2, -0x1p-53}, 2}, {ops.ReduceSum, []float64{2, -0x1p-52, -0x1p-90}, 2 - 0x1p-52},
		{ops.ReduceMean, []float64{tiny, 0}, 0}, {ops.ReduceMean, []float64{-tiny, 0}, math.Copysign(0, -1)}, {ops.ReduceMean, []float64{tiny, tiny, 0}, tiny}, {ops.ReduceMean, []float64{3 * tiny, 0}, 2 * tiny},
		{ops.ReduceMean, []float64{5 * tiny, 0}, 2 * tiny}, {ops.ReduceMean, []float64{tiny, 0, 0, 0, 0}, 0}, {ops.ReduceMean, []float64{0x1p-1022, 0x1p-1022 - tiny}, 0x1p-1022},
		{ops.ReduceMean, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64}, {ops.ReduceSum, []float64{math.MaxFloat64, 0x1p969}, math.MaxFloat64},
		{ops.ReduceSum, []float64{math.MaxFloat64, 0x1p970}, math.Inf(1)}, {ops.ReduceSum, []float64{-math.MaxFloat64, -0x1p970}, math.Inf(-1)},
		{ops.ReduceSum, []float64{math.Copysign(0, -1), math.Copysign(0, -1)}, 0}, {ops.ReduceSum, []float64{math.Copysign(0, -1)}, 0}, {ops.ReduceSum, []float64{-3, 3}, 0},
		{ops.ReduceMax, []float64{math.Copysign(0, -1), 0}, 0}, {ops.ReduceMin, []float64{0, math.Copysign(0, -1)}, math.Copysign(0, -1)}, {ops.ReduceMax, []float64{northing + .001, northing + .002}, northing + .002},
	} {
		n := len(x.in)
		c := &voxelizing{Name: fmt.Sprint(x.in), Points: vals(tensor.F64, make([]float64, 3*n), n, 3), Features: vals(tensor.F64, x.in, n, 1), Box: cube(0, 1, 1), Opts: ops.VoxelizeOptions{Reduce: x.reduce}}
		got := s.dense(t, c).raw[0]
		assert.Equal(t, encode(tensor.F64, x.want), got, "%s of %v: got %s, want %v", x.reduce, x.in, show(tensor.F64, got), x.want)
	}
}

// doubleOrder tests that the bits do not depend on the order of the points.
func (s *suite) doubleOrder(t *testing.T) {
	r := rng(91)
	n := 700
	c := &voxelizing{Name: "order", Points: vals(tensor.F64, utm(r, n), n, 3), Features: doubleValues(r, n, 2), Box: utmBox}
	c.Box.Size = [3]float64{1, 1, 1}
	for reduce := ops.ReduceSum; reduce <= ops.ReduceMin; reduce++ {
		c.Opts = ops.VoxelizeOptions{Reduce: reduce}
		want := s.called(t, c)
		got := s.called(t, c.permuted(r.Perm(n)))
		assert.Empty(t, got.same(want), reduce)
	}
}

// doubleEmpty tests that an empty cell gets all 64 bits of the option Empty, also if there are no points.
func (s *suite) doubleEmpty(t *testing.T) {
	for _, empty := range []float64{0, .1, -7.5, math.NaN(), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat64} {
		for _, n := range []int{0, 1, 40} {
			for _, offsets := range []*array{nil, arr([]int64{0, int64(n / 2), int64(n)}, 3)} {
				c := &voxelizing{Name: fmt.Sprint("empty ", empty), Points: vals(tensor.F64, utm(rng(92), n), n, 3), Offsets: offsets, Box: utmBox, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean, Empty: empty}}
				c.Box.Size = [3]float64{.5, .25, 2. / 3}
				s.voxelCheck(t, c)
				c.To = tensor.F32
				s.voxelCheck(t, c)
			}
		}
	}
}

// doubleOutputs tests that f32 outputs of f64 inputs are rounded once, and that f64 outputs of any input have float64 results.
func (s *suite) doubleOutputs(t *testing.T) {
	r := rng(93)
	n := 200
	for _, opts := range []ops.VoxelizeOptions{{Reduce: ops.ReduceSum}, {Reduce: ops.ReduceMax}, {Mode: ops.VoxelSparse}, {Mode: ops.VoxelSparse, Reduce: ops.ReduceMin}, {Mode: ops.VoxelHard, MaxPoints: 3}} {
		for _, features := range []tensor.DType{0, tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			for _, to := range []tensor.DType{0, tensor.F32, tensor.F64} {
				for _, points := range []tensor.DType{tensor.F32, tensor.F64} {
					c := &voxelizing{Name: "outputs", Points: vals(points, uniformValues(r, 3*n), n, 3), Box: cube(-8, 4, 4), Opts: opts, To: to}
					if features != 0 {
						c.Features = vals(features, uniformValues(r, 5*n), n, 5)
					}
					s.voxelCheck(t, c)
				}
			}
		}
	}
}

// doublePoses tests f32 poses with f64 points, for each row and in every form. The poses must be widened wherever a kernel reads
// them.
func (s *suite) doublePoses(t *testing.T) {
	r := rng(94)
	n := 300
	for i, opts := range voxelForms {
		for _, dtype := range []tensor.DType{tensor.F32, tensor.F64} {
			c := &voxelizing{Name: "poses", Points: vals(tensor.F64, uniformValues(r, 3*n), n, 3), Poses: vals(dtype, uniformValues(r, 3*16), 3, 4, 4), Offsets: arr([]int64{0, 100, 100, 300}, 4), Box: cube(-60, 9, 14), Opts: opts}
			if i%2 == 0 {
				c.Poses = packed(dtype, c.Poses.raw[:16], 4, 4)
			}
			s.voxelCheck(t, c)
		}
	}
}

// doubleCrowds tests voxels with few points and many, and with few features and more than a warp has lanes.
func (s *suite) doubleCrowds(t *testing.T) {
	r := rng(95)
	for i, size := range [][2]int{{64, 3}, {300, 1}, {300, 33}, {1000, 2}, {2000, 1}, {100, 70}} {
		n, f := size[0], size[1]
		xyz := make([]float64, 3*n)
		for k := range xyz {
			xyz[k] = math.Abs(r.NormFloat64()) * .4
		}
		for reduce := ops.ReduceSum; reduce <= ops.ReduceMin; reduce++ {
			c := &voxelizing{Name: "crowds", Points: vals(tensor.F64, xyz, n, 3), Features: doubleValues(r, n, f), Box: cube(0, 1, 2), Opts: ops.VoxelizeOptions{Reduce: reduce}}
			if i%2 == 0 {
				c.Opts.Mode = ops.VoxelSparse
			}
			s.voxelCheck(t, c)
			if c.Features = nil; f == 1 {
				s.voxelCheck(t, c)
			}
		}
	}
}

// doubleValues returns random f64 values of one magnitude, or of many; some are special.
func doubleValues(r *rand.Rand, n, f int) *array {
	special := [][]float64{{0, math.Copysign(0, -1)}, {math.Inf(1)}, {math.Inf(-1)}, {math.Inf(1), math.Inf(-1)}, {math.NaN()}, {1e-310, -0x1p-1074, math.Copysign(0, -1)}, {0x1p1023, -0x1p1023}}[r.IntN(7)]
	rare, scales := []int{3, 40, 1000}[r.IntN(3)], []int{1, 30, 130, 2000}[r.IntN(4)]
	v := make([]float64, n*f)
	for i := range v {
		v[i] = math.Ldexp(r.NormFloat64(), r.IntN(scales)-scales/2)
		if r.IntN(rare) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
	return vals(tensor.F64, v, n, f)
}

// doubled changes a case's points, features or both to f64, and sets an output dtype.
func doubled(r *rand.Rand, c *voxelizing) *voxelizing {
	c.Name += ", doubled"
	fine := func(a *array) *array { // with bits that f32 cannot represent
		v := a.floats()
		for i := range v {
			v[i] *= 1 + 0x1p-30*r.Float64()
		}
		out := vals(tensor.F64, v, a.shape...)
		if w := a.shape[1]; r.IntN(2) == 0 {
			out = out.restride([]int{w + r.IntN(3), 1}, r.IntN(3), r.IntN(2), poison(tensor.F64))
		}
		return out
	}
	what := 1 + r.IntN(3)
	if what&1 != 0 {
		c.Points = fine(c.Points)
		if c.Poses != nil && r.IntN(2) == 0 {
			c.Poses = vals(tensor.F64, c.Poses.floats(), c.Poses.shape...)
		}
	}
	if c.Features != nil && what&2 != 0 {
		if c.Features = fine(c.Features); r.IntN(2) == 0 {
			c.Features = doubleValues(r, c.Features.shape[0], c.Features.shape[1])
		}
	}
	c.To = []tensor.DType{0, 0, tensor.F32, tensor.F64}[r.IntN(4)]
	if c.To != 0 && c.Opts.Mode != ops.VoxelHard && !c.reduction().OfFeatures() {
		c.To = 0
	}
	return c
}
