package ops

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// Channel sets the interpolation for the features Lo to Hi-1. Example: {Lo: 3, Hi: 7, Interp: InterpSlerp} for a
// quaternion in columns 3 to 6.
type Channel struct {
	Lo, Hi int
	Interp Interp
	Quat   QuatOrder // for Slerp
	Period float64   // for Angle; 0 is 2 pi
	Window Limit     // for the window kinds; default Options.Window
}

// checkChannel sets an error if a channel's kind, order, width, window or period is invalid. arg is its argument name.
func checkChannel(ck *checker, c *backend.Channel, arg string) {
	window, given := c.Window.Get()
	got := "none"
	if given {
		got = window.String()
	}
	switch {
	case !c.Interp.Valid():
		ck.set(arg+".Interp", ErrOption, c.Interp.String(), fmt.Sprintf("one of %v", c.Interp.Names()))
	case !c.Quat.Valid():
		ck.set(arg+".Quat", ErrOption, c.Quat.String(), fmt.Sprintf("one of %v", c.Quat.Names()))
	case (c.Hi-c.Lo)%c.Interp.Width() != 0:
		ck.set(arg, ErrShape, fmt.Sprintf("%d features for %v", c.Hi-c.Lo, c.Interp), fmt.Sprintf("a multiple of %d", c.Interp.Width()))
	case c.Interp.Windowed() && window <= 0:
		ck.set(arg+".Window", ErrOption, got, fmt.Sprintf("a length of time above 0 for %v", c.Interp))
	case c.Interp == InterpAngle && (!(c.Period > 0) || math.IsInf(c.Period, 1)):
		ck.set(arg+".Period", ErrOption, fmt.Sprint(c.Period), "a positive number, or 0 for 2 pi")
	}
}

// channelTable returns channels that cover features 0 to d-1 in order: the given ones, and the default kind between them.
func channelTable(ck *checker, o *ResampleOptions, d int) []backend.Channel {
	base := backend.Channel{Interp: o.Interp, Quat: o.Quat, Period: o.Period, Window: o.Window}
	var table []backend.Channel
	add := func(c backend.Channel, lo, hi int, arg string) {
		if lo == hi {
			return
		}
		if c.Lo, c.Hi = lo, hi; c.Period == 0 {
			c.Period = 2 * math.Pi
		}
		if _, given := c.Window.Get(); !given {
			c.Window = o.Window
		}
		checkChannel(ck, &c, arg)
		table = append(table, c)
	}
	at := 0
	for i, c := range o.Channels {
		arg := fmt.Sprintf("Channels[%d]", i)
		if c.Lo < at || c.Hi <= c.Lo || c.Hi > d {
			ck.set(arg, ErrShape, fmt.Sprintf("features %d:%d", c.Lo, c.Hi), fmt.Sprintf("within %d:%d, in ascending order, not empty", at, d))
			return nil
		}
		add(base, at, c.Lo, "Options")
		add(backend.Channel(c), c.Lo, c.Hi, arg)
		at = c.Hi
	}
	add(base, at, d, "Options")
	return table
}

// checkClock sets an error if a clock has fields for more than one form, or an invalid field.
func checkClock(ck *checker, c *Clock) {
	switch {
	case c.IsAnchored() && c.Times != nil:
		ck.set("Targets.Times", ErrOption, "Times and Anchors", "one of them")
	case c.IsAnchored() && c.Anchors == nil:
		ck.set("Targets.Anchors", ErrMissing, "nil, with Deltas", "a tensor [B]")
	case c.IsAnchored() && c.Deltas == nil:
		ck.set("Targets.Deltas", ErrMissing, "nil, with Anchors", "a tensor [T]")
	}
	if c.Times != nil || c.IsAnchored() {
		return
	}
	if !(c.Rate > 0) || math.IsInf(c.Rate, 1) {
		ck.set("Targets.Rate", ErrOption, fmt.Sprint(c.Rate), "a positive rate in Hz, or Times")
		return
	}
	if c.Count < 0 {
		ck.set("Targets.Count", ErrShape, fmt.Sprint(c.Count), "0 or more")
		return
	}
	last := math.Abs(float64(c.Start)) + float64(max(c.Count-1, 0))*1e9/c.Rate
	if last > backend.MaxTime {
		ck.set("Targets", ErrTooLarge, fmt.Sprintf("start %d ns, %d ticks at %g Hz", c.Start, c.Count, c.Rate), "times within 2^62 ns of 0")
	}
}
