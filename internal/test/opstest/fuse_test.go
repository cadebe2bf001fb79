package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// TestFusionsHoldWhatTheyAreThereFor checks that the random fusions cover the properties that they are meant for.
func TestFusionsHoldWhatTheyAreThereFor(t *testing.T) {
	seen := map[string]int{}
	valid, all, faults := 0, 0, 0
	for number := range 96 {
		f := drawFuse(number)[0].operation.(*fusing)
		note := func(format string, args ...any) { seen[fmt.Sprintf(format, args...)]++ }
		note("streams %d", len(f.Streams))
		note("out %v", f.Out)
		note("clock %v, tensor %v, packed %v", f.clock(), f.Targets != nil, f.DstOffsets != nil)
		for m, p := range f.Streams {
			if p.Src == nil {
				note("missing")
				continue
			}
			note("%v in", p.Src.dtype)
			note("kind %v", p.Opts.Interp)
			for _, c := range p.Opts.Channels {
				note("kind %v", c.Interp)
			}
			note("shift %v scale %v", p.Shift != nil, p.Scale != nil)
			note("offset %v", p.Offset != 0)
			note("table %v", len(p.Opts.Channels) > 0)
			note("lengths %v offsets %v", p.SrcLengths != nil, p.SrcOffsets != nil)
			if a := solve(f.alone(m)); a.err == nil && m > 0 {
				for _, v := range a.valid {
					all, valid = all+1, valid+int(v)
				}
			}
		}
		if f.fault() != nil {
			faults++
		}
	}
	want := []string{"missing", "shift true scale true", "shift true scale false", "shift false scale true", "shift false scale false", "offset true", "table true",
		"lengths true offsets false", "lengths false offsets true", "streams 1", "streams 16"}
	for _, dtype := range valueDTypes {
		want = append(want, fmt.Sprintf("%v in", dtype), fmt.Sprintf("out %v", dtype))
	}
	for _, k := range ops.Interps() {
		want = append(want, fmt.Sprintf("kind %v", k))
	}
	for _, clock := range clockDTypes {
		want = append(want, fmt.Sprintf("clock %v, tensor true, packed false", clock), fmt.Sprintf("clock %v, tensor false, packed false", clock), fmt.Sprintf("clock %v, tensor true, packed true", clock))
	}
	for _, w := range want {
		assert.NotZero(t, seen[w], "the sample has none of: %s", w)
	}
	assert.Greater(t, valid, all/5, "targets that are valid in a stream beside the first")
	assert.Positive(t, faults, "cases that are errors")
	assert.Less(t, faults, 24, "cases that are errors and show nothing else")
}

func TestFusionsComparisonCatchesAWrongElement(t *testing.T) {
	f := &fusing{Name: "x", Out: tensor.F32, Streams: []*part{constant(1, 2, 1), {Width: 1}}, Targets: vals(tensor.F64, []float64{0}, 1)}
	right := func() *result {
		r := &result{out: map[string]*array{}}
		r.add("Dst", vals(tensor.F32, []float64{1, 0}, 2))
		r.add("Valid", arr([]uint8{1, 0}, 2))
		r.add("Age", vals(tensor.F64, []float64{0, 0}, 2))
		return r
	}
	kept := []bool{true, false}
	assert.Empty(t, f.differ(right(), right(), kept))
	for _, spoil := range []func(*result){
		func(r *result) { r.dst[0]++ }, func(r *result) { r.dst[1] = 0x80000000 }, func(r *result) { r.valid[1] = 1 }, func(r *result) { r.age[0] = 1 },
	} {
		got := right()
		spoil(got)
		assert.NotEmpty(t, f.differ(right(), got, kept))
	}
	p := &part{Shift: []float32{0.1}, Scale: []float32{3}}
	assert.Equal(t, encode(tensor.F32, float64(float32(float32(0.3)-0.1)*3)), p.normal(tensor.F32, 0, encode(tensor.F32, float64(float32(0.3)))))
	assert.True(t, math.IsNaN(decode(tensor.F16, p.normal(tensor.F16, 0, encode(tensor.F32, math.NaN())))))
}
