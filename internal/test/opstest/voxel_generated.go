package opstest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// randomVoxels returns a case of any kind, with sizes around those of warps, blocks and tiles.
func randomVoxels(r *rand.Rand) *voxelizing {
	sizes := []int{1, 2, 31, 32, 33, 127, 128, 129, 255, 257, 1000, 1023, 1025, 2049, 4097}
	n := sizes[r.IntN(len(sizes))]
	c := &voxelizing{Name: "generated"}
	c.Box.Border = r.IntN(8) / 7 * (1 + r.IntN(2))
	for a := range 3 {
		cells := 1 + r.IntN(12)
		c.Box.Min[a] = r.Float64()*10 - 5
		c.Box.Size[a] = []float64{.1, .25, 1, 3.7}[r.IntN(4)]
		c.Box.Max[a] = c.Box.Min[a] + float64(cells+2*c.Box.Border)*c.Box.Size[a]
	}
	xyz := make([]float64, 3*n)
	spread := []float64{.3, .5, 1.2}[r.IntN(3)] // relative to the box: points crowd its middle, fill it, or reach beyond it
	for i := range xyz {
		a := i % 3
		mid, half := (c.Box.Min[a]+c.Box.Max[a])/2, (c.Box.Max[a]-c.Box.Min[a])/2
		xyz[i] = mid + half*spread*(2*r.Float64()-1)
		switch r.IntN(40) {
		case 0:
			xyz[i] = c.Box.Min[a] + float64(r.IntN(13))*c.Box.Size[a]
		case 1:
			xyz[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e38, -1e38}[r.IntN(5)]
		}
	}
	dtype := tensor.F32
	c.Opts.Mode = ops.VoxelMode(r.IntN(3))
	c.Opts.Order = ops.AxisOrder(r.IntN(2))
	if c.Opts.Mode != ops.VoxelHard && r.IntN(3) == 0 {
		dtype = tensor.F64
	}
	c.Points = vals(dtype, xyz, n, 3)
	if r.IntN(2) == 0 {
		c.Points = c.Points.restride([]int{3 + r.IntN(3), 1}, r.IntN(3), r.IntN(2), poison(dtype))
	}
	if c.Opts.Mode == ops.VoxelHard {
		c.Opts.MaxPoints = 1 + r.IntN(7)
	} else {
		c.Opts.Reduce = ops.Reduce(r.IntN(8))
	}
	if c.Opts.Mode != ops.VoxelDense && r.IntN(2) == 0 {
		c.Opts.MaxVoxels = 1 + r.IntN(40)
	}
	if c.Opts.Mode == ops.VoxelDense {
		c.Opts.Empty = float64(r.IntN(3))
	}
	reduce := c.reduction()
	if reduce.OfFeatures() && (dtype == tensor.F64 || r.IntN(4) > 0) || c.Opts.Mode == ops.VoxelHard && r.IntN(2) == 0 {
		f := []int{1, 2, 3, 4, 5, 16, 17, 33}[r.IntN(8)]
		v := make([]float64, n*f)
		for i := range v {
			v[i] = math.Ldexp(r.NormFloat64(), r.IntN(8))
			if r.IntN(500) == 0 {
				v[i] = []float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 1e-40}[r.IntN(4)]
			}
		}
		c.Features = vals([]tensor.DType{tensor.F32, tensor.F16, tensor.BF16}[r.IntN(3)], v, n, f)
		if r.IntN(2) == 0 {
			c.Features = c.Features.restride([]int{f + r.IntN(4), 1}, r.IntN(3), 0, poison(c.Features.dtype))
		}
	}
	if reduce == ops.ReduceMajority {
		labels := make([]int32, n)
		for i := range labels {
			labels[i] = int32(r.IntN(6)) * 100_000_000 * int32(1-2*r.IntN(2))
		}
		c.Labels = arr(labels, n)
	}
	if r.IntN(2) == 0 {
		b := 1 + r.IntN(5)
		offsets := make([]int64, b+1)
		for i := 1; i < b; i++ {
			offsets[i] = offsets[i-1] + int64(r.IntN(n-int(offsets[i-1])+1))
		}
		offsets[b] = int64(n)
		c.Offsets = arr(offsets, b+1)
	}
	if r.IntN(3) == 0 {
		b := c.rows()
		poses := make([]float64, 16*b)
		for i := range poses {
			poses[i] = r.NormFloat64() * .2
			if i%16%5 == 0 {
				poses[i] = 1
			}
		}
		c.Poses = vals(dtype, poses, b, 4, 4)
		if r.IntN(2) == 0 {
			c.Poses = packed(dtype, c.Poses.raw[:16], 4, 4)
		}
	}
	return c
}

// drawVoxel returns the generated cases with a number. Of eight numbers, five have any dtype and three have f64.
func drawVoxel(number int) []trial {
	i, kind := number/8*5+number%8, "voxel"
	var c *voxelizing
	if number%8 < 5 {
		draw := []func(*rand.Rand) *voxelizing{randomVoxels, randomVoxels, contendedVoxels, randomVoxels, reducedVoxels, contendedVoxels, reducedVoxels, randomVoxels, reducedVoxels}[i%9]
		c = draw(rng(uint64(1000 + i)))
	} else {
		i, kind = number/8*3+number%8-5, "double"
		r := rng(uint64(5000 + i))
		c = doubled(r, []func(*rand.Rand) *voxelizing{randomVoxels, contendedVoxels, reducedVoxels}[i%3](r))
	}
	c.Name, c.Number, c.Planned = numbered(kind, i), number, number >= 240
	return []trial{{c, layouts[number%2]}}
}

// permuted returns the case with its points in another order.
func (c *voxelizing) permuted(order []int) *voxelizing {
	move := func(a *array) *array {
		if a == nil {
			return nil
		}
		in, width := a.dense(), a.len()/max(a.shape[0], 1)
		out := make([]uint64, 0, len(in))
		for _, p := range order {
			out = append(out, in[p*width:(p+1)*width]...)
		}
		return packed(a.dtype, out, a.shape...)
	}
	o := *c
	o.Points, o.Features, o.Labels = move(c.Points), move(c.Features), move(c.Labels)
	return &o
}

// voxelProperties tests promises that hold for any input, so they need no oracle.
func (s *suite) voxelProperties(t *testing.T) {
	t.Run("permuting points changes nothing", s.voxelPermuted)
	t.Run("the counts of two halves add up to the whole", s.voxelHalves)
	t.Run("a pose by option is a pose applied to the points", s.voxelPosed)
	t.Run("rows one by one give the batch", s.voxelRows)
}

func (s *suite) voxelPermuted(t *testing.T) {
	for i := range 40 {
		r := rng(uint64(2000 + i))
		c := randomVoxels(r)
		if c.Opts.Mode == ops.VoxelHard || c.Offsets != nil {
			continue
		}
		want := s.called(t, c)
		order := r.Perm(c.Points.shape[0])
		got := s.called(t, c.permuted(order))
		if inverse := got.out["PointVoxel"]; inverse != nil {
			back := packed(tensor.I32, make([]uint64, inverse.len()), inverse.len())
			for k, p := range order {
				back.raw[p] = inverse.raw[k]
			}
			got.out["PointVoxel"] = back
		}
		assert.Empty(t, got.same(want), c.describe())
	}
}

func (s *suite) voxelHalves(t *testing.T) {
	for i := range 10 {
		r := rng(uint64(2100 + i))
		n := 500 + r.IntN(500)
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 3*n), n, 3), Box: cube(-8, 4, 4), Opts: countGrid}
		whole := s.called(t, c)
		sum := make([]uint64, whole.out["Grid"].len())
		cut := r.IntN(n)
		for _, half := range [][]uint64{c.Points.raw[:3*cut], c.Points.raw[3*cut:]} {
			o := *c
			o.Points = packed(tensor.F32, half, len(half)/3, 3)
			got := s.called(t, &o)
			for k, v := range got.out["Grid"].raw {
				sum[k] += v
			}
		}
		assert.Equal(t, whole.out["Grid"].raw, sum)
	}
}

func (s *suite) voxelPosed(t *testing.T) {
	for i := range 20 {
		r := rng(uint64(2200 + i))
		n := 300
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 3*n), n, 3), Poses: vals(tensor.F32, uniformValues(r, 16), 4, 4), Box: cube(-60, 9, 14), Opts: voxelForms[i%len(voxelForms)]}
		want := s.called(t, c)
		moved := *c
		moved.Poses = nil
		moved.Points = packed(tensor.F32, make([]uint64, 3*n), n, 3)
		for k := range n {
			for a := range 3 {
				moved.Points.raw[3*k+a] = c.valueBits(k, a)
			}
		}
		got := s.called(t, &moved)
		assert.Empty(t, got.same(want), c.describe())
	}
}

func (s *suite) voxelRows(t *testing.T) {
	r := rng(2300)
	n := 400
	offsets := []int64{0, 130, 130, 131, 400}
	for _, opts := range voxelForms {
		c := &voxelizing{Points: vals(tensor.F32, uniformValues(r, 3*n), n, 3), Offsets: arr(offsets, 5), Box: cube(-8, 4, 4), Opts: opts}
		batch := s.called(t, c)
		var grid, coords, values []uint64
		for b := range 4 {
			one := *c
			one.Offsets = nil
			one.Points = packed(tensor.F32, c.Points.raw[3*offsets[b]:3*offsets[b+1]], int(offsets[b+1]-offsets[b]), 3)
			got := s.called(t, &one)
			if opts.Mode == ops.VoxelDense {
				grid = append(grid, got.out["Grid"].raw...)
				continue
			}
			for k := range int(got.found.Voxels) {
				coords = append(append(coords, uint64(b)), got.out["Coords"].raw[3*k:][:3]...)
			}
			if v := got.out["Values"]; v != nil {
				values = append(values, v.raw...)
			}
		}
		if opts.Mode == ops.VoxelDense {
			assert.Equal(t, batch.out["Grid"].raw, grid, "%+v", opts)
			continue
		}
		assert.Equal(t, batch.out["Coords"].raw, coords, "%+v", opts)
		if v := batch.out["Values"]; v != nil {
			assert.Equal(t, v.raw, values, "%+v", opts)
		}
	}
}

// conservation tests that every point is counted once, and that the counts in the grid, or in the voxels that were kept, add up to
// the points in range.
func (s *suite) conservation(t *testing.T) {
	for i := range 40 {
		c := randomVoxels(rng(uint64(2400 + i)))
		got := s.called(t, c)
		f := got.found
		assert.EqualValues(t, c.Points.shape[0], f.InRange+f.OutOfRange+f.NotFinite, c.describe())
		sum, out := int64(0), got.out["Counts"]
		if c.Opts.Mode == ops.VoxelDense {
			if c.reduction() != ops.ReduceCount || c.Opts.Empty != 0 {
				continue
			}
			out = got.out["Grid"]
		}
		for _, n := range out.raw {
			sum += int64(n)
		}
		assert.Equal(t, f.InRange-f.DroppedPoints, sum, c.describe())
	}
}

// FuzzVoxels runs random jobs against the oracle and the CPU.
func FuzzVoxels(f *testing.F, devs ...*ops.Device) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, s := range all {
			s.voxelCheck(t, randomVoxels(rng(seed)))
		}
	})
}
