package opstest

import (
	"context"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// gradientCall is a FuseBackward with two streams: B=2, T=4, widths 8 and 3, f64 times.
type gradientCall struct {
	maker
	args ops.FuseBackwardArgs
	opts ops.FuseOptions
}

// fuseBackwardMisuses returns the wrong calls of FuseBackward.
func fuseBackwardMisuses() *misuses[gradientCall] {
	x := &misuses[gradientCall]{
		op: "FuseBackward",
		good: func(m maker, c *gradientCall) {
			c.maker = m
			c.args.Streams = []ops.FuseBackwardStream{
				{SrcGrad: c.new(tensor.F32, 2, 3, 8), SrcTimes: c.new(tensor.F64, 2, 3), SrcLengths: c.ints(3, 2)},
				{SrcGrad: c.new(tensor.BF16, 2, 5, 3), SrcTimes: c.new(tensor.F64, 5), Scale: make([]float32, 3)},
			}
			c.args.DstGrad, c.args.Targets, c.args.DstLengths = c.new(tensor.F32, 2, 4, 11), ops.At(c.new(tensor.F64, 4)), c.ints(4, 4)
		},
		places: func(c *gradientCall) []place {
			a := &c.args
			list := []place{{"DstGrad", &a.DstGrad}, {"Targets", &a.Targets.Times}, {"DstLengths", &a.DstLengths}}
			if len(a.Streams) > 1 {
				one, two := &a.Streams[0], &a.Streams[1]
				list = append(list, place{"Streams[0].SrcGrad", &one.SrcGrad}, place{"Streams[0].SrcLengths", &one.SrcLengths}, place{"Streams[1].SrcGrad", &two.SrcGrad}, place{"Streams[1].SrcTimes", &two.SrcTimes})
			}
			return list
		},
		free: []string{"Streams[0].SrcGrad", "Targets"}, needed: []string{"DstGrad", "Streams[1].SrcTimes"},
		plan: func(dev *ops.Device, c *gradientCall) error {
			_, err := dev.PlanFuseBackward(c.args, c.opts)
			return err
		},
		call: func(dev *ops.Device, c *gradientCall) error {
			return dev.FuseBackward(context.Background(), c.args, c.opts)
		},
	}
	add := func(name, arg string, kind error, spoil func(*gradientCall)) {
		x.wrong = append(x.wrong, wrong[gradientCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	stream := func(name, arg string, kind error, spoil func(s *ops.FuseBackwardStream, c *gradientCall)) {
		add(name, "Streams[1]."+arg, kind, func(c *gradientCall) { spoil(&c.args.Streams[1], c) })
	}
	add("no streams", "Streams", ops.ErrShape, func(c *gradientCall) { c.args.Streams = nil })
	add("all streams missing", "Streams", ops.ErrMissing, func(c *gradientCall) { c.args.Streams = []ops.FuseBackwardStream{{Width: 8}, {Width: 3}} })
	stream("missing without a width", "Width", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { *s = ops.FuseBackwardStream{} })
	stream("missing with times", "SrcTimes", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.SrcGrad, s.Width = nil, 3 })
	stream("with another batch", "SrcGrad", ops.ErrShape, func(s *ops.FuseBackwardStream, c *gradientCall) { s.SrcGrad = c.new(tensor.F32, 3, 5, 3) })
	stream("with an offset beyond 2^62", "Offset", ops.ErrTooLarge, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Offset = time.Duration(1<<62 + 1) })
	stream("with trust", "Options.TrustTimes", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.TrustTimes = true })
	stream("with a bad edge", "Options.Edge", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.Edge = 99 })
	stream("with a long scale", "Scale", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Scale = make([]float32, 11) })
	stream("with a channel beyond its features", "Channels[0]", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.Channels = []ops.Channel{{Lo: 0, Hi: 4}} })
	for _, kind := range ops.Interps()[ops.InterpNearest+1:] {
		o := ops.ResampleOptions{Interp: kind, Window: ops.Within(1e9)}
		if 3%kind.Width() == 0 {
			stream("of "+kind.String(), "Options.Interp", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options = o })
		}
		table := ops.ResampleOptions{Window: ops.Within(1e9), Channels: []ops.Channel{{Lo: 0, Hi: 1}, {Lo: 2, Hi: 2 + kind.Width(), Interp: kind}}}
		add("with a channel of "+kind.String(), "Streams[0].Channels[1].Interp", ops.ErrOption, func(c *gradientCall) { c.args.Streams[0].Options = table })
	}
	stream("with a kind that no feature has", "Channels[0].Interp", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) {
		s.Options = ops.ResampleOptions{Interp: ops.InterpPchip, Channels: []ops.Channel{{Lo: 0, Hi: 3, Interp: ops.InterpCatmullRom}}}
	})
	add("a bad launch", "Options.Launch", ops.ErrOption, func(c *gradientCall) { c.opts.Launch = 3 })
	add("a dtype", "Options.DType", ops.ErrOption, func(c *gradientCall) { c.opts.DType = tensor.F32 })
	add("an anchored clock", "Targets", ops.ErrOption, func(c *gradientCall) { c.args.Targets = ops.Anchored(c.ints(0, 1), c.ints(0, 1, 2, 3)) })
	add("Targets with another dtype", "Targets", ops.ErrDType, func(c *gradientCall) { c.args.Targets = ops.At(c.new(tensor.F32, 2, 4)) })
	add("target lengths and offsets", "DstLengths", ops.ErrOption, func(c *gradientCall) { c.args.DstOffsets = c.ints(0, 1, 4) })
	add("DstGrad of one stream's width", "DstGrad", ops.ErrShape, func(c *gradientCall) { c.args.DstGrad = c.new(tensor.F32, 2, 4, 8) })
	add("a gradient over DstGrad", "Streams[0].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		both := c.new(tensor.F32, 200)
		c.args.DstGrad = tensor.Must(both.AsStrided([]int{2, 4, 11}, []int{44, 11, 1}, 0))
		c.args.Streams[0].SrcGrad = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 87))
	})
	add("two gradients in one place", "Streams[1].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		both := c.new(tensor.F32, 200)
		c.args.Streams[0].SrcGrad = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 0))
		c.args.Streams[1].SrcGrad = tensor.Must(both.AsStrided([]int{2, 5, 3}, []int{15, 3, 1}, 40))
	})
	add("rows on each other", "Streams[0].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		c.args.Streams[0].SrcGrad = tensor.Must(c.new(tensor.F32, 1, 3, 8).Expand(2, 3, 8))
	})
	x.wrong[len(x.wrong)-1].only = asPlan
	return x
}

// backwardCall is a ResampleBackward.
type backwardCall struct {
	maker
	args ops.ResampleBackwardArgs
	opts ops.ResampleOptions
}

// resampleBackwardMisuses returns the wrong calls that only ResampleBackward can have.
func resampleBackwardMisuses() *misuses[backwardCall] {
	x := &misuses[backwardCall]{
		op: "ResampleBackward",
		good: func(m maker, c *backwardCall) {
			c.maker = m
			c.args = ops.ResampleBackwardArgs{SrcGrad: c.new(tensor.F32, 2, 3, 8), DstGrad: c.new(tensor.F32, 2, 4, 8), SrcTimes: c.new(tensor.F64, 2, 3), Targets: ops.At(c.new(tensor.F64, 2, 4))}
		},
		places: func(c *backwardCall) []place { return []place{{"SrcGrad", &c.args.SrcGrad}} },
		plan: func(dev *ops.Device, c *backwardCall) error {
			_, err := dev.PlanResampleBackward(c.args, c.opts)
			return err
		},
		call: func(dev *ops.Device, c *backwardCall) error {
			_, err := dev.ResampleBackward(context.Background(), c.args, c.opts)
			return err
		},
	}
	for _, w := range []struct {
		arg   string
		kind  error
		spoil func(c *backwardCall)
	}{
		{"DstGrad", ops.ErrMissing, func(c *backwardCall) { c.args.DstGrad = nil }},
		{"DstGrad", ops.ErrShape, func(c *backwardCall) {
			c.args.DstGrad = c.new(tensor.F32, 2, 4, 7)
		}},
		{"SrcTimes", ops.ErrMissing, func(c *backwardCall) { c.args.SrcTimes = nil }},
		{"SrcGrad", ops.ErrDType, func(c *backwardCall) {
			c.args.SrcGrad = c.new(tensor.U8, 2, 3, 8)
		}},
		{"SrcGrad", ops.ErrShape, func(c *backwardCall) {
			c.args.SrcGrad, c.args.SrcTimes = c.new(tensor.F32, 2, 0, 8), c.new(tensor.F64, 2, 0)
		}},
		{"Options.Interp", ops.ErrOption, func(c *backwardCall) { c.opts.Interp = ops.InterpSlerp }},
		{"Channels[0].Interp", ops.ErrOption, func(c *backwardCall) {
			c.opts.Channels = []ops.Channel{{Lo: 2, Hi: 4, Interp: ops.InterpAngle}}
		}},
		{"Options.Launch", ops.ErrOption, func(c *backwardCall) { c.opts.Launch = 7 }},
		{"Options.DType", ops.ErrDType, func(c *backwardCall) {
			c.args.SrcGrad, c.opts.DType = nil, tensor.I64
		}},
	} {
		x.wrong = append(x.wrong, wrong[backwardCall]{name: w.arg, arg: w.arg, kind: w.kind, spoil: w.spoil, only: byCall})
	}
	x.wrong = append(x.wrong, wrong[backwardCall]{name: "no SrcGrad", arg: "SrcGrad", kind: ops.ErrMissing, only: asPlan, spoil: func(c *backwardCall) { c.args.SrcGrad = nil }})
	return x
}
