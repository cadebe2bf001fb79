package opstest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Jobs that write nothing are checked like others: the rules for offsets and timestamps do not depend on the targets.

// notNought has values that the single offset of a job without rows must not have.
var notNought = []int64{7, 1, -1, math.MinInt64, math.MaxInt64}

// noRows returns resamplings without rows, without targets and without features.
func noRows() (cases []*resampling) {
	add := func(name string, c *resampling) {
		c.Name = name
		cases = append(cases, c)
	}
	none := func(b, n, d int) *array { return vals(tensor.F32, make([]float64, b*n*d), b, n, d) }
	offsets := func(x ...int64) *array { return arr(x, len(x)) }
	packed := func() *resampling {
		return &resampling{Src: vals(tensor.F32, nil, 0, 2), Times: offsets(), SrcOffsets: offsets(0), Targets: arr([]int64{}, 0, 2)}
	}
	add("no rows, and offsets of 0", packed())
	for _, x := range notNought {
		c := packed()
		c.SrcOffsets = offsets(x)
		add(fmt.Sprint("no rows, and an offset of ", x), c)
		c = packed()
		c.Targets, c.DstOffsets = offsets(), offsets(x)
		add(fmt.Sprint("no rows, and an offset of the targets of ", x), c)
		add(fmt.Sprint("no rows of 3 samples, and an offset of the targets of ", x),
			&resampling{Src: none(0, 3, 2), Times: arr([]int64{}, 0, 3), Targets: offsets(), DstOffsets: offsets(x)})
	}
	c := packed()
	c.SrcOffsets, c.DstOffsets, c.Targets = offsets(2), offsets(3), offsets()
	add("no rows, and offsets of both sides", c)
	c = packed()
	c.SrcOffsets, c.Times, c.Targets, c.Clock = offsets(5), vals(tensor.F64, nil, 0), nil, ops.Uniform(0, 50, 9)
	add("no rows, an offset and a uniform clock", c)
	c = packed()
	c.SrcOffsets, c.Opts.TrustTimes = offsets(7), true
	add("no rows, and a trusted offset", c)
	good, back := []int64{0, 1, 2, 3, 4, 5}, []int64{0, 1, 2, 5, 4, 3}
	six := func(times []int64, d int, src ...int64) *resampling {
		return &resampling{Src: vals(tensor.F32, make([]float64, 6*d), 6, d), Times: arr(times, 6), SrcOffsets: offsets(src...), Targets: arr([]int64{}, len(src)-1, 0)}
	}
	add("no targets, and offsets that go back", six(good, 2, 0, 4, 3, 6))
	add("no targets, and offsets that end early", six(good, 2, 0, 4, 5))
	add("no targets, and a row that goes back", six(back, 2, 0, 2, 6))
	add("no targets, and rows that go back between them", six(back, 2, 0, 4, 5, 6))
	c = six(good, 2, 0, 4, 6)
	c.Targets, c.DstOffsets = offsets(), offsets(0, 1, 0)
	add("no targets, and offsets of them", c)
	add("no targets, and lengths of them", &resampling{Src: none(2, 3, 2), Times: arr([]int64{0, 1, 2, 0, 1, 2}, 2, 3), Targets: arr([]int64{}, 2, 0), DstLengths: offsets(0, 1)})
	add("no targets, and a timestamp that is not finite", &resampling{Src: none(2, 2, 2), Times: vals(tensor.F64, []float64{0, 1, 0, math.NaN()}, 2, 2), Targets: vals(tensor.F64, nil, 2, 0)})
	add("no targets, and trusted times", &resampling{Src: none(2, 3, 2), Times: arr(back, 2, 3), Targets: arr([]int64{}, 2, 0), Opts: ops.ResampleOptions{TrustTimes: true}})
	c = six(back, 0, 0, 2, 6)
	c.Targets = arr([]int64{0, 1, 2, 3}, 2, 2)
	add("no features, and a row that goes back", c)
	c = six(good, 0, 0, 6, 6)
	c.Targets = arr([]int64{0, 1, 2, 3}, 2, 2)
	add("no features, and a row without samples", c)
	c = six(good, 0, 0, 2, 6)
	c.Targets, c.DstOffsets = arr([]int64{0, 1, 2, 3}, 4), offsets(0, 3, 5)
	add("no features, and offsets of targets", c)
	return cases
}

// fuseNoRows tests the same jobs as fusions. Errors must name the stream.
func (s *suite) fuseNoRows(t *testing.T) {
	offsets := func(x ...int64) *array { return arr(x, len(x)) }
	stream := func(times []int64, src ...int64) *part {
		n := len(times)
		return &part{resampling: resampling{Src: vals(tensor.F64, make([]float64, 2*n), n, 2), Times: offsets(times...), SrcOffsets: offsets(src...)},
			Shift: make([]float32, 2), Scale: make([]float32, 2)}
	}
	none := func(x int64) *part { return stream(nil, x) }
	for _, x := range append([]int64{0}, notNought...) {
		s.check(t, &fusing{Name: fmt.Sprint("no rows of the second stream, and an offset of ", x), Out: tensor.BF16,
			Streams: []*part{none(0), none(x), {Width: 3}}, Targets: arr([]int64{}, 0, 4)}, layouts...)
		s.check(t, &fusing{Name: fmt.Sprint("no rows, and an offset of the targets of ", x), Out: tensor.F32,
			Streams: []*part{{Width: 3}, none(0)}, Targets: offsets(), DstOffsets: offsets(x)}, layouts...)
	}
	good, back := []int64{0, 1, 2, 3}, []int64{0, 2, 1, 3}
	empty := map[string][]*part{
		"no targets, and offsets that go back":           {stream(good, 0, 2, 4), stream(good, 0, 5, 4)},
		"no targets, and a third stream that goes back":  {stream(good, 0, 2, 4), {Width: 1}, stream(back, 0, 0, 4)},
		"no targets, and rows that go back between them": {stream(good, 0, 2, 4), stream(back, 0, 2, 4)},
	}
	for _, name := range slices.Sorted(maps.Keys(empty)) {
		s.check(t, &fusing{Name: name, Out: tensor.F16, Streams: empty[name], Targets: arr([]int64{}, 2, 0)}, layouts...)
	}
}

// voxelNoRows tests the same for Voxelize.
func (s *suite) voxelNoRows(t *testing.T) {
	for _, opts := range voxelForms {
		for _, x := range notNought {
			s.run(t, &voxelizing{Points: cloud(), Offsets: arr([]int64{x}, 1), Box: cube(0, 1, 3), Opts: opts}, layouts[1])
		}
		// The plan works again once the offset is correct.
		c := &voxelizing{Points: cloud(), Offsets: arr([]int64{0}, 1), Box: cube(0, 1, 3), Opts: opts, V: 2}
		r, st := s.rig(t, &subject{operation: c, op: "Voxelize", inputs: map[string]**array{"Offsets": &c.Offsets}, badIn: "Offsets"}), s.stream(t)
		for _, x := range []int64{0, 7, 0} {
			r.set(t, "Offsets", arr([]int64{x}, 1))
			if x == 0 {
				r.runs(t, st, 1, "no rows", r.on(st))
				continue
			}
			assert.NoError(t, r.plan.Run(st))
			r.wantFault(t, st.Synchronize(background))
		}
	}
}

// noFeatures tests that a job without features writes nothing, not even Valid and Age.
func (s *suite) noFeatures(t *testing.T) {
	src, times := tensor.Must(tensor.New(tensor.F32, 2, 3, 0)), arr([]int64{0, 1, 2, 0, 1, 2}, 2, 3).host()
	args := ops.ResampleArgs{Src: src, SrcTimes: times, Targets: ops.Uniform(0, 1e9, 2)}
	got, err := s.dev.Resample(context.Background(), args, ops.ResampleOptions{})
	assert.NoError(t, err)
	assert.Equal(t, []int{2, 2, 0}, got.Values.Shape())
	assert.Equal(t, make([]uint64, 4), bitsOf(got.Valid), "no value is there")
	assert.Equal(t, make([]uint64, 4), bitsOf(got.Age))
	args.Valid, args.Age = arr([]uint8{9, 8, 7, 6}, 2, 2).host(), arr([]int64{5, 4, 3, 2}, 2, 2).host()
	got, err = s.dev.Resample(context.Background(), args, ops.ResampleOptions{})
	assert.NoError(t, err)
	assert.Equal(t, []uint64{9, 8, 7, 6}, bitsOf(got.Valid), "what was given stays")
	assert.Equal(t, []uint64{5, 4, 3, 2}, bitsOf(got.Age))
	// The same in a plan with device tensors.
	c := &resampling{Src: vals(tensor.F32, nil, 2, 3, 0), Times: arr([]int64{0, 1, 2, 0, 1, 2}, 2, 3), Targets: arr([]int64{0, 1, 1, 2}, 2, 2)}
	for _, l := range layouts {
		r := s.once(t, s.dev, c, l)
		for i := range 4 {
			assert.Equal(t, [2]uint64{poison(tensor.U8), poison(tensor.I64)}, [2]uint64{r.valid[i], r.age[i]}, l.name)
		}
	}
}
