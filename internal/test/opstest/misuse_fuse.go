package opstest

import (
	"context"
	"math"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseCall is a Fuse with two streams: B=2, T=4, widths 8 and 3, f64 times.
type fuseCall struct {
	maker
	args ops.FuseArgs
	opts ops.FuseOptions
}

func newFuseCall(m maker, c *fuseCall) {
	c.maker = m
	c.args.Streams = []ops.FuseStream{
		{Src: c.new(tensor.F32, 2, 3, 8), SrcTimes: c.new(tensor.F64, 2, 3), SrcLengths: c.ints(3, 2)},
		{Src: c.new(tensor.BF16, 2, 5, 3), SrcTimes: c.new(tensor.F64, 5), Shift: make([]float32, 3), Scale: make([]float32, 3)},
	}
	c.args.Targets, c.args.DstLengths = ops.At(c.new(tensor.F64, 2, 4)), c.ints(4, 4)
	c.args.Dst, c.args.Valid, c.args.Age = c.new(tensor.F32, 2, 4, 11), c.new(tensor.U8, 2, 4, 2), c.new(tensor.F64, 2, 4, 2)
}

// fuseMisuses returns the wrong calls of Fuse.
func fuseMisuses() *misuses[fuseCall] {
	x := &misuses[fuseCall]{
		op: "Fuse", good: newFuseCall,
		places: func(c *fuseCall) []place {
			a := &c.args
			list := []place{{"Dst", &a.Dst}, {"Valid", &a.Valid}, {"Age", &a.Age}, {"Targets", &a.Targets.Times}, {"DstLengths", &a.DstLengths}}
			if len(a.Streams) > 1 {
				one, two := &a.Streams[0], &a.Streams[1]
				list = append(list, place{"Streams[0].Src", &one.Src}, place{"Streams[0].SrcLengths", &one.SrcLengths}, place{"Streams[1].Src", &two.Src}, place{"Streams[1].SrcTimes", &two.SrcTimes})
			}
			return list
		},
		free: []string{"Streams[0].Src"}, needed: []string{"Streams[1].SrcTimes"}, made: []string{"Dst"},
		plan: func(dev *ops.Device, c *fuseCall) error { _, err := dev.PlanFuse(c.args, c.opts); return err },
		call: func(dev *ops.Device, c *fuseCall) error {
			_, err := dev.Fuse(context.Background(), c.args, c.opts)
			return err
		},
	}
	add := func(name, arg string, kind error, spoil func(*fuseCall)) {
		x.wrong = append(x.wrong, wrong[fuseCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	add("an output dtype", "Options.DType", ops.ErrDType, func(c *fuseCall) { c.args.Dst, c.opts.DType = nil, tensor.I32 })
	x.wrong[0].only = byCall
	stream := func(name, arg string, kind error, spoil func(s *ops.FuseStream, c *fuseCall)) {
		add(name, "Streams[1]."+arg, kind, func(c *fuseCall) { spoil(&c.args.Streams[1], c) })
	}
	add("no streams", "Streams", ops.ErrShape, func(c *fuseCall) { c.args.Streams = nil })
	add("17 streams", "Streams", ops.ErrShape, func(c *fuseCall) { c.args.Streams = make([]ops.FuseStream, 17) })
	add("all streams missing", "Streams", ops.ErrMissing, func(c *fuseCall) { c.args.Streams = []ops.FuseStream{{Width: 8}, {Width: 3}} })
	stream("missing without a width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { *s = ops.FuseStream{} })
	stream("missing with a negative width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { *s = ops.FuseStream{Width: -3} })
	stream("missing with times", "SrcTimes", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Src, s.Width = nil, 3 })
	stream("without features", "Width", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 2, 5, 0) })
	stream("with another width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Width = 4 })
	stream("with another clock dtype", "SrcTimes", ops.ErrDType, func(s *ops.FuseStream, c *fuseCall) { s.SrcTimes = c.new(tensor.I64, 2, 5) })
	stream("with another batch", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 3, 5, 3) })
	stream("without a batch", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 5, 3) })
	stream("with packed rows that are not as many", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) {
		s.Src, s.SrcTimes, s.SrcOffsets = c.new(tensor.F32, 5, 3), c.new(tensor.F64, 5), c.ints(0, 2, 3, 5)
	})
	stream("with lengths and offsets", "SrcLengths", ops.ErrOption, func(s *ops.FuseStream, c *fuseCall) { s.SrcLengths, s.SrcOffsets = c.ints(1, 2), c.ints(0, 2, 5) })
	noRows := func(c *fuseCall) {
		c.args.DstLengths, c.args.Streams = nil, []ops.FuseStream{{Width: 8}, {Src: c.new(tensor.BF16, 0, 3), SrcTimes: c.new(tensor.F64, 0), SrcOffsets: c.ints(0)}}
		c.args.Targets.Times, c.args.Dst, c.args.Valid, c.args.Age = c.new(tensor.F64, 0, 4), c.new(tensor.F32, 0, 4, 11), c.new(tensor.U8, 0, 4, 2), c.new(tensor.F64, 0, 4, 2)
	}
	add("offsets without rows for 5 samples", "Streams[1].SrcOffsets", ops.ErrShape, func(c *fuseCall) {
		noRows(c)
		c.args.Streams[1].Src, c.args.Streams[1].SrcTimes = c.new(tensor.BF16, 5, 3), c.new(tensor.F64, 5)
	})
	add("offsets without rows for 4 targets", "DstOffsets", ops.ErrShape, func(c *fuseCall) {
		noRows(c)
		c.args.DstOffsets, c.args.Targets.Times = c.ints(0), c.new(tensor.F64, 4)
	})
	stream("with an offset beyond 2^62", "Offset", ops.ErrTooLarge, func(s *ops.FuseStream, _ *fuseCall) { s.Offset = time.Duration(1<<62 + 1) })
	stream("with an offset of the least int64", "Offset", ops.ErrTooLarge, func(s *ops.FuseStream, _ *fuseCall) { s.Offset = math.MinInt64 })
	stream("with a dtype", "Options.DType", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.DType = tensor.F32 })
	stream("with trust", "Options.TrustTimes", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.TrustTimes = true })
	stream("with a launch", "Options.Launch", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Launch = ops.LaunchDependent })
	add("a bad launch", "Options.Launch", ops.ErrOption, func(c *fuseCall) { c.opts.Launch = 3 })
	stream("with a bad kind", "Options.Interp", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Interp = 99 })
	stream("with a bad edge", "Options.Edge", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Edge = 99 })
	stream("with slerp of 3", "Options", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Interp = ops.InterpSlerp })
	stream("with a negative gap", "Options.MaxGap", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.MaxGap = ops.Within(-1) })
	stream("with a channel beyond its features", "Channels[0]", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Channels = []ops.Channel{{Lo: 0, Hi: 4}} })
	stream("with a short shift", "Shift", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Shift = s.Shift[:2] })
	stream("with a long scale", "Scale", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Scale = make([]float32, 11) })
	clipMisuses(add)
	add("a clock without a rate", "Targets.Rate", ops.ErrOption, func(c *fuseCall) { c.args.Targets = ops.Clock{} })
	add("Targets with another dtype", "Targets", ops.ErrDType, func(c *fuseCall) { c.args.Targets = ops.At(c.new(tensor.F32, 2, 4)) })
	add("target lengths and offsets", "DstLengths", ops.ErrOption, func(c *fuseCall) { c.args.DstOffsets = c.ints(0, 1, 4) })
	add("Dst of one stream's width", "Dst", ops.ErrShape, func(c *fuseCall) { c.args.Dst = c.new(tensor.F32, 2, 4, 8) })
	add("Valid without streams", "Valid", ops.ErrShape, func(c *fuseCall) { c.args.Valid = c.new(tensor.U8, 2, 4) })
	add("Age over a stream's times", "Age", ops.ErrOverlap, func(c *fuseCall) {
		both := c.new(tensor.F64, 20)
		c.args.Age = tensor.Must(both.AsStrided([]int{2, 4, 2}, []int{8, 2, 1}, 0))
		c.args.Streams[1].SrcTimes = tensor.Must(both.AsStrided([]int{5}, []int{1}, 15))
	})
	add("Dst with rows on each other", "Dst", ops.ErrOverlap, func(c *fuseCall) { c.args.Dst = tensor.Must(c.new(tensor.F32, 1, 4, 11).Expand(2, 4, 11)) })
	x.wrong[len(x.wrong)-1].only = asPlan
	return x
}

// clipMisuses adds wrong bounds and windows of a fused stream.
func clipMisuses(add func(name, arg string, kind error, spoil func(*fuseCall))) {
	stream := func(name, arg string, kind error, spoil func(s *ops.FuseStream, c *fuseCall)) {
		add(name, "Streams[1]."+arg, kind, func(c *fuseCall) { spoil(&c.args.Streams[1], c) })
	}
	nan := float32(decode(tensor.F32, 0x7fc00000))
	stream("with a short ClipMin", "ClipMin", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.ClipMin = []float32{1, 2} })
	stream("with a long ClipMax", "ClipMax", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.ClipMax = make([]float32, 4) })
	stream("with bounds that cross", "ClipMin", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.ClipMin, s.ClipMax = []float32{0, 0, 3}, []float32{1, 1, 2} })
	stream("with a bound that is no number", "ClipMin", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.ClipMax = []float32{1, nan, 2} })
	stream("with starts but no lengths", "SrcLengths", ops.ErrMissing, func(s *ops.FuseStream, c *fuseCall) {
		s.Src, s.SrcTimes, s.SrcStarts = c.new(tensor.BF16, 6, 3), c.new(tensor.F64, 6), c.ints(0, 1)
	})
	stream("missing with starts", "SrcStarts", ops.ErrOption, func(s *ops.FuseStream, c *fuseCall) { *s = ops.FuseStream{Width: 3, SrcStarts: c.ints(0, 1)} })
	add("Pad without streams", "Pad", ops.ErrShape, func(c *fuseCall) { c.args.Pad = c.new(tensor.U8, 2, 4) })
	add("Pad with another dtype", "Pad", ops.ErrDType, func(c *fuseCall) { c.args.Pad = c.new(tensor.I32, 2, 4, 2) })
	add("anchors for more rows", "Targets.Anchors", ops.ErrShape, func(c *fuseCall) { c.args.Targets = ops.Anchored(c.ints(0, 1, 2), c.ints(0, 1, 2, 3)) })
}
