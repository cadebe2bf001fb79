package opstest

import (
	"context"
	"fmt"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fusing is a case for Fuse. The code that runs it makes Dst, Valid and Age.
type fusing struct {
	Name                   string
	Streams                []*part
	Targets                *array
	Clock                  ops.Clock // used if Targets is nil
	DstLengths, DstOffsets *array
	Anchors, Deltas        *array
	Pad                    bool
	Packed                 int // total targets of all rows, with DstOffsets and a uniform clock
	Out                    tensor.DType
	Trust                  bool
	Launch                 ops.LaunchMode // launch mode of the plans
	Planned, Wrong         bool           // as in resampling
}

// part is a stream of a fusion. Only the source fields and the options of its resampling are used.
type part struct {
	resampling
	Width        int // width of a missing stream (Src is nil)
	Offset       time.Duration
	Shift, Scale []float32
	Least, Most  []float32 // ClipMin and ClipMax
}

func (p *part) width() int {
	if p.Src == nil {
		return p.Width
	}
	return p.Src.shape[len(p.Src.shape)-1]
}

func (p *part) affine() bool {
	return p.Shift != nil || p.Scale != nil || p.Least != nil || p.Most != nil
}

// lead returns the first stream that is not missing, or nil.
func (f *fusing) lead() *part {
	for _, p := range f.Streams {
		if p.Src != nil {
			return p
		}
	}
	return nil
}

func (f *fusing) clock() tensor.DType { return f.lead().Times.dtype }

// alone returns stream m as a resampling. Before Shift and Scale, Fuse must give its output.
func (f *fusing) alone(m int) *resampling {
	p, lead := f.Streams[m], f.lead()
	c := p.resampling
	c.Name = fmt.Sprint(f.Name, ", stream ", m)
	c.Targets, c.Clock, c.Packed, c.DstLengths, c.DstOffsets = f.Targets, f.Clock, f.Packed, f.DstLengths, f.DstOffsets
	c.Anchors, c.Deltas, c.Pad = f.Anchors, f.Deltas, f.Pad
	c.Lacking, c.Opts.TrustTimes, c.Out = true, f.Trust, f.Out
	if p.affine() {
		c.Out = tensor.F32
	}
	if c.Opts.Fill == (ops.Fill{}) {
		c.Opts.Fill = ops.FillWith(0)
	}
	if c.Src == nil {
		b, _, _, _ := lead.dims()
		shape := []int{b, 0, p.Width}
		if !lead.batched() {
			shape = shape[1:]
		}
		c.Src, c.Times = packed(tensor.F32, nil, shape...), packed(f.clock(), nil, shape[:len(shape)-1]...)
	}
	if p.Offset != 0 {
		f.shift(&c, p.Offset)
	}
	return &c
}

// shift subtracts a stream's offset from the targets of c, in the clock's type. Targets on a uniform clock, which are never packed in
// this case, become a tensor.
func (f *fusing) shift(c *resampling, offset time.Duration) {
	clock := f.clock()
	less := func(b uint64) uint64 {
		switch sec := float64(offset) / 1e9; clock {
		case tensor.I64:
			return b - uint64(offset)
		case tensor.F64:
			return encode(clock, decode(clock, b)-sec)
		default:
			x := float32(decode(clock, b)) - float32(sec)
			return encode(clock, float64(x))
		}
	}
	var raw []uint64
	shape := []int{c.Clock.Count}
	switch {
	case c.Anchors != nil:
		shape = []int{c.Anchors.shape[0], c.Deltas.shape[0]}
		for b := range shape[0] {
			for i := range shape[1] {
				if x := c.anchored(b, i); clock == tensor.I64 {
					raw = append(raw, uint64(x))
				} else {
					raw = append(raw, encode(clock, float64(x)/1e9))
				}
			}
		}
		c.Anchors, c.Deltas = nil, nil
	case c.Targets != nil:
		raw, shape = c.Targets.dense(), c.Targets.shape
	default:
		for i := range c.Clock.Count {
			if clock == tensor.I64 {
				raw = append(raw, uint64(c.Clock.Tick(i)))
			} else {
				raw = append(raw, encode(clock, c.Clock.Second(i)))
			}
		}
	}
	for i, b := range raw {
		raw[i] = less(b)
	}
	c.Targets = packed(clock, raw, shape...)
}

func (f *fusing) width() (n int) {
	for _, p := range f.Streams {
		n += p.width()
	}
	return n
}

func (f *fusing) args(put func(*array) *tensor.Tensor) ops.FuseArgs {
	a := ops.FuseArgs{Targets: f.Clock, DstLengths: put(f.DstLengths), DstOffsets: put(f.DstOffsets)}
	switch {
	case f.Anchors != nil:
		a.Targets = ops.Anchored(put(f.Anchors), put(f.Deltas))
	case f.Targets != nil:
		a.Targets = ops.At(put(f.Targets))
	}
	for _, p := range f.Streams {
		a.Streams = append(a.Streams, ops.FuseStream{Src: put(p.Src), SrcTimes: put(p.Times), SrcLengths: put(p.SrcLengths), SrcOffsets: put(p.SrcOffsets), SrcStarts: put(p.SrcStarts),
			Width: p.Width, Offset: p.Offset, Options: p.Opts, Shift: p.Shift, Scale: p.Scale, ClipMin: p.Least, ClipMax: p.Most})
	}
	return a
}

func (f *fusing) plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error) {
	args := f.args(p.put)
	shape := f.alone(0).outShape()
	side := func(name string, dtype tensor.DType) *tensor.Tensor {
		return p.out(name, spaced(dtype, append(shape[:len(shape):len(shape)], len(f.Streams)), l.sideRow, l.sideRow, l.sideOffset), l.end)
	}
	args.Dst = p.out("Dst", spaced(f.Out, append(shape[:len(shape):len(shape)], f.width()), l.step, l.row, l.front), l.end)
	args.Valid, args.Age = side("Valid", tensor.U8), side("Age", f.clock())
	if f.Pad {
		args.Pad = side("Pad", tensor.U8)
	}
	return p.dev.PlanFuse(args, ops.FuseOptions{TrustTimes: f.Trust, Launch: mode})
}

func (f *fusing) call(dev *ops.Device) (*result, error) {
	args := f.args((*array).host)
	if f.DstOffsets != nil && f.Targets == nil {
		args.Dst = tensor.Must(tensor.New(f.Out, f.Packed, f.width()))
	}
	if f.Pad {
		args.Pad = tensor.Must(tensor.New(tensor.U8, append(f.alone(0).outShape(), len(f.Streams))...))
	}
	got, err := dev.Fuse(context.Background(), args, ops.FuseOptions{DType: f.Out, TrustTimes: f.Trust})
	if err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Dst": got.Values, "Valid": got.Valid, "Age": got.Age, "Pad": args.Pad}), nil
}

// fault returns the expected error, or nil. If several streams have errors, it is the first by class, and in a class the first by
// stream.
func (f *fusing) fault() *ops.ValueError {
	var least *ops.ValueError
	best := 0
	for m := range f.Streams {
		a := solve(f.alone(m))
		if a.err == nil {
			continue
		}
		class, e := 0, *a.err
		switch e.Arg {
		case "SrcTimes":
			class = 1
		case "Targets":
			class = 2
		}
		if e.Op = "Fuse"; e.Arg[:3] != "Dst" {
			e.Arg = fmt.Sprintf("Streams[%d].%s", m, e.Arg)
		}
		if least == nil || class < best {
			least, best = &e, class
		}
	}
	return least
}

// wanted combines the streams' resamplings on a device into the expected result: columns side by side, each after its Shift and
// Scale. kept marks the elements that keep the bits of a NaN.
func (f *fusing) wanted(dev *ops.Device) (want *result, kept []bool, err error) {
	n, width, m := 1, f.width(), len(f.Streams)
	for _, d := range f.alone(0).outShape() {
		n *= d
	}
	want = &result{dst: make([]uint64, n*width), valid: make([]uint64, n*m), age: make([]uint64, n*m)}
	if f.Pad {
		want.pad = make([]uint64, n*m)
	}
	kept = make([]bool, n*width)
	lo := 0
	for i, p := range f.Streams {
		c := f.alone(i)
		a := solve(c)
		got := &result{valid: a.valid, age: a.age, pad: a.pad}
		if _, s, _, _ := c.dims(); s > 0 {
			c.Opts.TrustTimes = true // rows may have no samples
			if got, err = c.call(dev); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
			}
		}
		for k := range n {
			want.valid[k*m+i], want.age[k*m+i] = got.valid[k], got.age[k]
			if f.Pad {
				want.pad[k*m+i] = got.pad[k]
			}
			for d := range p.width() {
				e, to := a.dst[k*p.width()+d], k*width+lo+d
				kept[to] = e.rule == copied && !p.affine()
				switch {
				case e.fill:
					want.dst[to] = encode(f.Out, c.Opts.Fill.Get())
				case p.affine():
					want.dst[to] = p.normal(f.Out, d, got.dst[k*p.width()+d])
				default:
					want.dst[to] = got.dst[k*p.width()+d]
				}
			}
		}
		lo += p.width()
	}
	return want, kept, nil
}

// normal returns the bits of feature d after Shift, Scale and the bounds, from its bits as f32. Sums and products of float32 numbers
// are exact in float64, or a second rounding to float32 gives the same as one (Figueroa, 1995).
func (p *part) normal(out tensor.DType, d int, bits uint64) uint64 {
	x := decode(tensor.F32, bits)
	if p.Shift != nil {
		x -= float64(p.Shift[d])
	}
	x = float64(float32(x))
	if p.Scale != nil {
		x *= float64(p.Scale[d])
	}
	x = float64(float32(x))
	if p.Least != nil && x < float64(p.Least[d]) {
		x = float64(p.Least[d])
	}
	if p.Most != nil && x > float64(p.Most[d]) {
		x = float64(p.Most[d])
	}
	return encode(out, x)
}

func (f *fusing) name() string { return f.Name }

func (f *fusing) traits() traits {
	return traits{planned: f.Planned, wrong: f.Wrong, modes: modesOf(f.Launch)}
}

func (f *fusing) describe() string {
	s := fmt.Sprintf("to=%s streams=%d", f.Out, len(f.Streams))
	for m, p := range f.Streams {
		s += fmt.Sprintf(" missing=%v offset=%v affine=%v %s", p.Src == nil, p.Offset != 0, p.affine(), f.alone(m).describe())
	}
	return s
}

// solve returns the expected error, or a comparison with the streams' resamplings on the same device. A simulated device uses the CPU
// for them, because the cases for Resample compare each bit.
func (f *fusing) solve(s *suite) (*ops.ValueError, func(*result) string) {
	if fault := f.fault(); fault != nil {
		return fault, nil
	}
	alone := s.dev
	if s.simulated {
		alone = s.cpu
	}
	want, kept, err := f.wanted(alone)
	return nil, func(got *result) string {
		if err != nil {
			return err.Error()
		}
		return f.differ(want, got, kept)
	}
}

// differ returns a description of the first difference to the streams' resamplings, or "".
func (f *fusing) differ(want, got *result, kept []bool) string {
	if msg := got.differ("Dst", want.dst, kept); msg != "" {
		return msg
	}
	return sides(got, want.valid, want.age, want.pad)
}
