package serve

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// reader reads an operation's options and keeps the first error.
type reader struct {
	op      string
	tensors map[string]tensorJSON
	err     error
}

// object reads an operation's JSON strictly, into a struct that begins with h.
func (r *reader) object(text []byte, v any, h *head) {
	r.err = decode(text, v)
	r.tensors = h.Tensors
}

// word parses a name. The empty name is the zero value.
func word[T any](r *reader, name, arg string, parse func(string) (T, error)) (v T) {
	if name == "" || r.err != nil {
		return v
	}
	v, err := parse(name)
	var unknown *ops.ArgError
	if errors.As(err, &unknown) {
		err = &ops.ArgError{Op: r.op, Arg: arg, Kind: unknown.Kind, Got: unknown.Got, Want: unknown.Want}
	}
	r.err = err
	return v
}

// number is a JSON number, or "nan", "inf" or "-inf", because JSON has no such numbers.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"nan"`:
		*n = number(math.NaN())
	case `"inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	default:
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil || bytes.ContainsAny(text, "nN") {
			return &RequestError{Got: string(text), Want: `a float64 number, "nan", "inf" or "-inf"`}
		}
		*n = number(v)
	}
	return nil
}

// floats returns numbers rounded to float32.
func floats(list []number) []float32 {
	if list == nil {
		return nil
	}
	return tensor.Cast[float32](list)
}

func limit(ns *int64) ops.Limit {
	if ns == nil {
		return ops.Limit{}
	}
	return ops.Within(time.Duration(*ns))
}

// samplingJSON are the options for a channel, or for all channels without their own.
type samplingJSON struct {
	Interp string `json:"interp"`
	Quat   string `json:"quat"`
	Period number `json:"period"`
	Window *int64 `json:"window"`
}

func (j *samplingJSON) channel(r *reader, arg string) ops.Channel {
	return ops.Channel{Interp: word(r, j.Interp, arg+".Interp", ops.ParseInterp), Quat: word(r, j.Quat, arg+".Quat", ops.ParseQuatOrder), Period: float64(j.Period), Window: limit(j.Window)}
}

type channelJSON struct {
	Lo int `json:"lo"`
	Hi int `json:"hi"`
	samplingJSON
}

type resampleJSON struct {
	samplingJSON
	Channels   []channelJSON `json:"channels"`
	Edge       string        `json:"edge"`
	Fill       *number       `json:"fill"`
	Snap       *int64        `json:"snap"`
	MaxGap     *int64        `json:"max_gap"`
	Tolerance  *int64        `json:"tolerance"`
	FillGaps   bool          `json:"fill_gaps"`
	TrustTimes bool          `json:"trust_times"`
}

func (j *resampleJSON) options(r *reader, arg string) ops.ResampleOptions {
	all := j.channel(r, arg)
	o := ops.ResampleOptions{
		Interp: all.Interp, Quat: all.Quat, Period: all.Period, Window: all.Window, Edge: word(r, j.Edge, arg+".Edge", ops.ParseEdge), Snap: limit(j.Snap),
		MaxGap: limit(j.MaxGap), Tolerance: limit(j.Tolerance), FillGaps: j.FillGaps, TrustTimes: j.TrustTimes,
	}
	if j.Fill != nil {
		o.Fill = ops.FillWith(float64(*j.Fill))
	}
	for i, c := range j.Channels {
		one := c.channel(r, fmt.Sprintf("%s.Channels[%d]", arg, i))
		one.Lo, one.Hi = c.Lo, c.Hi
		o.Channels = append(o.Channels, one)
	}
	return o
}

type fuseJSON struct {
	TrustTimes bool `json:"trust_times"`
}

type clockJSON struct {
	Start int64  `json:"start"`
	Rate  number `json:"rate"`
	Count int    `json:"count"`
}

// uniform returns the clock, or the zero clock if c is nil.
func (c *clockJSON) uniform() ops.Clock {
	if c == nil {
		return ops.Clock{}
	}
	return ops.Uniform(c.Start, float64(c.Rate), c.Count)
}

type streamJSON struct {
	Width   int          `json:"width"`
	Offset  int64        `json:"offset"`
	Options resampleJSON `json:"options"`
	Shift   []number     `json:"shift"`
	Scale   []number     `json:"scale"`
	ClipMin []number     `json:"clip_min"`
	ClipMax []number     `json:"clip_max"`
}

type gridJSON struct {
	Preset string   `json:"preset"` // "peract", which has no size, or ""
	Min    []number `json:"min"`
	Max    []number `json:"max"`
	Size   []number `json:"size"`
}

func (g *gridJSON) grid(r *reader) (v ops.VoxelGrid) {
	for _, p := range []struct {
		name string
		from []number
		to   *[3]float64
	}{{"min", g.Min, &v.Min}, {"max", g.Max, &v.Max}, {"size", g.Size, &v.Size}} {
		if g.Preset == "peract" && p.to == &v.Size {
			var err error
			if v, err = ops.PerActGrid(v.Min, v.Max); r.err == nil {
				r.err = err
			}
			return v
		}
		if len(p.from) != 3 && r.err == nil {
			r.err = &RequestError{Arg: "grid." + p.name, Got: fmt.Sprintf("%d numbers", len(p.from)), Want: "3, for x, y and z"}
			return v
		}
		for i, n := range p.from {
			p.to[i%3] = float64(n)
		}
	}
	return v
}

type voxelizeJSON struct {
	Mode      string `json:"mode"`
	Reduce    string `json:"reduce"`
	Order     string `json:"order"`
	MaxPoints int    `json:"max_points"`
	MaxVoxels int    `json:"max_voxels"`
	Empty     number `json:"empty"`
}

func (j *voxelizeJSON) options(r *reader) ops.VoxelizeOptions {
	return ops.VoxelizeOptions{
		Mode: word(r, j.Mode, "Options.Mode", ops.ParseVoxelMode), Reduce: word(r, j.Reduce, "Options.Reduce", ops.ParseReduce),
		Order: word(r, j.Order, "Options.Order", ops.ParseAxisOrder), MaxPoints: j.MaxPoints, MaxVoxels: j.MaxVoxels, Empty: float64(j.Empty),
	}
}
