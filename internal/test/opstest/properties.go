package opstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// properties tests promises that hold for any input, so they need no oracle.
func (s *suite) properties(t *testing.T) {
	t.Run("resampling onto the own clock is the identity", s.identity)
	t.Run("permuted targets permute the result", s.permuted)
	t.Run("shifting all times changes nothing", s.shifted)
	t.Run("rows one by one give the batch", s.rowByRow)
	t.Run("a window's mean is between its least and its greatest", s.meanBetween)
	t.Run("a window longer than the recording reduces all up to the target", s.wholeWindow)
	t.Run("catmull-rom and hermite reproduce their polynomials", s.polynomials)
	t.Run("a hermite's velocity is its value's slope", s.velocityIsSlope)
	t.Run("at a constant rate rotations turn evenly", s.constantRate)
	t.Run("a rotation is the same in every form", s.formsAgree)
}

func (s *suite) identity(t *testing.T) {
	r := rng(20)
	for _, kind := range ops.Interps() {
		for i, dtype := range valueDTypes {
			times := ascending(r, 200, 1_762_550_000e9)
			raw := make([]uint64, 200*12)
			for i := range raw { // any bits: NaNs with payloads, infinities, subnormals
				raw[i] = r.Uint64() >> (64 - 8*dtype.Size())
			}
			c := &resampling{Src: packed(dtype, raw, 200, 12), Times: arr(times, 200), Targets: arr(times, 200), Opts: ops.ResampleOptions{Interp: kind, Edge: ops.Edge(i), Window: ops.Within(1)}}
			if i == 2 { // the same timestamps in seconds
				sec := make([]float64, len(times))
				for k := range sec {
					sec[k] = float64(k) * .01
				}
				c.Times, c.Targets = arr(sec, 200), arr(sec, 200)
			}
			got := s.called(t, c)
			if kind == ops.InterpWindowMean { // the mean is arithmetic, even of a window with only one sample
				equalBits(t, dtype, raw, got.dst, fmt.Sprint(kind, dtype))
				continue
			}
			assert.Equal(t, raw, got.dst, "%v %v", kind, dtype)
		}
	}
}

// sampleWidth is the number of features from sample: a multiple of every kind's width.
const sampleWidth = 12

// sample returns a random batch; the features have every kind in turn.
func sample(r interface {
	IntN(int) int
	NormFloat64() float64
	Int64N(int64) int64
}, kind ops.Interp, b, n, m int) *resampling {
	dtype := valueDTypes[r.IntN(4)]
	v := make([]float64, b*n*sampleWidth)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	var times, x []int64
	for range b {
		at := r.Int64N(1e9)
		var row []int64
		for range n {
			at += r.Int64N(2e7) // sometimes a duplicate
			row = append(row, at)
		}
		times = append(times, row...)
		for range m {
			x = append(x, row[0]-1e7+r.Int64N(at-row[0]+2e7))
		}
	}
	return &resampling{Name: kind.String(), Src: vals(dtype, v, b, n, sampleWidth), Times: arr(times, b, n), Targets: arr(x, b, m),
		Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(time.Duration(1 + r.Int64N(1e8))), Edge: ops.Edge(r.IntN(3)), MaxGap: ops.Within(15e6), FillGaps: r.IntN(2) == 0}}
}

func (s *suite) permuted(t *testing.T) {
	r := rng(21)
	for _, kind := range ops.Interps() {
		c := sample(r, kind, 1, 60, 300)
		want := s.called(t, c)
		order := r.Perm(300)
		x := make([]uint64, 300)
		for i, p := range order {
			x[i] = c.Targets.raw[p]
		}
		c.Targets = packed(tensor.I64, x, 1, 300)
		got := s.called(t, c)
		for i, p := range order {
			if !equalBits(t, c.out(), want.dst[p*sampleWidth:][:sampleWidth], got.dst[i*sampleWidth:][:sampleWidth], fmt.Sprint(kind, " target ", p)) {
				break
			}
			assert.Equal(t, [2]uint64{want.valid[p], want.age[p]}, [2]uint64{got.valid[i], got.age[i]}, "%v", kind)
		}
	}
}

func (s *suite) shifted(t *testing.T) {
	r := rng(22)
	for _, kind := range ops.Interps() {
		c := sample(r, kind, 2, 60, 100)
		want := s.called(t, c)
		for _, shift := range []int64{1, -1e9, 1_762_550_000e9, 1<<62 - 1e10, -1<<62 + 1e8} {
			moved := *c
			moved.Times, moved.Targets = add(c.Times, shift), add(c.Targets, shift)
			got := s.called(t, &moved)
			equalBits(t, c.out(), want.dst, got.dst, fmt.Sprint(kind, " shifted by ", shift))
			assert.Equal(t, want.valid, got.valid)
			assert.Equal(t, want.age, got.age)
		}
	}
}

func add(a *array, shift int64) *array {
	raw := make([]uint64, len(a.raw))
	for i, x := range a.raw {
		raw[i] = uint64(int64(x) + shift)
	}
	return packed(a.dtype, raw, a.shape...)
}

func (s *suite) rowByRow(t *testing.T) {
	r := rng(23)
	for _, kind := range ops.Interps() {
		const b, n, m, d = 6, 33, 70, sampleWidth
		c := sample(r, kind, b, n, m)
		want := s.called(t, c)
		for i := range b {
			one := *c
			one.Src = packed(c.Src.dtype, c.Src.raw[i*n*d:][:n*d], n, d)
			one.Times, one.Targets = packed(tensor.I64, c.Times.raw[i*n:][:n], n), packed(tensor.I64, c.Targets.raw[i*m:][:m], m)
			got := s.called(t, &one)
			equalBits(t, c.out(), want.dst[i*m*d:][:m*d], got.dst, fmt.Sprint(kind, " row ", i))
			assert.Equal(t, want.valid[i*m:][:m], got.valid)
			assert.Equal(t, want.age[i*m:][:m], got.age)
		}
	}
}
