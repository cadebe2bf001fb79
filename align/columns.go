package align

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/ops"
)

// selected returns the stream with the columns that the entries name, in their order. Values share the stream's memory if the columns are
// adjacent. An entry that matches no column is a *StreamError.
func selected(s *dataset.Stream, entries []string) (*dataset.Stream, error) {
	if len(entries) == 0 {
		return s, nil
	}
	var at []int
	for k, entry := range entries {
		key := fmt.Sprintf("columns[%d]", k)
		found := columns.Find(s.Columns, entry)
		if len(found) == 0 {
			got, want := columns.NoColumn(s.Columns, entry)
			return nil, &StreamError{Stream: s.Name, Got: got, Want: want, key: key}
		}
		for _, i := range found {
			if slices.Contains(at, i) {
				return nil, &StreamError{Stream: s.Name, Got: fmt.Sprintf("column %s twice", s.Columns[i].Name), Want: "each once", key: key}
			}
			at = append(at, i)
		}
	}
	out := *s
	out.Columns = nil
	neighbours := true
	for k, i := range at {
		out.Columns = append(out.Columns, s.Columns[i])
		neighbours = neighbours && i == at[0]+k
	}
	var err error
	if neighbours {
		out.Values, err = s.Values.Slice(1, at[0], at[0]+len(at))
	} else {
		out.Values, err = s.Values.Take(1, at)
	}
	return &out, err
}

// channels returns the interpolation method of each column, its kind. own is true if the kind is set for the stream and not only in the
// defaults. custom is the quaternion order if the columns declare none. A method that does not fit the columns is an error.
func channels(s *dataset.Stream, o *Sampling, own bool, custom dataset.Rotation) ([]ops.Channel, error) {
	list := make([]ops.Channel, 0, len(s.Columns))
	set, err := assigned(s, o, custom)
	if err != nil {
		return nil, err
	}
	rest, err := byColumn(s, o, own, custom)
	if err != nil {
		return nil, err
	}
	for _, c := range rest {
		each := c.Interp.Width() // columns that have one kind together
		if c.Interp == ops.InterpHermite {
			each = c.Hi - c.Lo
		}
		for lo := c.Lo; lo < c.Hi; lo += each {
			if one := c; !slices.ContainsFunc(set[lo:lo+each], isSet) {
				one.Lo, one.Hi = lo, lo+each
				list = append(list, one)
				continue
			}
			for i := lo; i < lo+each; i++ { // part of a rotation is no rotation
				if set[i] == nil {
					list = append(list, ops.Channel{Lo: i, Hi: i + 1, Interp: ops.InterpLinear})
				}
			}
		}
	}
	for i := range set {
		if c := set[i]; c != nil && c.Lo == i {
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b ops.Channel) int { return a.Lo - b.Lo })
	return merged(list), nil
}

func isSet(c *ops.Channel) bool { return c != nil }

// assigned returns, by column, the channel that the plan's Kinds set for it, or nil.
func assigned(s *dataset.Stream, o *Sampling, custom dataset.Rotation) ([]*ops.Channel, error) {
	set := make([]*ops.Channel, len(s.Columns))
	for _, k := range o.Kinds {
		wrong := func(got, want string) error {
			return &StreamError{Stream: s.Name, Got: got, Want: want, key: "method." + k.Columns}
		}
		at := columns.Find(s.Columns, k.Columns)
		if len(at) == 0 {
			got, want := columns.NoColumn(s.Columns, k.Columns)
			return nil, wrong("a method for "+got, want)
		}
		kind, err := ops.ParseInterp(k.Kind)
		if err != nil {
			return nil, err
		}
		if at[len(at)-1]-at[0] != len(at)-1 || len(at)%kind.Width() != 0 {
			return nil, wrong(fmt.Sprintf("%s for the %d columns %s", kind, len(at), k.Columns), fmt.Sprintf("neighbours, a multiple of %d", kind.Width()))
		}
		c := &ops.Channel{Lo: at[0], Hi: at[len(at)-1] + 1, Interp: kind}
		o.finish(c, cmp.Or(s.Columns[c.Lo].Rotation, custom))
		for _, i := range at {
			if set[i] != nil {
				return nil, wrong(fmt.Sprintf("two methods for column %s", s.Columns[i].Name), "one")
			}
			set[i] = c
		}
	}
	return set, nil
}

// finish sets the options that a channel's kind needs.
func (o *Sampling) finish(c *ops.Channel, r dataset.Rotation) {
	switch {
	case c.Interp == ops.InterpAngle:
		c.Period = o.Period
	case c.Interp == ops.InterpSlerp && (o.Quat == "wxyz" || o.Quat == "" && r == dataset.RotationWXYZ):
		c.Quat = ops.QuatWXYZ
	}
}

// byColumn returns the methods of columns by their type. Whole numbers keep their previous value, unless the stream has only whole numbers
// and a kind in the plan. Without a kind in the plan, rotations use slerp. All others have the plan's kind, or linear.
func byColumn(s *dataset.Stream, o *Sampling, own bool, custom dataset.Rotation) ([]ops.Channel, error) {
	cols := s.Columns
	kind, asked := ops.InterpLinear, o.Kind != ""
	if asked {
		var err error
		if kind, err = ops.ParseInterp(o.Kind); err != nil {
			return nil, err
		}
	}
	if own && asked && s.AllInteger() { // the plan can mean nothing else, so they are treated like floats
		cols = slices.Clone(cols)
		for i := range cols {
			cols[i].Integer = false
		}
	}
	whole := func(c dataset.Column) bool { return c.Integer }
	if kind == ops.InterpHermite {
		if slices.ContainsFunc(cols, whole) || len(cols)%2 != 0 {
			return nil, &StreamError{Stream: s.Name, Got: "hermite for columns " + oneOf(columns.Names(cols)), Want: "floats, as many values as velocities"}
		}
		return []ops.Channel{{Hi: len(cols), Interp: kind}}, nil
	}
	grouped := kind.Width() > 1
	if grouped && unnamed(cols) {
		if len(cols)%kind.Width() != 0 {
			return nil, &StreamError{Stream: s.Name, Got: fmt.Sprintf("%v for %d columns", kind, len(cols)), Want: fmt.Sprintf("a multiple of %d", kind.Width())}
		}
		c := ops.Channel{Hi: len(cols), Interp: kind}
		o.finish(&c, custom)
		return []ops.Channel{c}, nil
	}
	var list []ops.Channel
	found := 0
	for i := 0; i < len(cols); i++ {
		c := ops.Channel{Lo: i, Hi: i + 1, Interp: ops.InterpLinear}
		r := columns.RotationAt(cols, i)
		switch {
		case cols[i].Integer:
			c.Interp = ops.InterpPrevious
		case r != dataset.RotationNone && (!asked || kind == ops.InterpSlerp), own && grouped && arrayAt(cols, i, kind.Width()) && kind == ops.InterpSlerp:
			c.Interp, c.Hi = ops.InterpSlerp, i+4
		case own && grouped && arrayAt(cols, i, kind.Width()):
			c.Interp, c.Hi = kind, i+kind.Width()
		case asked && !grouped:
			c.Interp = kind
		}
		o.finish(&c, cmp.Or(r, custom))
		if c.Interp == kind {
			found++
		}
		i = c.Hi - 1
		list = append(list, c)
	}
	if own && grouped && found == 0 {
		return nil, &StreamError{Stream: s.Name, Got: fmt.Sprintf("%v for columns %s", kind, oneOf(columns.Names(cols))),
			Want: fmt.Sprintf("an array of %s floats; in a plan a range of columns has a method", map[int]string{3: "three", 4: "four", 6: "six"}[kind.Width()])}
	}
	return merged(list), nil
}

// unnamed reports whether the names of columns are their indices.
func unnamed(cols []dataset.Column) bool {
	for i, c := range cols {
		if c.Integer || c.Name != strconv.Itoa(i) {
			return false
		}
	}
	return len(cols) > 0
}

// arrayAt reports whether an array of exactly n floats begins at column i.
func arrayAt(cols []dataset.Column, i, n int) bool {
	base, ok := strings.CutSuffix(cols[i].Name, "[0]")
	if !ok || i+n > len(cols) {
		return false
	}
	for k, c := range cols[i : i+n] {
		if c.Integer || c.Name != fmt.Sprintf("%s[%d]", base, k) {
			return false
		}
	}
	return i+n == len(cols) || cols[i+n].Name != fmt.Sprintf("%s[%d]", base, n)
}

// merged joins adjacent channels with one kind into one channel.
func merged(list []ops.Channel) []ops.Channel {
	var out []ops.Channel
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Hi == c.Lo && out[n-1].Interp == c.Interp && out[n-1].Quat == c.Quat && out[n-1].Period == c.Period && c.Interp != ops.InterpHermite {
			out[n-1].Hi = c.Hi
			continue
		}
		out = append(out, c)
	}
	return out
}

// countKinds returns the number of columns by kind.
func countKinds(list []ops.Channel) map[string]int {
	out := map[string]int{}
	for _, c := range list {
		out[c.Interp.String()] += c.Hi - c.Lo
	}
	return out
}
