package opstest

import (
	"fmt"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// manyRows tests more rows than a launch with few targets has threads, so that each thread checks the lengths of several. One of the
// last rows is wrong.
func manyRows(test visit) {
	const b, n = 300, 2
	for i, in := range valueDTypes {
		for k, clock := range clockDTypes {
			timestamps := make([]float64, b*n)
			lengths, sources, offsets := make([]int64, b), make([]int64, b+1), make([]int64, b+1)
			for row := range b {
				timestamps[row*n+1] = 4
				lengths[row], sources[row+1] = int64(1+row%2), int64(n*(row+1))
				offsets[row+1] = max(int64(row)-280, 0)
			}
			targets := make([]float64, offsets[b])
			for x := range targets {
				targets[x] = float64(x % 6)
			}
			v := uniformValues(rng(62), b*n*3)
			for j, channels := range [][]ops.Channel{nil, {{Lo: 1, Hi: 2, Interp: ops.InterpAngle}}, {{Lo: 1, Hi: 2, Interp: ops.InterpPchip}}} {
				form := func() *resampling {
					c := &resampling{Name: fmt.Sprint(in, clock), Targets: vals(clock, targets, len(targets)), DstOffsets: arr(offsets, b+1), Opts: ops.ResampleOptions{Channels: channels}}
					if (i+k+j)%2 == 0 {
						c.Src, c.Times, c.SrcLengths = vals(in, v, b, n, 3), vals(clock, timestamps, b, n), arr(lengths, b)
					} else {
						c.Src, c.Times, c.SrcOffsets = vals(in, v, b*n, 3), vals(clock, timestamps, b*n), arr(sources, b+1)
					}
					return c
				}
				for _, wrong := range []func(*resampling){
					func(*resampling) {},
					func(c *resampling) { // too long
						if c.SrcLengths != nil {
							c.SrcLengths.raw[250+i] = n + 1
						} else {
							c.SrcOffsets.raw[250+i] += n + 1
						}
					},
					func(c *resampling) { // no samples, but a target
						if c.SrcLengths != nil {
							c.SrcLengths.raw[290+k] = 0
						} else {
							c.SrcOffsets.raw[290+k] = c.SrcOffsets.raw[291+k]
						}
					},
					func(c *resampling) { c.DstOffsets.raw[200+j] = 1 },
					func(c *resampling) { c.DstOffsets.raw[0] = 1 },
					func(c *resampling) {
						if c.SrcOffsets != nil {
							c.SrcOffsets.raw[0] = 1
						}
					},
					func(c *resampling) { c.DstOffsets.raw[b]-- },
					func(c *resampling) {
						if c.SrcOffsets != nil {
							c.SrcOffsets.raw[b]--
						}
					},
				} {
					c := form()
					wrong(c)
					f := &fusing{Name: c.Name, Out: tensor.F32, Streams: []*part{{resampling: *form()}, {resampling: *c}}, Targets: c.Targets, DstOffsets: c.DstOffsets}
					test(c, f, layouts[j%2])
				}
			}
		}
	}
}
