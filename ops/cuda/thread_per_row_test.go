package cuda

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Which jobs are made by pieces, and which of them are better made so.
func TestWhatIsMadeByPieces(t *testing.T) {
	b := h100()
	with := func(change func(*ops.ResampleOptions)) ops.ResampleOptions {
		opts := pose
		change(&opts)
		return opts
	}
	kinds := with(func(o *ops.ResampleOptions) { // 17 pieces
		o.Channels = nil
		for i := range 17 {
			o.Channels = append(o.Channels, ops.Channel{Lo: i, Hi: i + 1, Interp: ops.Interp(i % 2)})
		}
	})
	one := ops.ResampleOptions{}
	dst := func(x *tensor.Tensor) func(*ops.ResampleArgs) { return func(a *ops.ResampleArgs) { a.Dst = x } }
	for _, c := range []struct {
		what           string
		dtype          tensor.DType
		b, s, n, d     int
		opts           ops.ResampleOptions
		change         func(*ops.ResampleArgs)
		supports, want bool
	}{
		{"position and quaternion", tensor.F32, 3, 10, 5, 7, pose, nil, true, true},
		{"of halves", tensor.F16, 3, 10, 5, 7, pose, nil, true, true},
		{"angles", tensor.F32, 3, 10, 5, 7, ops.ResampleOptions{Interp: ops.InterpAngle}, nil, true, true},
		{"cubic", tensor.F32, 3, 10, 5, 7, with(func(o *ops.ResampleOptions) { o.Interp = ops.InterpPchip }), nil, false, false},
		{"gap limit", tensor.F32, 3, 10, 5, 7, with(func(o *ops.ResampleOptions) { o.MaxGap = ops.Within(time.Second) }), nil, false, false},
		{"tolerance", tensor.F32, 3, 10, 5, 7, ops.ResampleOptions{Interp: ops.InterpNearest, Tolerance: ops.Within(time.Second)}, nil, false, false},
		{"filled", tensor.F32, 3, 10, 5, 7, with(func(o *ops.ResampleOptions) { o.Edge = ops.EdgeFill }), nil, false, false},
		{"f64", tensor.F64, 3, 10, 5, 7, pose, nil, false, false},
		{"another dtype", tensor.F32, 3, 10, 5, 7, pose, dst(place(tensor.BF16, 3, 5, 7)), false, false},
		{"lengths", tensor.F32, 3, 10, 5, 7, pose, func(a *ops.ResampleArgs) { a.SrcLengths = place(tensor.I64, 3) }, false, false},
		{"samples apart", tensor.F32, 3, 10, 5, 7, pose, func(a *ops.ResampleArgs) { a.Src = tensor.Must(place(tensor.F32, 3, 10, 8).Slice(2, 0, 7)) }, false, false},
		{"targets apart", tensor.F32, 3, 10, 5, 7, pose, dst(tensor.Must(place(tensor.F32, 3, 5, 8).Slice(2, 0, 7))), false, false},
		{"rows apart", tensor.F32, 3, 10, 5, 7, pose, dst(tensor.Must(place(tensor.F32, 3, 6, 7).Slice(1, 0, 5))), false, false},
		{"one row apart", tensor.F32, 1, 10, 5, 7, pose, dst(tensor.Must(place(tensor.F32, 1, 6, 7).Slice(1, 0, 5))), true, true},
		{"masks apart", tensor.F32, 3, 10, 5, 7, pose, func(a *ops.ResampleArgs) { a.Valid = tensor.Must(place(tensor.U8, 3, 6).Slice(1, 0, 5)) }, false, false},
		{"a source that begins anywhere", tensor.F32, 1, 10, 5, 7, pose, func(a *ops.ResampleArgs) { a.Src = tensor.Must(place(tensor.F32, 1, 11, 7).Slice(1, 1, 11)) }, false, false},
		{"a row of 96 bytes", tensor.F32, 3, 10, 5, 24, pose, nil, true, true},
		{"a wide row", tensor.F32, 3, 10, 5, 32, pose, nil, false, false},
		{"many samples", tensor.F32, 3, 100, 5, 7, pose, nil, false, false},
		{"pieces enough", tensor.F32, 3, 10, 10, 16, with(func(o *ops.ResampleOptions) { o.Channels = kinds.Channels[:16] }), nil, true, true},
		{"too many", tensor.F32, 3, 10, 10, 17, kinds, nil, false, false},
		{"three samples", tensor.F32, 3, 3, 5, 7, pose, nil, false, false},
		{"one target", tensor.F32, 3, 10, 1, 7, pose, nil, false, false},
		// Rows of one kind, where they are narrow and few, in a launch by themselves.
		{"seven features", tensor.F32, 3, 10, 5, 7, one, nil, true, true},
		{"nine", tensor.F32, 3, 10, 5, 9, one, nil, true, false},
		{"inputs ready", tensor.F32, 3, 10, 5, 7, early, nil, true, false},
		{"dependent", tensor.F32, 3, 10, 5, 7, ops.ResampleOptions{Launch: ops.LaunchDependent}, nil, true, true},
		{"as many as there may be", tensor.F32, 132, 100, maxNarrowTargets, 7, one, nil, true, true},
		{"one more", tensor.F32, 1, 100, 132*maxNarrowTargets + 1, 7, one, nil, true, false},
		{"four samples a target", tensor.F32, 3, 4*9 + 1, 10, 3, one, nil, true, true},
		{"more", tensor.F32, 3, 4*9 + 2, 10, 3, one, nil, true, false},
	} {
		changes := []func(*ops.ResampleArgs){}
		if c.change != nil {
			changes = append(changes, c.change)
		}
		j := resample(c.dtype, c.b, c.s, c.n, c.d, c.opts, changes...)
		assert.Equal(t, c.supports, resampleThreadPerRow.supports(b, j) == "", c.what)
		assert.Equal(t, c.want, resampleThreadPerRow.whyNot(b, j) == "", c.what)
	}
	list := rowPieces(first(resample(tensor.BF16, 3, 10, 5, 7, pose)))
	assert.Equal(t, []ptx.Piece{{Period: list[0].Period, At: 6, Interpolation: ptx.InterpolationSlerp, N: 4}, {Period: list[1].Period, Interpolation: ptx.InterpolationLinear, N: 3}}, list, "what takes longest comes first")
}

// A block's rows fit its shared memory, however wide they are and however many a warp copies.
func TestCopiedRowsFitABlock(t *testing.T) {
	b, taken := h100(), 0
	for d := 1; d <= maxRowBytes/4; d++ {
		for _, s := range []int{4, 100, 200, 300, 400, 1000} {
			if j := resample(tensor.F32, 1000, s, 100, d, early); resampleThreadPerRow.supports(b, j) == "" {
				taken++
				for _, c := range append(resampleThreadPerRow.tunable.All(""), resampleThreadPerRow.heuristic(b, j)) {
					shape := resampleThreadPerRow.configure(b, j, c)[0]
					assert.LessOrEqual(t, shape.tile/warp*sharedLayoutOf(first(j)).bytes, maxSharedBytes, "%d features of %d samples", d, s)
				}
			}
		}
	}
	assert.Greater(t, taken, 50)
}
