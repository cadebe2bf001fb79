package opstest

import (
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// rowMisuses are those of selections of rows, anchored clocks and padding.
func rowMisuses(add func(name, arg string, kind error, spoil func(*call))) {
	selected := func(c *call) { // rows of 6 packed samples, which would work
		c.Src, c.SrcTimes, c.SrcStarts, c.SrcLengths = c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints(1, 0), c.ints(3, 2)
	}
	anchored := func(c *call) {
		selected(c)
		c.Targets = ops.Anchored(c.ints(0, 1), c.ints(0, 1, 2, 3))
	}
	of := func(base func(*call), spoil func(*call)) func(*call) {
		return func(c *call) {
			base(c)
			spoil(c)
		}
	}
	add("starts without lengths", "SrcLengths", ops.ErrMissing, of(selected, func(c *call) { c.SrcLengths = nil }))
	add("starts of rows that are padded", "Src", ops.ErrShape, of(selected, func(c *call) { c.Src, c.SrcTimes = c.new(tensor.F32, 2, 3, 8), c.new(tensor.F64, 2, 3) }))
	add("starts and offsets", "SrcLengths", ops.ErrOption, of(selected, func(c *call) { c.SrcOffsets = c.ints(0, 3, 6) }))
	add("starts and offsets, without lengths", "SrcLengths", ops.ErrMissing, of(selected, func(c *call) { c.SrcOffsets, c.SrcLengths = c.ints(0, 3, 6), nil }))
	add("more lengths than starts", "SrcLengths", ops.ErrShape, of(selected, func(c *call) { c.SrcLengths = c.ints(3, 2, 1) }))
	add("starts of i32", "SrcStarts", ops.ErrDType, of(selected, func(c *call) { c.SrcStarts = c.new(tensor.I32, 2) }))
	add("starts of rank 2", "SrcStarts", ops.ErrShape, of(selected, func(c *call) { c.SrcStarts = c.new(tensor.I64, 2, 1) }))
	add("starts closed", "SrcStarts", ops.ErrClosed, of(selected, func(c *call) { c.SrcStarts = c.closed(tensor.I64, 2) }))
	add("starts of another device", "SrcStarts", ops.ErrWrongDevice, of(selected, func(c *call) { c.SrcStarts = c.foreign(tensor.I64, 2) }))
	add("starts not contiguous", "SrcStarts", ops.ErrStride, of(selected, func(c *call) { c.SrcStarts = c.apart(tensor.I64, 2) }))
	add("times of a selection with a batch", "SrcTimes", ops.ErrShape, of(selected, func(c *call) { c.SrcTimes = c.new(tensor.F64, 2, 3) }))
	add("Dst over the starts", "Dst", ops.ErrOverlap, of(selected, func(c *call) {
		both := c.new(tensor.F64, 34)
		c.Dst, c.SrcTimes = tensor.Must(both.AsStrided([]int{2, 4, 4}, []int{16, 4, 1}, 0)), tensor.Must(both.AsStrided([]int{6}, []int{1}, 28))
		c.Src = c.new(tensor.F64, 6, 4)
	}))
	add("anchors without deltas", "Targets.Deltas", ops.ErrMissing, of(anchored, func(c *call) { c.Targets.Deltas = nil }))
	add("deltas without anchors", "Targets.Anchors", ops.ErrMissing, of(anchored, func(c *call) { c.Targets.Anchors = nil }))
	add("anchors and times", "Targets.Times", ops.ErrOption, of(anchored, func(c *call) { c.Targets.Times = c.new(tensor.F64, 2, 4) }))
	add("anchors of f64", "Targets.Anchors", ops.ErrDType, of(anchored, func(c *call) { c.Targets.Anchors = c.new(tensor.F64, 2) }))
	add("deltas of i32", "Targets.Deltas", ops.ErrDType, of(anchored, func(c *call) { c.Targets.Deltas = c.new(tensor.I32, 4) }))
	add("three anchors for two rows", "Targets.Anchors", ops.ErrShape, of(anchored, func(c *call) { c.Targets.Anchors = c.ints(0, 1, 2) }))
	add("deltas for each row", "Targets.Deltas", ops.ErrShape, of(anchored, func(c *call) { c.Targets.Deltas = c.new(tensor.I64, 2, 4) }))
	add("deltas not contiguous", "Targets.Deltas", ops.ErrStride, of(anchored, func(c *call) { c.Targets.Deltas = c.apart(tensor.I64, 4) }))
	add("anchors closed", "Targets.Anchors", ops.ErrClosed, of(anchored, func(c *call) { c.Targets.Anchors = c.closed(tensor.I64, 2) }))
	add("an anchored clock for packed targets", "DstOffsets", ops.ErrOption, of(anchored, func(c *call) { c.DstLengths, c.DstOffsets = nil, c.ints(0, 4, 8) }))
	add("Pad of another dtype", "Pad", ops.ErrDType, func(c *call) { c.Pad = c.new(tensor.I32, 2, 4) })
	add("Pad of another shape", "Pad", ops.ErrShape, func(c *call) { c.Pad = c.new(tensor.U8, 2, 3) })
	add("Pad closed", "Pad", ops.ErrClosed, func(c *call) { c.Pad = c.closed(tensor.U8, 2, 4) })
	add("Pad that is Valid", "Valid", ops.ErrOverlap, func(c *call) { c.Pad = c.Valid })
}

// clipMisuses are those of a fused stream's bounds, and of what the streams share for windows.
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
	add("Pad of another dtype", "Pad", ops.ErrDType, func(c *fuseCall) { c.args.Pad = c.new(tensor.I32, 2, 4, 2) })
	add("anchors for more rows", "Targets.Anchors", ops.ErrShape, func(c *fuseCall) { c.args.Targets = ops.Anchored(c.ints(0, 1, 2), c.ints(0, 1, 2, 3)) })
}
