package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesBlack tests frames without a picture, with Valid: each format, output and step. Blocks of the same launch have pictures.
func (s *suite) framesBlack(t *testing.T) {
	r := rng(82)
	list := []int64{-1, 2, 3, 0, math.MinInt64, math.MaxInt64, 1}
	check := func(name string, format ops.FrameFormat, out tensor.DType, h, w int, o ops.FramesOptions) {
		c := &framing{Name: fmt.Sprint(format, " ", out, " ", name), Out: out, N: len(list), C: 3, H: 9, W: 24, Opts: o}
		c.Select, c.Valid, c.Keys = arr(list, len(list)), validOf(len(list)), keysOf(r, len(list))
		if format == ops.FrameGray || format == ops.FrameGray16 {
			c.C = 1
		}
		c.Surfaces = []*surface{picture(r, format, 3, h, w, 5)}
		s.run(t, c, layouts[w%2:]...) // whole groups of pixels in whole chunks too
	}
	for format := range ops.FrameI010 + 1 {
		for _, out := range frameOutputs {
			o := ops.FramesOptions{Layout: ops.FrameLayout(int(format) % 2)}
			if out != tensor.U8 {
				o.Mean, o.Std = []float64{0.25}, []float64{0.5}
			} else if format == ops.FrameGray16 {
				continue
			}
			check("whole", format, out, 9, 24, o)
			check("resized", format, out, 17, 31, o)
			if o.Float = out != tensor.U8; o.Float {
				check("in floats", format, out, 4, 31, o)
			}
			if o.Float = false; format != ops.FrameGray16 {
				o.Crop, o.FlipX, o.FlipY, o.PerFrame = ops.CropRandom, 0.5, 0.5, true
				o.Brightness, o.Contrast, o.Saturation = 0.5, 0.5, 0.5
				check("jitter", format, out, 13, 33, o)
				o.Height, o.Width = 10, 27
				check("jitter of the resized", format, out, 13, 33, o)
			}
		}
	}
	large := &framing{Name: "black frames of several blocks", Out: tensor.BF16, N: 3, C: 3, H: 130, W: 128, Select: arr([]int64{5, 0, -5}, 3)}
	large.Valid = validOf(3)
	large.Surfaces = []*surface{picture(r, ops.FrameRGB, 2, 130, 128, 0)}
	s.run(t, large, layouts[0])
	known := &framing{Name: "a known answer", Out: tensor.F32, N: 1, C: 3, H: 1, W: 1, Select: arr([]int64{1}, 1), Valid: arr([]uint8{1}, 1)}
	known.Surfaces = []*surface{picture(r, ops.FrameNV12, 1, 1, 1, 0)}
	known.Opts = ops.FramesOptions{Mean: []float64{0.5}, Std: []float64{0.25}}
	got := s.once(t, s.dev, known, layouts[0])
	assert.Equal(t, vals(tensor.F32, []float64{-2, -2, -2}, 3).raw, got.dst)
	assert.Equal(t, []uint64{0}, got.valid)
}

// alias is the memory of another tensor.
type alias struct{ of *tensor.Tensor }

func (a alias) Addr() uint64   { at, _ := a.of.Addr(); return at }
func (a alias) Size() int64    { return int64(a.of.Len() * a.of.DType().Size()) }
func (a alias) Device() string { return a.of.Device() }
func (a alias) Close() error   { return nil }

// numbersOf returns the bits of a contiguous f64 tensor as i64 numbers in the same memory.
func numbersOf(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	if !x.OnHost() {
		return tensor.Must(tensor.OnDevice(alias{x}, tensor.I64, x.Len()))
	}
	b, err := raw.Of(x)
	require.NoError(t, err)
	return tensor.Must(raw.Over(b, nil, tensor.I64, x.Len()))
}

// slotNumbers tests that a Fuse copies whole numbers in the bits of f64 values, which are subnormal or NaN, and that Frames can
// select pictures by them.
func (s *suite) slotNumbers(t *testing.T) {
	slots := []int64{4, 0, -1, 1 << 40, 1} // -1 and 2^40 are outside the stack
	values := make([]float64, 0, len(slots))
	for _, n := range slots {
		values = append(values, math.Float64frombits(uint64(n)))
	}
	times, targets := arr([]int64{0, 10, 20, 30, 40}, 5), arr([]int64{-5, 0, 4, 6, 15, 29, 39, 40, 45}, 9)
	const fill = 3
	inside := map[ops.Interp][]int{ // the sample of each target from 0 to 40
		ops.InterpPrevious: {0, 0, 0, 1, 2, 3, 4},
		ops.InterpNearest:  {0, 0, 1, 1, 3, 4, 4},
		ops.InterpNext:     {0, 1, 1, 2, 3, 4, 4},
	}
	stack := picture(rng(83), ops.FrameRGB, 5, 2, 8, 0)
	for method, samples := range inside {
		for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeFill} {
			what := fmt.Sprint(method, ", ", edge)
			want := []int64{slots[0]}
			for _, k := range samples {
				want = append(want, slots[k])
			}
			want = append(want, slots[4])
			if edge == ops.EdgeFill {
				want[0], want[8] = fill, fill
			}
			p := &placed{dev: s.dev}
			dst := p.out("Dst", packed(tensor.F64, nil, 9, 1), 3)
			valid := p.out("Valid", packed(tensor.U8, nil, 9, 1), 3)
			plan, err := s.dev.PlanFuse(ops.FuseArgs{Dst: dst, Valid: valid, Targets: ops.At(p.put(targets)), Streams: []ops.FuseStream{{
				Src: p.put(arr(values, 5, 1)), SrcTimes: p.put(times),
				Options: ops.ResampleOptions{Interp: method, Edge: edge, Fill: ops.FillWith(math.Float64frombits(fill))},
			}}}, ops.FuseOptions{})
			require.NoError(t, p.err)
			require.NoError(t, err, what)
			c := &framing{Out: tensor.U8, N: 9, C: 3, H: 2, W: 8, Surfaces: []*surface{stack}, Opts: ops.FramesOptions{Layout: ops.LayoutHWC}}
			c.Select, c.Valid = arr(want, 9), arr(make([]uint8, 9), 9)
			args := c.args(p.put)
			args.Select, args.Valid = numbersOf(t, dst), tensor.Must(valid.Reshape(9))
			args.Dst = p.out("Frames", packed(tensor.U8, nil, c.shape()...), 3)
			frames, err := s.dev.PlanFrames(args, c.Opts)
			require.NoError(t, p.err)
			require.NoError(t, err, what)
			for _, step := range []*ops.Plan{plan, frames} {
				require.NoError(t, step.Run(s.dev.Queue()))
			}
			require.NoError(t, s.dev.Synchronize(background))
			got, err := p.read()
			require.NoError(t, err)
			assert.Equal(t, want, int64s(got.dst), what)
			_, compare := c.solve(s)
			for i, n := range want {
				isValid := uint64(0)
				if n >= 0 && n < 5 && i > 0 && i < 8 {
					isValid = 1
				}
				assert.Equal(t, isValid, got.valid[i], "%s, target %d", what, i)
			}
			images := &result{out: map[string]*array{}}
			images.add("Dst", got.out["Frames"])
			images.add("Valid", c.Valid)
			assert.Empty(t, compare(images), what)
			require.NoError(t, plan.Close())
			require.NoError(t, frames.Close())
			require.NoError(t, p.close())
		}
	}
}
