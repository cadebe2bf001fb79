package opstest

import (
	"context"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// deprojectCall is a Deproject of two images with 3x4 pixels.
type deprojectCall struct {
	maker
	args ops.DeprojectArgs
	opts ops.DeprojectOptions
}

// deprojectMisuses returns the wrong calls of Deproject.
func deprojectMisuses() *misuses[deprojectCall] {
	x := &misuses[deprojectCall]{
		op: "Deproject",
		good: func(m maker, c *deprojectCall) {
			c.maker, c.opts = m, ops.DeprojectOptions{}
			c.args = ops.DeprojectArgs{Depth: m.new(tensor.F32, 2, 3, 4), Intrinsics: m.new(tensor.F32, 2, 4), Poses: m.new(tensor.F32, 2, 4, 4),
				Color: m.new(tensor.U8, 2, 3, 4, 3), Points: m.new(tensor.F32, 24, 3), Offsets: m.new(tensor.I64, 3), Colors: m.new(tensor.U8, 24, 3),
				Mask: m.new(tensor.U8, 2, 3, 4), Counts: m.new(tensor.I64, 2, 3)}
		},
		places: func(c *deprojectCall) []place {
			a := &c.args
			return []place{{"Depth", &a.Depth}, {"Intrinsics", &a.Intrinsics}, {"Poses", &a.Poses}, {"Color", &a.Color}, {"Points", &a.Points}, {"Offsets", &a.Offsets},
				{"Colors", &a.Colors}, {"Mask", &a.Mask}, {"Counts", &a.Counts}}
		},
		free: []string{"Depth", "Points"}, needed: []string{"Depth", "Intrinsics", "Points", "Color"},
		plan: func(dev *ops.Device, c *deprojectCall) error { _, err := dev.PlanDeproject(c.args, c.opts); return err },
		call: func(dev *ops.Device, c *deprojectCall) error {
			return dev.Deproject(context.Background(), c.args, c.opts)
		},
	}
	add := func(name, arg string, kind error, spoil func(*deprojectCall)) {
		x.wrong = append(x.wrong, wrong[deprojectCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	add("words of three bytes", "Depth", ops.ErrShape, func(c *deprojectCall) { c.args.Depth = c.new(tensor.U8, 2, 3, 4, 3) })
	add("words without bytes", "Depth", ops.ErrShape, func(c *deprojectCall) { c.args.Depth = c.new(tensor.U8, 2, 3, 4) })
	add("words apart", "Depth", ops.ErrStride, func(c *deprojectCall) {
		c.args.Depth = tensor.Must(c.new(tensor.U8, 2, 3, 4, 3).AsStrided([]int{2, 3, 4, 2}, []int{36, 12, 3, 1}, 0))
	})
	add("points in the depths", "Points", ops.ErrOverlap, func(c *deprojectCall) {
		c.args.Depth = tensor.Must(c.args.Points.AsStrided([]int{2, 3, 4}, []int{36, 12, 1}, 0))
	})
	add("pixels apart", "Color", ops.ErrStride, func(c *deprojectCall) {
		c.args.Color = tensor.Must(c.new(tensor.U8, 2, 3, 4, 4).AsStrided([]int{2, 3, 4, 3}, []int{48, 16, 4, 1}, 0))
	})
	add("a color without colors", "Color", ops.ErrOption, func(c *deprojectCall) { c.args.Colors = nil })
	add("colors without offsets", "Colors", ops.ErrOption, func(c *deprojectCall) { c.args.Offsets = nil })
	for _, shape := range [][]int{{24, 3}, {2, 3, 4, 2}, {3, 3, 4, 3}} {
		add("points without offsets", "Points", ops.ErrShape, func(c *deprojectCall) {
			c.args.Offsets, c.args.Colors, c.args.Color, c.args.Points = nil, nil, nil, c.new(tensor.F32, shape...)
		})
	}
	for _, scale := range []float64{-1, math.NaN(), math.Inf(1), 1e-60, 1e60} {
		add("a scale", "Options.Scale", ops.ErrOption, func(c *deprojectCall) { c.opts.Scale = scale })
	}
	for _, near := range []float64{-1, math.NaN()} {
		add("near", "Options.Near", ops.ErrOption, func(c *deprojectCall) { c.opts.Near = near })
	}
	for _, far := range []float64{-1, 0.5, math.NaN()} {
		add("far", "Options.Far", ops.ErrOption, func(c *deprojectCall) { c.opts.Near, c.opts.Far = 1, far })
	}
	return x
}
