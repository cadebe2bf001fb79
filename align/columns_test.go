package align

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// columnsOf makes columns: ! whole numbers, ~ a quaternion with the scalar first.
func columnsOf(list ...string) []dataset.Column {
	var out []dataset.Column
	for _, n := range list {
		name, whole := strings.CutPrefix(n, "!")
		c := dataset.Column{Integer: whole}
		if rest, ok := strings.CutPrefix(name, "~"); ok {
			name, c.Rotation = rest, dataset.RotationWXYZ
		}
		c.Name = name
		out = append(out, c)
	}
	return out
}

func TestKindsFollowTheColumns(t *testing.T) {
	q := []string{"~q[0]", "~q[1]", "~q[2]", "~q[3]"}
	w := []string{"x", "w[0]", "w[1]", "w[2]", "w[3]"}
	for _, c := range []struct {
		cols []string
		how  Sampling
		own  bool
		want []ops.Channel
	}{
		{append(q, "x", "!n"), Sampling{}, false,
			[]ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp, Quat: ops.QuatWXYZ}, {Lo: 4, Hi: 5}, {Lo: 5, Hi: 6, Interp: ops.InterpPrevious}}},
		{q, Sampling{Quat: "xyzw"}, false, []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp}}},
		{q, Sampling{Kind: "linear"}, false, []ops.Channel{{Lo: 0, Hi: 4}}},
		{q[:3], Sampling{}, false, []ops.Channel{{Lo: 0, Hi: 3}}},
		{w, Sampling{}, false, []ops.Channel{{Lo: 0, Hi: 5}}},
		{w, Sampling{Kind: "slerp"}, false, []ops.Channel{{Lo: 0, Hi: 5}}},
		{w, Sampling{Kind: "slerp", Quat: "wxyz"}, true, []ops.Channel{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 5, Interp: ops.InterpSlerp, Quat: ops.QuatWXYZ}}},
		{[]string{"x", "r[0]", "r[1]", "r[2]", "s[0]", "s[1]", "s[2]", "y[0]", "y[1]", "!n"}, Sampling{Kind: "rotvec"}, true,
			[]ops.Channel{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 7, Interp: ops.InterpRotVec}, {Lo: 7, Hi: 9}, {Lo: 9, Hi: 10, Interp: ops.InterpPrevious}}},
		{[]string{"m[0]", "m[1]", "m[2]", "m[3]", "m[4]", "m[5]"}, Sampling{Kind: "rot6d"}, true, []ops.Channel{{Lo: 0, Hi: 6, Interp: ops.InterpRot6D}}},
		{[]string{"x", "y", "vx", "vy"}, Sampling{Kind: "hermite"}, true, []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpHermite}}},
		{append([]string{"x"}, append(q, "!n")...), Sampling{Kind: "window-mean"}, true, []ops.Channel{{Lo: 0, Hi: 5, Interp: ops.InterpWindowMean}, {Lo: 5, Hi: 6, Interp: ops.InterpPrevious}}},
		{[]string{"!q[0]", "!q[1]", "!q[2]", "!q[3]"}, Sampling{}, false, []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpPrevious}}},
		{[]string{"!n", "!m"}, Sampling{Kind: "linear"}, false, []ops.Channel{{Lo: 0, Hi: 2, Interp: ops.InterpPrevious}}}, // a kind for all streams
		{[]string{"!n", "!m"}, Sampling{Kind: "linear"}, true, []ops.Channel{{Lo: 0, Hi: 2}}},                              // one of their own
		{[]string{"!n", "!m"}, Sampling{Kind: "window-max"}, true, []ops.Channel{{Lo: 0, Hi: 2, Interp: ops.InterpWindowMax}}},
		{[]string{"!n", "!m"}, Sampling{Kind: "hermite"}, true, []ops.Channel{{Lo: 0, Hi: 2, Interp: ops.InterpHermite}}},
		{[]string{"!n", "x"}, Sampling{Kind: "next"}, true, []ops.Channel{{Lo: 0, Hi: 1, Interp: ops.InterpPrevious}, {Lo: 1, Hi: 2, Interp: ops.InterpNext}}},
		{[]string{"!n", "!m"}, Sampling{}, true, []ops.Channel{{Lo: 0, Hi: 2, Interp: ops.InterpPrevious}}},
		{[]string{"a"}, Sampling{Kind: "angle", Period: 360}, false, []ops.Channel{{Lo: 0, Hi: 1, Interp: ops.InterpAngle, Period: 360}}},
		{[]string{"0", "1", "2", "3"}, Sampling{Kind: "slerp"}, false, []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp}}},
		{[]string{"a", "b", "!g", "c"}, Sampling{Kinds: []ColumnKind{{"g", "linear"}, {"0:1", "next"}}}, true,
			[]ops.Channel{{Lo: 0, Hi: 1, Interp: ops.InterpNext}, {Lo: 1, Hi: 4}}},
		{append(q, "x"), Sampling{Kinds: []ColumnKind{{"q", "linear"}}}, false, []ops.Channel{{Lo: 0, Hi: 5}}},
		{append(q, "x"), Sampling{Kinds: []ColumnKind{{"q[3]", "previous"}}}, false,
			[]ops.Channel{{Lo: 0, Hi: 3}, {Lo: 3, Hi: 4, Interp: ops.InterpPrevious}, {Lo: 4, Hi: 5}}},
	} {
		got, err := channels(&dataset.Stream{Name: "s", Columns: columnsOf(c.cols...)}, &c.how, c.own, dataset.RotationNone)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%v %+v", c.cols, c.how)
	}
	for want, how := range map[string]Sampling{
		"an array of four floats":  {Kind: "slerp"},
		"an array of three floats": {Kind: "rotvec"},
		"an array of six floats":   {Kind: "rot6d"},
		"as many values as":        {Kind: "hermite"},
		`column "z"`:               {Kinds: []ColumnKind{{"z", "next"}}},
		"a multiple of 4":          {Kinds: []ColumnKind{{"x", "slerp"}}},
		"two methods for column x": {Kinds: []ColumnKind{{"x", "next"}, {"0:1", "previous"}}},
	} {
		_, err := channels(&dataset.Stream{Name: "s", Columns: columnsOf("x")}, &how, true, dataset.RotationNone)
		var e *StreamError
		require.ErrorAs(t, err, &e, want)
		assert.ErrorContains(t, err, want)
	}
	_, err := channels(&dataset.Stream{Name: "s", Columns: columnsOf("0", "1")}, &Sampling{Kind: "slerp"}, true, dataset.RotationNone)
	assert.ErrorContains(t, err, "multiple of 4")
}

func TestColumnsAreTakenInTheOrderAsked(t *testing.T) {
	s := dataset.Stream{Name: "s", Columns: columnsOf("x", "~q[0]", "~q[1]", "~q[2]", "~q[3]", "n"), Times: tensor.Must(tensor.Of([]int64{1, 2}, 2)),
		Values: tensor.Must(tensor.Of([]float32{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}, 2, 6))}
	for _, c := range []struct {
		entries []string
		want    []float64
	}{
		{nil, []float64{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}},
		{[]string{"q"}, []float64{1, 2, 3, 4, 11, 12, 13, 14}},
		{[]string{"n", "x"}, []float64{5, 0, 15, 10}},
		{[]string{"4:6", "q[1]"}, []float64{4, 5, 2, 14, 15, 12}},
	} {
		got, err := selected(&s, c.entries)
		require.NoError(t, err)
		values, err := tensor.Floats(got.Values)
		require.NoError(t, err)
		assert.Equal(t, c.want, values, c.entries)
		assert.Len(t, got.Columns, got.Values.Dim(1))
	}
	assert.Len(t, s.Columns, 6)
	for _, entries := range [][]string{{"y"}, {"2:9"}, {"3:3"}, {"-1:2"}, {"x", "0:1"}, {"q", "q[2]"}, {""}} {
		_, err := selected(&s, entries)
		var e *StreamError
		assert.ErrorAs(t, err, &e, entries)
	}
}
