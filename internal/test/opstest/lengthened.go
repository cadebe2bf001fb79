package opstest

import (
	"slices"

	"github.com/robocache/robocache/ops"
)

// lengthened returns a copy of a case with quaternions or angles that has at least four samples and two targets in each row. It
// repeats the last sample and target, which changes no result. A backend may have a faster path only for rows of that size. It
// returns nil for other cases, and if the rows are long enough.
func (c *resampling) lengthened() *resampling {
	turns := func(k ops.Channel) bool { return k.Interp == ops.InterpSlerp || k.Interp == ops.InterpAngle }
	if c.Opts.Interp != ops.InterpSlerp && c.Opts.Interp != ops.InterpAngle && !slices.ContainsFunc(c.Opts.Channels, turns) || c.Targets == nil ||
		c.SrcLengths != nil || c.SrcOffsets != nil || c.DstLengths != nil || c.DstOffsets != nil {
		return nil
	}
	samples := c.Times.shape[len(c.Times.shape)-1]
	if samples < 2 || samples >= 4 && c.Targets.shape[len(c.Targets.shape)-1] > 1 {
		return nil
	}
	out := *c
	out.Name += ", lengthened"
	out.Src, out.Times, out.Targets = c.Src.lengthened(2, 4), c.Times.lengthened(1, 4), c.Targets.lengthened(1, 2)
	return &out
}

// lengthened returns a copy with at least n elements along one dimension, made by repeating the last. from counts dimensions from the
// end: 1 is the last.
func (a *array) lengthened(from, n int) *array {
	if !slices.Equal(a.strides, packed(a.dtype, nil, a.shape...).strides) || a.offset != 0 {
		panic("opstest: not an array without gaps")
	}
	at := len(a.shape) - from
	inner := 1
	for _, d := range a.shape[at+1:] {
		inner *= d
	}
	row := a.shape[at] * inner
	shape := slices.Clone(a.shape)
	shape[at] = max(shape[at], n)
	var raw []uint64
	for first := 0; first < len(a.raw); first += row {
		raw = append(raw, a.raw[first:first+row]...)
		for range shape[at] - a.shape[at] {
			raw = append(raw, a.raw[first+row-inner:first+row]...)
		}
	}
	return packed(a.dtype, raw, shape...)
}
