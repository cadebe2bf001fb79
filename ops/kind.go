package ops

import (
	"fmt"
	"math"
)

// Kind names how a target's value is made of the samples around it. Exactly on a sample every kind but the windows gives that
// sample, bit for bit.
type Interp uint8

const (
	// Linear is v[k] + a*(v[k+1]-v[k]) with a = (x-t[k])/(t[k+1]-t[k]), as numpy.interp.
	InterpLinear Interp = iota
	// Previous holds the last sample: causal, it looks at nothing after the target.
	InterpPrevious
	// Next takes the sample that follows.
	InterpNext
	// Nearest takes the nearer sample; a tie takes the earlier.
	InterpNearest
	// Slerp interpolates unit quaternions, four features each, along the shorter arc (Shoemake, 1985).
	InterpSlerp
	// Angle interpolates linearly where samples differ by half a period or less, and goes along the shorter arc where they differ by more. What
	// it makes there keeps the recording's range: [0, period) if one of the samples is at period/2 or above and none below 0, else
	// [-period/2, period/2).
	InterpAngle
	// Pchip is the monotone cubic of Fritsch and Butland (1984), as scipy's PchipInterpolator. Two samples with one stamp
	// end one curve and begin another.
	InterpPchip

	// The windows reduce the samples in (x-w, x], w being the channel's Window: the way to bring a fast stream down to a slow
	// clock without leaving samples out. x itself is in its window, so on a sample they reduce too. A target with an empty
	// window is not valid and gets NaN, or under FillGaps the fill value. Outside the samples' times the edge rule holds.

	// WindowMean is the sum of the samples, in their order and in float64, over their number, rounded once.
	InterpWindowMean
	// WindowMin is the least of the samples; -0 is less than +0, and a NaN is the result if there is one.
	InterpWindowMin
	// WindowMax is the greatest of them, by the same rules.
	InterpWindowMax
	// WindowLast is the last of them: Previous that goes no further back than the window.
	InterpWindowLast

	// CatmullRom is the cubic whose slope at a sample is that of the parabola through it and its neighbours in time, at the
	// end of a curve through the last three: the spline of Catmull and Rom (1974), with the time between samples in place of a
	// chord. Two samples with one stamp end one curve and begin another.
	InterpCatmullRom
	// Hermite is the cubic through recorded values with recorded velocities. The first half of a channel's features are the
	// values, the second half their velocities, in units per second whatever the clock; of the output, the first half is the
	// cubic, the second half its derivative, in units per second too.
	InterpHermite
	// RotVec interpolates rotation vectors, three features each (axis times angle in radians), by slerp of their quaternions.
	// The result's angle is in [0, pi]; at pi it has either of the two signs. A vector of more than 2^20 rad is like a NaN.
	InterpRotVec
	// Rot6D interpolates rotations given by the first two columns of their matrix, six features each: the first column, then
	// the second (Zhou et al., On the Continuity of Rotation Representations in Neural Networks, 2019). The columns are made
	// orthonormal by Gram and Schmidt's process, then go through the quaternion's slerp. Columns of no length, or that have
	// less than 2^-20 rad between them, are like a NaN. The first two rows, in place of the columns, give the same numbers.
	InterpRot6D
	kinds
)

var kindNames = [kinds]string{"linear", "previous", "next", "nearest", "slerp", "angle", "pchip",
	"window-mean", "window-min", "window-max", "window-last", "catmull-rom", "hermite", "rotvec", "rot6d"}

// Kinds returns every kind, in order.
func Interps() []Interp {
	all := make([]Interp, kinds)
	for i := range all {
		all[i] = Interp(i)
	}
	return all
}

// Windowed reports whether the kind reduces a window, and so needs the length of one.
func (k Interp) Windowed() bool { return k >= InterpWindowMean && k <= InterpWindowLast }

// Width is how many features are made together: a channel has a multiple of them.
func (k Interp) Width() int {
	switch k {
	case InterpSlerp:
		return 4
	case InterpRotVec:
		return 3
	case InterpRot6D:
		return 6
	case InterpHermite:
		return 2
	}
	return 1
}

// String returns the kind's name in lower case.
func (k Interp) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind returns the kind of a name, as String writes it.
func ParseInterp(name string) (Interp, error) { return parse[Interp]("kind", kindNames[:], name) }

// Edge names what happens to targets before the first sample or after the last.
type Edge uint8

const (
	// Clamp takes the end sample.
	EdgeClamp Edge = iota
	// FillEdge writes the fill value.
	EdgeFill
	// Extrapolate continues a Linear channel along the nearest bracket that has a length; other kinds take the end sample.
	EdgeExtrapolate
	// ErrorEdge makes such a target a *ValueError that is ErrOutOfRange.
	EdgeError
	// HoldEdge keeps the last sample after it, valid as long as Tolerance allows, with an age that grows: the rule of topics that speak only when something
	// changes. Before the first sample it is as FillEdge.
	EdgeHold
	edges
)

var edgeNames = [edges]string{"clamp", "fill", "extrapolate", "error", "hold"}

// String returns the edge's name in lower case.
func (e Edge) String() string {
	if e < edges {
		return edgeNames[e]
	}
	return fmt.Sprintf("edge(%d)", uint8(e))
}

// ParseEdge returns the edge rule of a name, as String writes it.
func ParseEdge(name string) (Edge, error) { return parse[Edge]("edge", edgeNames[:], name) }

// QuatOrder names the order of a quaternion's four features.
type QuatOrder uint8

const (
	// XYZW has the scalar last, as ROS, scipy and Eigen's memory.
	QuatXYZW QuatOrder = iota
	// WXYZ has the scalar first, as PX4 and MuJoCo.
	QuatWXYZ
	quatOrders
)

var quatNames = [quatOrders]string{"xyzw", "wxyz"}

// String returns xyzw or wxyz.
func (q QuatOrder) String() string {
	if q < quatOrders {
		return quatNames[q]
	}
	return fmt.Sprintf("quat(%d)", uint8(q))
}

// ParseQuatOrder returns the order of a name, as String writes it.
func ParseQuatOrder(name string) (QuatOrder, error) {
	return parse[QuatOrder]("quaternion order", quatNames[:], name)
}

func parse[T ~uint8](what string, names []string, name string) (T, error) {
	for i, n := range names {
		if n == name {
			return T(i), nil
		}
	}
	return 0, &ArgError{Op: "Parse", Arg: what, Kind: ErrOption, Got: fmt.Sprintf("%q", name), Want: fmt.Sprintf("one of %v", names)}
}

// Channel gives the features Lo to Hi-1 a kind of their own.
type Channel struct {
	Lo, Hi int
	Interp Interp
	Quat   QuatOrder // for Slerp
	Period float64   // for Angle; 0 is 2 pi
	Window Limit     // for the windows; that of the options unless given
}

func (c Channel) check(ck *checker, arg string) {
	window, given := c.Window.Get()
	got := "none"
	if given {
		got = window.String()
	}
	switch {
	case c.Interp >= kinds:
		ck.set(arg+".Kind", ErrOption, c.Interp.String(), fmt.Sprintf("one of %v", kindNames))
	case c.Quat >= quatOrders:
		ck.set(arg+".Quat", ErrOption, c.Quat.String(), fmt.Sprintf("one of %v", quatNames))
	case (c.Hi-c.Lo)%c.Interp.Width() != 0:
		ck.set(arg, ErrShape, fmt.Sprintf("%d features for %v", c.Hi-c.Lo, c.Interp), fmt.Sprintf("a multiple of %d", c.Interp.Width()))
	case c.Interp.Windowed() && window <= 0:
		ck.set(arg+".Window", ErrOption, got, fmt.Sprintf("a length of time above 0 for %v", c.Interp))
	case c.Interp == InterpAngle && (!(c.Period > 0) || math.IsInf(c.Period, 1)):
		ck.set(arg+".Period", ErrOption, fmt.Sprint(c.Period), "a positive number, or 0 for 2 pi")
	}
}

// channelTable covers features 0 to d-1 in order: the given channels, and between them the default kind.
func channelTable(ck *checker, o *ResampleOptions, d int) []Channel {
	base := Channel{Interp: o.Interp, Quat: o.Quat, Period: o.Period, Window: o.Window}
	var table []Channel
	add := func(c Channel, lo, hi int, arg string) {
		if lo == hi {
			return
		}
		if c.Lo, c.Hi = lo, hi; c.Period == 0 {
			c.Period = 2 * math.Pi
		}
		if !c.Window.set {
			c.Window = o.Window
		}
		c.check(ck, arg)
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
		add(c, c.Lo, c.Hi, arg)
		at = c.Hi
	}
	add(base, at, d, "Options")
	return table
}
