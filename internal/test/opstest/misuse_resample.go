package opstest

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// resampleCall is a Resample with B=2, S=3, T=4, D=8, f32 values, f64 times, and lengths for samples and targets.
type resampleCall struct {
	maker
	ops.ResampleArgs
	opts ops.ResampleOptions
}

// resampleMisuses returns the wrong calls of Resample.
func resampleMisuses() *misuses[resampleCall] {
	x := &misuses[resampleCall]{
		op: "Resample",
		good: func(m maker, c *resampleCall) {
			c.maker = m
			c.Src, c.SrcTimes, c.SrcLengths = m.new(tensor.F32, 2, 3, 8), m.new(tensor.F64, 2, 3), m.ints(3, 2)
			c.Targets, c.DstLengths = ops.At(m.new(tensor.F64, 2, 4)), m.ints(4, 4)
			c.Dst, c.Valid, c.Age = m.new(tensor.F32, 2, 4, 8), m.new(tensor.U8, 2, 4), m.new(tensor.F64, 2, 4)
		},
		places: func(c *resampleCall) []place {
			return []place{{"Dst", &c.Dst}, {"Src", &c.Src}, {"SrcTimes", &c.SrcTimes}, {"SrcLengths", &c.SrcLengths}, {"Targets", &c.Targets.Times}, {"DstLengths", &c.DstLengths}, {"Valid", &c.Valid}, {"Age", &c.Age}}
		},
		free: []string{"Src"}, needed: []string{"Src", "SrcTimes"}, made: []string{"Dst"},
		plan: func(dev *ops.Device, c *resampleCall) error {
			_, err := dev.PlanResample(c.ResampleArgs, c.opts)
			return err
		},
		call: func(dev *ops.Device, c *resampleCall) error {
			_, err := dev.Resample(context.Background(), c.ResampleArgs, c.opts)
			return err
		},
	}
	add := func(name, arg string, kind error, spoil func(*resampleCall)) {
		x.wrong = append(x.wrong, wrong[resampleCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	add("an output dtype", "Options.DType", ops.ErrDType, func(c *resampleCall) { c.Dst, c.opts.DType = nil, tensor.I32 })
	x.wrong[0].only = byCall
	add("no samples", "Src", ops.ErrShape, func(c *resampleCall) { c.Src, c.SrcTimes = c.new(tensor.F32, 2, 0, 8), c.new(tensor.F64, 2, 0) })
	add("SrcTimes of f32 with Targets of f64", "Targets", ops.ErrDType, func(c *resampleCall) { c.SrcTimes = c.new(tensor.F32, 2, 3) })
	add("source lengths and offsets", "SrcLengths", ops.ErrOption, func(c *resampleCall) { c.SrcOffsets = c.ints(0, 1, 3) })
	add("target lengths and offsets", "DstLengths", ops.ErrOption, func(c *resampleCall) { c.DstOffsets = c.ints(0, 1, 4) })
	add("SrcOffsets with a batched source", "Src", ops.ErrShape, func(c *resampleCall) { c.SrcLengths, c.SrcOffsets = nil, c.ints(0, 1, 3) })
	add("SrcOffsets empty", "SrcOffsets", ops.ErrShape, func(c *resampleCall) {
		c.SrcLengths, c.Src, c.SrcTimes, c.SrcOffsets = nil, c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints()
	})
	add("DstOffsets too short", "DstOffsets", ops.ErrShape, func(c *resampleCall) { c.DstLengths, c.DstOffsets = nil, c.ints(0, 8) })
	add("SrcOffsets without rows for 6 samples", "SrcOffsets", ops.ErrShape, func(c *resampleCall) {
		c.SrcLengths, c.Src, c.SrcTimes, c.SrcOffsets = nil, c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints(0)
	})
	noRows := func(c *resampleCall) {
		c.Src, c.SrcTimes, c.SrcLengths, c.DstLengths, c.DstOffsets = c.new(tensor.F32, 0, 3, 8), c.new(tensor.F64, 0, 3), nil, nil, c.ints(0)
	}
	add("DstOffsets without rows for 4 targets", "DstOffsets", ops.ErrShape, func(c *resampleCall) {
		noRows(c)
		c.Dst, c.Valid, c.Age, c.Targets.Times = c.new(tensor.F32, 4, 8), c.new(tensor.U8, 4), c.new(tensor.F64, 4), c.new(tensor.F64, 4)
	})
	add("DstOffsets without rows and a uniform clock for a Dst of 4", "DstOffsets", ops.ErrShape, func(c *resampleCall) {
		noRows(c)
		c.Dst, c.Valid, c.Age, c.Targets = c.new(tensor.F32, 4, 8), c.new(tensor.U8, 4), c.new(tensor.F64, 4), ops.Uniform(0, 1, 4)
	})
	add("DstOffsets and a uniform clock with a Dst of rank 0", "Dst", ops.ErrShape, func(c *resampleCall) {
		c.DstLengths, c.DstOffsets, c.Targets = nil, c.ints(0, 4, 8), ops.Uniform(0, 1, 4)
		c.Dst = c.scalar(tensor.F32)
	})
	add("kind", "Options.Interp", ops.ErrOption, func(c *resampleCall) { c.opts.Interp = 99 })
	add("edge", "Options.Edge", ops.ErrOption, func(c *resampleCall) { c.opts.Edge = 9 })
	add("launch", "Options.Launch", ops.ErrOption, func(c *resampleCall) { c.opts.Launch = 3 })
	add("quaternion order", "Options.Quat", ops.ErrOption, func(c *resampleCall) { c.opts.Interp, c.opts.Quat = ops.InterpSlerp, 5 })
	for _, p := range []float64{-1, math.NaN(), math.Inf(1)} {
		add(fmt.Sprint("period ", p), "Options.Period", ops.ErrOption, func(c *resampleCall) { c.opts.Interp, c.opts.Period = ops.InterpAngle, p })
		add(fmt.Sprint("rate ", p), "Targets.Rate", ops.ErrOption, func(c *resampleCall) { c.Targets = ops.Uniform(0, p, 4) })
	}
	add("no targets", "Targets.Rate", ops.ErrOption, func(c *resampleCall) { c.Targets = ops.Clock{} })
	add("count", "Targets.Count", ops.ErrShape, func(c *resampleCall) { c.Targets = ops.Uniform(0, 1, -1) })
	add("clock beyond 2^62 ns", "Targets", ops.ErrTooLarge, func(c *resampleCall) { c.Targets = ops.Uniform(1<<62, 1, 4) })
	add("more targets than a row can have", "Targets.Count", ops.ErrTooLarge, func(c *resampleCall) { c.Targets = ops.Uniform(0, 1e3, 1<<31) })
	add("Snap", "Options.Snap", ops.ErrOption, func(c *resampleCall) { c.opts.Snap = ops.Within(-1) })
	add("MaxGap", "Options.MaxGap", ops.ErrOption, func(c *resampleCall) { c.opts.MaxGap = ops.Within(-1) })
	add("Tolerance", "Options.Tolerance", ops.ErrOption, func(c *resampleCall) { c.opts.Tolerance = ops.Within(-1) })
	channel := func(what, arg string, kind error, list ...ops.Channel) {
		add("channels "+what, arg, kind, func(c *resampleCall) { c.opts.Channels = list })
	}
	channel("empty", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 2, Hi: 2})
	channel("beyond D", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 2, Hi: 9})
	channel("below 0", "Channels[0]", ops.ErrShape, ops.Channel{Lo: -1, Hi: 2})
	channel("out of order", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 4, Hi: 6}, ops.Channel{Lo: 0, Hi: 2})
	channel("overlapping", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 4}, ops.Channel{Lo: 3, Hi: 6})
	channel("with slerp of 3", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpSlerp})
	channel("with a bad kind", "Channels[1].Interp", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3}, ops.Channel{Lo: 3, Hi: 4, Interp: 42})
	channel("with a bad period", "Channels[0].Period", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpAngle, Period: -2})
	channel("with a hermite of 3", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpHermite})
	channel("with rotation vectors of 4", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 1}, ops.Channel{Lo: 2, Hi: 6, Interp: ops.InterpRotVec})
	channel("with 6-D rotations of 8", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 8, Interp: ops.InterpRot6D})
	add("6-D rotations of 8 features", "Options", ops.ErrShape, func(c *resampleCall) { c.opts.Interp = ops.InterpRot6D })
	for kind := ops.InterpWindowMean; kind <= ops.InterpWindowLast; kind++ {
		add(fmt.Sprint(kind, " without a window"), "Options.Window", ops.ErrOption, func(c *resampleCall) { c.opts.Interp = kind })
		channel(fmt.Sprint("with ", kind, " without a window"), "Channels[0].Window", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3, Interp: kind})
	}
	for _, w := range []ops.Limit{ops.Within(0), ops.Within(-1)} {
		add(fmt.Sprint("window ", w), "Options.Window", ops.ErrOption, func(c *resampleCall) { c.opts.Interp, c.opts.Window = ops.InterpWindowMean, w })
		add(fmt.Sprint("channels with window ", w), "Channels[0].Window", ops.ErrOption, func(c *resampleCall) {
			c.opts.Window, c.opts.Channels = ops.Within(1e9), []ops.Channel{{Lo: 0, Hi: 3, Interp: ops.InterpWindowMax, Window: w}}
		})
	}
	add("slerp of 6 features", "Options", ops.ErrShape, func(c *resampleCall) {
		c.opts.Interp, c.opts.Channels = ops.InterpSlerp, []ops.Channel{{Lo: 0, Hi: 2}}
	})
	x.wrong = append(x.wrong, wrong[resampleCall]{name: "Dst with rows on each other", arg: "Dst", kind: ops.ErrOverlap, only: asPlan, spoil: func(c *resampleCall) {
		c.Dst = tensor.Must(c.new(tensor.F32, 1, 4, 8).Expand(2, 4, 8))
	}}, wrong[resampleCall]{name: "Valid with rows on each other", arg: "Valid", kind: ops.ErrOverlap, only: asPlan, spoil: func(c *resampleCall) {
		c.Valid = tensor.Must(c.new(tensor.U8, 1, 4).Expand(2, 4))
	}})
	add("Dst over Src", "Dst", ops.ErrOverlap, func(c *resampleCall) {
		both := c.new(tensor.F32, 200)
		c.Src = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 0))
		c.Dst = tensor.Must(both.AsStrided([]int{2, 4, 8}, []int{32, 8, 1}, 47))
	})
	add("Age over Targets", "Age", ops.ErrOverlap, func(c *resampleCall) { c.Age = c.Targets.Times })
	rowMisuses(add)
	return x
}

// rowMisuses adds wrong selections, anchored clocks and padding.
func rowMisuses(add func(name, arg string, kind error, spoil func(*resampleCall))) {
	selected := func(c *resampleCall) { // valid rows of 6 packed samples
		c.Src, c.SrcTimes, c.SrcStarts, c.SrcLengths = c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints(1, 0), c.ints(3, 2)
	}
	anchored := func(c *resampleCall) {
		selected(c)
		c.Targets = ops.Anchored(c.ints(0, 1), c.ints(0, 1, 2, 3))
	}
	of := func(base func(*resampleCall), spoil func(*resampleCall)) func(*resampleCall) {
		return func(c *resampleCall) {
			base(c)
			spoil(c)
		}
	}
	add("starts without lengths", "SrcLengths", ops.ErrMissing, of(selected, func(c *resampleCall) { c.SrcLengths = nil }))
	add("starts of rows that are padded", "Src", ops.ErrShape, of(selected, func(c *resampleCall) { c.Src, c.SrcTimes = c.new(tensor.F32, 2, 3, 8), c.new(tensor.F64, 2, 3) }))
	add("starts and offsets", "SrcLengths", ops.ErrOption, of(selected, func(c *resampleCall) { c.SrcOffsets = c.ints(0, 3, 6) }))
	add("starts and offsets, without lengths", "SrcLengths", ops.ErrMissing, of(selected, func(c *resampleCall) { c.SrcOffsets, c.SrcLengths = c.ints(0, 3, 6), nil }))
	add("more lengths than starts", "SrcLengths", ops.ErrShape, of(selected, func(c *resampleCall) { c.SrcLengths = c.ints(3, 2, 1) }))
	add("starts of i32", "SrcStarts", ops.ErrDType, of(selected, func(c *resampleCall) { c.SrcStarts = c.new(tensor.I32, 2) }))
	add("starts of rank 2", "SrcStarts", ops.ErrShape, of(selected, func(c *resampleCall) { c.SrcStarts = c.new(tensor.I64, 2, 1) }))
	add("starts closed", "SrcStarts", ops.ErrClosed, of(selected, func(c *resampleCall) { c.SrcStarts = c.closed(tensor.I64, 2) }))
	add("starts on another device", "SrcStarts", ops.ErrWrongDevice, of(selected, func(c *resampleCall) { c.SrcStarts = c.foreign(tensor.I64, 2) }))
	add("starts not contiguous", "SrcStarts", ops.ErrStride, of(selected, func(c *resampleCall) { c.SrcStarts = c.apart(tensor.I64, 2) }))
	add("a selection with batched times", "SrcTimes", ops.ErrShape, of(selected, func(c *resampleCall) { c.SrcTimes = c.new(tensor.F64, 2, 3) }))
	add("Dst over the starts", "Dst", ops.ErrOverlap, of(selected, func(c *resampleCall) {
		both := c.new(tensor.F64, 34)
		c.Dst, c.SrcTimes = tensor.Must(both.AsStrided([]int{2, 4, 4}, []int{16, 4, 1}, 0)), tensor.Must(both.AsStrided([]int{6}, []int{1}, 28))
		c.Src = c.new(tensor.F64, 6, 4)
	}))
	add("anchors without deltas", "Targets.Deltas", ops.ErrMissing, of(anchored, func(c *resampleCall) { c.Targets.Deltas = nil }))
	add("deltas without anchors", "Targets.Anchors", ops.ErrMissing, of(anchored, func(c *resampleCall) { c.Targets.Anchors = nil }))
	add("anchors and times", "Targets.Times", ops.ErrOption, of(anchored, func(c *resampleCall) { c.Targets.Times = c.new(tensor.F64, 2, 4) }))
	add("anchors of f64", "Targets.Anchors", ops.ErrDType, of(anchored, func(c *resampleCall) { c.Targets.Anchors = c.new(tensor.F64, 2) }))
	add("deltas of i32", "Targets.Deltas", ops.ErrDType, of(anchored, func(c *resampleCall) { c.Targets.Deltas = c.new(tensor.I32, 4) }))
	add("three anchors for two rows", "Targets.Anchors", ops.ErrShape, of(anchored, func(c *resampleCall) { c.Targets.Anchors = c.ints(0, 1, 2) }))
	add("deltas for each row", "Targets.Deltas", ops.ErrShape, of(anchored, func(c *resampleCall) { c.Targets.Deltas = c.new(tensor.I64, 2, 4) }))
	add("deltas not contiguous", "Targets.Deltas", ops.ErrStride, of(anchored, func(c *resampleCall) { c.Targets.Deltas = c.apart(tensor.I64, 4) }))
	add("anchors closed", "Targets.Anchors", ops.ErrClosed, of(anchored, func(c *resampleCall) { c.Targets.Anchors = c.closed(tensor.I64, 2) }))
	add("an anchored clock for packed targets", "DstOffsets", ops.ErrOption, of(anchored, func(c *resampleCall) { c.DstLengths, c.DstOffsets = nil, c.ints(0, 4, 8) }))
	add("Pad with another dtype", "Pad", ops.ErrDType, func(c *resampleCall) { c.Pad = c.new(tensor.I32, 2, 4) })
	add("Pad of another shape", "Pad", ops.ErrShape, func(c *resampleCall) { c.Pad = c.new(tensor.U8, 2, 3) })
	add("Pad closed", "Pad", ops.ErrClosed, func(c *resampleCall) { c.Pad = c.closed(tensor.U8, 2, 4) })
	add("Pad that is Valid", "Valid", ops.ErrOverlap, func(c *resampleCall) { c.Pad = c.Valid })
}
