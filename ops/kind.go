package ops

import (
	"fmt"
	"math"
)

// Kind names how a value between two samples is made. Exactly on a sample, every kind gives that sample.
type Kind uint8

const (
	// Linear is v[k] + a*(v[k+1]-v[k]) with a = (x-t[k])/(t[k+1]-t[k]), as numpy.interp.
	Linear Kind = iota
	// Previous holds the last sample: causal, it looks at nothing after the target.
	Previous
	// Next takes the sample that follows.
	Next
	// Nearest takes the nearer sample; a tie takes the earlier.
	Nearest
	// Slerp interpolates unit quaternions, four features each, along the shorter arc (Shoemake, 1985).
	Slerp
	// Angle interpolates along the shorter arc of a period and wraps into [-period/2, period/2).
	Angle
	// Pchip is the monotone cubic of Fritsch and Butland (1984), as scipy's PchipInterpolator. Two samples with one stamp
	// end one curve and begin another.
	Pchip
	kinds
)

var kindNames = [kinds]string{"linear", "previous", "next", "nearest", "slerp", "angle", "pchip"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind returns the kind of a name, as String writes it.
func ParseKind(name string) (Kind, error) { return parse[Kind]("kind", kindNames[:], name) }

// Edge names what happens to targets before the first sample or after the last.
type Edge uint8

const (
	// Clamp takes the end sample.
	Clamp Edge = iota
	// FillEdge writes the fill value.
	FillEdge
	// Extrapolate continues a Linear channel along the nearest bracket that has a length; other kinds take the end sample.
	Extrapolate
	// ErrorEdge makes such a target a *ValueError that is ErrOutOfRange.
	ErrorEdge
	edges
)

var edgeNames = [edges]string{"clamp", "fill", "extrapolate", "error"}

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
	XYZW QuatOrder = iota
	// WXYZ has the scalar first, as PX4 and MuJoCo.
	WXYZ
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
	Kind   Kind
	Quat   QuatOrder // for Slerp
	Period float64   // for Angle; 0 is 2 pi
}

func (c Channel) check(ck *checker, arg string) {
	switch {
	case c.Kind >= kinds:
		ck.set(arg+".Kind", ErrOption, c.Kind.String(), fmt.Sprintf("one of %v", kindNames))
	case c.Quat >= quatOrders:
		ck.set(arg+".Quat", ErrOption, c.Quat.String(), fmt.Sprintf("one of %v", quatNames))
	case c.Kind == Slerp && (c.Hi-c.Lo)%4 != 0:
		ck.set(arg, ErrShape, fmt.Sprintf("%d features for slerp", c.Hi-c.Lo), "a multiple of 4")
	case c.Kind == Angle && (!(c.Period > 0) || math.IsInf(c.Period, 1)):
		ck.set(arg+".Period", ErrOption, fmt.Sprint(c.Period), "a positive number, or 0 for 2 pi")
	}
}

// channelTable covers features 0 to d-1 in order: the given channels, and between them the default kind.
func channelTable(ck *checker, o *ResampleOptions, d int) []Channel {
	base := Channel{Kind: o.Kind, Quat: o.Quat, Period: o.Period}
	var table []Channel
	add := func(c Channel, lo, hi int, arg string) {
		if lo == hi {
			return
		}
		if c.Lo, c.Hi = lo, hi; c.Period == 0 {
			c.Period = 2 * math.Pi
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
