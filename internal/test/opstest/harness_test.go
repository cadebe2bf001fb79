package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestGuardsCatchEveryStrayWrite(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	// [2,2,3] with gaps: 2 elements between targets, 1 more between rows, 3 before and 4 after.
	g, err := guard(dev, spaced(tensor.F32, []int{2, 2, 3}, 2, 1, 3), 4)
	require.NoError(t, err)
	data, err := tensor.Data[float32](g.base)
	require.NoError(t, err)
	mine := map[int]bool{}
	g.each(func(_, at int) { mine[at] = true })
	require.Len(t, mine, 12)
	for i := range data {
		old := data[i]
		data[i] = 1
		_, err := g.read(dev)
		assert.Equal(t, mine[i], err == nil, "a write to element %d of %d", i, len(data))
		data[i] = old
	}
}

func TestComparisonCatchesAWrongElement(t *testing.T) {
	c := &resampling{Src: vals(tensor.F32, []float64{1, 2}, 2, 1), Times: arr([]int64{0, 2}, 2), Targets: arr([]int64{1, 2}, 2)}
	want := solve(c)
	right := func() *result {
		r := &result{out: map[string]*array{}}
		r.add("Dst", vals(tensor.F32, []float64{1.5, 2}, 2, 1))
		r.add("Valid", arr([]uint8{1, 1}, 2))
		r.add("Age", arr([]int64{1, 0}, 2))
		return r
	}
	assert.Empty(t, want.compare(c, right()))
	for _, spoil := range []func(*result){
		func(r *result) { r.dst[0]++ },
		func(r *result) { r.dst[1] = poison(tensor.F32) },
		func(r *result) { r.valid[1] = 0 },
		func(r *result) { r.age[0] = poison(tensor.I64) },
	} {
		got := right()
		spoil(got)
		assert.NotEmpty(t, want.compare(c, got))
	}
}

func TestErrorsThatAreNotDueAreMistakes(t *testing.T) {
	fault := &ops.ValueError{Op: "Draw"}
	right := func(*result) string { return "" }
	assert.Empty(t, mistake(nil, right, nil, nil))
	assert.Empty(t, mistake(fault, nil, nil, &ops.ValueError{Op: "Draw"}))
	assert.NotEmpty(t, mistake(nil, right, nil, fault), "an error where there should be none")
	assert.NotEmpty(t, mistake(fault, nil, nil, nil), "no error where one is due")
	assert.NotEmpty(t, mistake(fault, nil, nil, &ops.ValueError{Op: "Draw", Row: 1}), "another error")
}

func TestOnlyNaNsMadeByArithmeticMayDiffer(t *testing.T) {
	one, other := uint64(0x7fc00001), uint64(0xffc00002)
	assert.True(t, (&expect{rule: rounded, bits: one}).ok(tensor.F32, other))
	assert.False(t, (&expect{rule: copied, bits: one}).ok(tensor.F32, other))
	assert.False(t, (&expect{rule: rounded, bits: one}).ok(tensor.F32, 0))
	assert.False(t, (&expect{rule: rounded, bits: 0}).ok(tensor.F32, 0x80000000), "a zero's sign counts")
}

func TestTolerancesAreThoseOfTheSemantics(t *testing.T) {
	e := &expect{rule: near, want: 1, size: 1}
	assert.True(t, e.ok(tensor.F64, math.Float64bits(1+0.9e-14)))
	assert.False(t, e.ok(tensor.F64, math.Float64bits(1+1.1e-14)))
	assert.True(t, e.ok(tensor.F32, encode(tensor.F32, 1+4*0x1p-24)))
	assert.False(t, e.ok(tensor.F32, encode(tensor.F32, 1+6*0x1p-24)))
	assert.True(t, e.ok(tensor.BF16, 0x3f81))
	assert.False(t, e.ok(tensor.BF16, 0x3f82))
	angle := &expect{rule: near, want: -180, size: 180, period: 360}
	assert.True(t, angle.ok(tensor.F32, encode(tensor.F32, 180)))
	assert.False(t, angle.ok(tensor.F32, encode(tensor.F32, 0)))
	assert.True(t, (&expect{rule: near, want: math.NaN()}).ok(tensor.F32, encode(tensor.F32, math.NaN())))
	assert.False(t, (&expect{rule: near, want: math.NaN()}).ok(tensor.F32, 0))
}
