package opstest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// elsewhere is memory on another device than the one under test.
type elsewhere struct{ size int64 }

func (e elsewhere) Addr() uint64   { return 1 << 40 }
func (e elsewhere) Size() int64    { return e.size }
func (e elsewhere) Device() string { return "elsewhere:0" }
func (e elsewhere) Close() error   { return nil }

// maker makes tensors for calls, on a device or on the host.
type maker struct {
	put func(*array) *tensor.Tensor
}

func (m maker) new(dtype tensor.DType, shape ...int) *tensor.Tensor {
	a := packed(dtype, nil, shape...)
	for i := range a.len() {
		a.raw = append(a.raw, encode(dtype, float64(i)))
	}
	return m.put(a)
}

func (m maker) scalar(dtype tensor.DType) *tensor.Tensor { return m.put(packed(dtype, []uint64{0})) }

// apart returns a tensor with gaps in its last dimension.
func (m maker) apart(dtype tensor.DType, shape ...int) *tensor.Tensor {
	last := len(shape) - 1
	wide := slices.Clone(shape)
	wide[last] *= 2
	t := m.new(dtype, wide...)
	strides := t.Strides()
	strides[last] = 2
	return tensor.Must(t.AsStrided(shape, strides, 0))
}

func (m maker) closed(dtype tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.Must(tensor.New(dtype, shape...))
	t.Close()
	return t
}

func (m maker) foreign(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.OnDevice(elsewhere{1 << 20}, dtype, shape...))
}

func (m maker) ints(data ...int64) *tensor.Tensor { return m.put(arr(data, len(data))) }

// wrong is one way to make a call wrong, and the name of the argument in the error.
type wrong[C any] struct {
	name, arg string
	kind      error
	spoil     func(c *C)
	only      form // the form that must fail; the default is both
	place     int  // index of the tensor that make replaces, if spoil is nil
	make      func(m maker) *tensor.Tensor
}

// form is a way to run an operation: as a plan, or by a call on host tensors.
type form int

const (
	inBoth form = iota
	asPlan
	byCall
)

// misuses has an operation's wrong calls. C holds the arguments and options.
type misuses[C any] struct {
	op         string
	good       func(m maker, c *C) // fills c with a valid call
	places     func(c *C) []place  // the tensors of the call
	free       []string            // tensors with a first dimension that may have any length
	needed     []string            // tensors that both forms require
	made       []string            // tensors that a plan requires and a call allocates
	wrong      []wrong[C]          // mistakes other than those that every tensor can have
	plan, call func(dev *ops.Device, c *C) error
}

// all returns the table of wrong calls, with the mistakes that every tensor can have.
func (x *misuses[C]) all() []wrong[C] {
	var list []wrong[C]
	var whole C
	x.good(maker{(*array).host}, &whole)
	for i, p := range x.places(&whole) {
		dtype, shape := (*p.at).DType(), (*p.at).Shape()
		set := func(what string, kind error, make func(m maker) *tensor.Tensor) {
			list = append(list, wrong[C]{name: p.name + " " + what, arg: p.name, kind: kind, place: i, make: make})
		}
		set("closed", ops.ErrClosed, func(m maker) *tensor.Tensor { return m.closed(dtype, shape...) })
		set("of another device", ops.ErrWrongDevice, func(m maker) *tensor.Tensor { return m.foreign(dtype, shape...) })
		set("of another dtype", ops.ErrDType, func(m maker) *tensor.Tensor {
			if dtype == tensor.I32 {
				return m.new(tensor.I64, shape...)
			}
			return m.new(tensor.I32, shape...)
		})
		set("not contiguous in the last dimension", ops.ErrStride, func(m maker) *tensor.Tensor { return m.apart(dtype, shape...) })
		set("of one rank more", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(dtype, append([]int{1}, shape...)...) })
		set("of rank 0", ops.ErrShape, func(m maker) *tensor.Tensor { return m.scalar(dtype) })
		if !slices.Contains(x.free, p.name) {
			set("with one row more", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(dtype, append([]int{shape[0] + 1}, shape[1:]...)...) })
		}
		if made := slices.Contains(x.made, p.name); made || slices.Contains(x.needed, p.name) {
			set("missing", ops.ErrMissing, func(maker) *tensor.Tensor { return nil })
			if made {
				list[len(list)-1].only = asPlan
			}
		}
	}
	return append(list, x.wrong...)
}

// run makes each wrong call on a device. It must return an error that names the argument, and write nothing.
func (x *misuses[C]) run(t *testing.T, s *suite, list []wrong[C]) {
	p := &placed{dev: s.dev}
	defer func() { assert.NoError(t, p.close()) }()
	for _, w := range list {
		try := func(form string, put func(*array) *tensor.Tensor, run func(dev *ops.Device, c *C) error) {
			var c C
			m := maker{put}
			x.good(m, &c)
			if places := x.places(&c); w.make != nil {
				*places[w.place].at = w.make(m)
			} else {
				w.spoil(&c)
			}
			require.NoError(t, p.err)
			s.refused(t, w.name+", "+form, x.op, w.arg, w.kind, func() error { return run(s.dev, &c) }, x.places(&c))
		}
		if w.only != byCall {
			try("plan", p.put, x.plan)
		}
		if w.only != asPlan {
			try("call", (*array).host, x.call)
		}
	}
	var c C
	x.good(maker{(*array).host}, &c)
	assert.NoError(t, x.call(s.dev, &c), "%s: the call that was spoiled", x.op)
}

// refused runs a call that must return an *ArgError about an argument, and must not write to the tensors.
func (s *suite) refused(t *testing.T, form, op, arg string, kind error, run func() error, tensors []place) {
	t.Helper()
	before := map[*tensor.Tensor][]uint64{}
	for _, p := range tensors {
		if x := *p.at; x != nil && !x.Closed() && (x.OnHost() || x.Device() == s.home()) && x.IsContiguous() {
			before[x] = s.read(t, x)
		}
	}
	err := run()
	var e *ops.ArgError
	if !assert.True(t, errors.As(err, &e), "%s: got %v, want an *ArgError", form, err) {
		return
	}
	assert.ErrorIs(t, err, kind, form)
	assert.Equal(t, [2]string{op, arg}, [2]string{e.Op, e.Arg}, "%s: %v", form, err)
	assert.NotEmpty(t, e.Want, "%s: says nothing of what it wanted", form)
	for x, bits := range before {
		assert.Equal(t, bits, s.read(t, x), "%s: something was written", form)
	}
}

// Misuse tests that every wrong call on a device returns an error. The checks are in package ops, so they do not depend on the
// backend.
func Misuse(t *testing.T, dev *ops.Device) {
	s := newSuite(t, dev, Config{})
	t.Run("Resample", func(t *testing.T) { x := resampleMisuses(); x.run(t, s, x.all()) })
	t.Run("ResampleBackward", func(t *testing.T) { x := resampleBackwardMisuses(); x.run(t, s, x.wrong) })
	t.Run("Fuse", func(t *testing.T) { x := fuseMisuses(); x.run(t, s, x.all()) })
	t.Run("FuseBackward", func(t *testing.T) { x := fuseBackwardMisuses(); x.run(t, s, x.all()) })
	t.Run("Draw", func(t *testing.T) { x := drawMisuses(); x.run(t, s, x.all()) })
	for _, x := range voxelMisuses() {
		t.Run("Voxelize", func(t *testing.T) { x.run(t, s, x.all()) })
	}
	for _, x := range tallyMisuses() {
		t.Run("Tally", func(t *testing.T) { x.run(t, s, x.all()) })
	}
	for _, x := range framesMisuses() {
		t.Run("Frames", func(t *testing.T) { x.run(t, s, x.all()) })
	}
	t.Run("Deproject", func(t *testing.T) { x := deprojectMisuses(); x.run(t, s, x.all()) })
	t.Run("FarthestPoints", func(t *testing.T) { x := farthestMisuses(); x.run(t, s, x.all()) })
	t.Run("Integrate", func(t *testing.T) { x := integrateMisuses(); x.run(t, s, x.all()) })
	t.Run("Copy", s.copyMisuse)
	t.Run("PlanBatch", s.batchMisuse)
	t.Run("memory", s.memory)
	t.Run("the device works afterwards", func(t *testing.T) { s.literal(t, literals[0]) })
	_, err := ops.VoxelPreset("pcl")
	assert.ErrorIs(t, err, ops.ErrOption)
	_, err = ops.ParseLastBatch("some")
	assert.ErrorIs(t, err, ops.ErrOption)
}

// refuses tests that a backend returns the errors of package ops unchanged.
func (s *suite) refuses(t *testing.T) {
	x := resampleMisuses()
	x.run(t, s, x.all()[1:2])
}

// read returns the bits of a contiguous tensor on any device.
func (s *suite) read(t *testing.T, x *tensor.Tensor) []uint64 {
	t.Helper()
	host := tensor.Must(tensor.New(x.DType(), x.Shape()...))
	require.NoError(t, s.dev.Copy(context.Background(), host, x))
	return bitsOf(host)
}
