package clocks

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func at(name string, first, last int64) Source {
	return Source{Cover: cover.Cover{Name: name, First: first, Last: last}}
}

// spanOver is spanOf of a recording that has no other streams.
func spanOver(list []Source, r Range) (Span, error) { return spanOf(list, Recording(list), r) }

func TestRangeOfARecording(t *testing.T) {
	none := dataset.Notes{{Code: dataset.CodeRangeNotNarrowed}}
	held := at("mode", 40, 41)
	held.OnChange = true
	for _, c := range []struct {
		name  string
		mode  Mode
		list  []Source
		want  Span
		clash []string
	}{
		{"what all share", Common, []Source{at("a", 0, 90), at("b", 10, 100)}, Span{First: 10, Last: 90, BeginsWith: "b", EndsWith: "a"}, nil},
		{"a topic that holds does not narrow", Common, []Source{at("a", 0, 100), held}, Span{First: 0, Last: 100, BeginsWith: "a", EndsWith: "a"}, nil},
		{"half of the recording narrows", Common, []Source{at("a", 0, 100), at("half", 50, 100)}, Span{First: 50, Last: 100, BeginsWith: "half", EndsWith: "a"}, nil},
		{"less than half does not", Common, []Source{at("a", 0, 100), at("b", 51, 100)}, Span{First: 0, Last: 100, BeginsWith: "a", EndsWith: "a"}, nil},
		{"none narrows: all of it", Common, []Source{at("a", 0, 10), at("b", 90, 100), held}, Span{First: 0, Last: 100, BeginsWith: "a", EndsWith: "b", Notes: none}, nil},
		{"only topics that hold", Common, []Source{held}, Span{First: 40, Last: 41, BeginsWith: "mode", EndsWith: "mode"}, nil},
		{"strictly common", Intersection, []Source{at("a", 0, 100), held}, Span{First: 40, Last: 41, BeginsWith: "mode", EndsWith: "mode"}, nil},
		{"nothing strictly common", Intersection, []Source{at("a", 0, 40), at("all", 0, 100), at("b", 60, 100)}, Span{}, []string{"a", "b"}},
		{"union", Union, []Source{at("a", 0, 40), at("b", 60, 100)}, Span{First: 0, Last: 100, BeginsWith: "a", EndsWith: "b"}, nil},
		{"one moment", Common, []Source{at("a", 7, 7)}, Span{First: 7, Last: 7, BeginsWith: "a", EndsWith: "a"}, nil},
	} {
		got, err := spanOver(c.list, Range{Mode: c.mode})
		if c.clash == nil {
			require.NoError(t, err, c.name)
			assert.Equal(t, c.want, got, c.name)
			continue
		}
		var e *RangeError
		require.ErrorAs(t, err, &e, c.name)
		assert.Equal(t, c.clash, []string{e.Streams[0].Name, e.Streams[1].Name}, "only those in the way")
		assert.ErrorContains(t, err, "no time that all have in common: a covers 0.000 to 0.00000004 s, b covers")
	}
	got, err := spanOver([]Source{at("a", 0, 50), at("b", 51, 101)}, Range{})
	require.NoError(t, err)
	assert.Equal(t, [2]int64{0, 101}, [2]int64{got.First, got.Last})
	assert.Equal(t, none, got.Notes)
	got, err = spanOver([]Source{at("a", 0, 60), at("b", 61, 100), at("c", 0, 100), at("d", 40, 100)}, Range{})
	require.NoError(t, err)
	assert.Equal(t, [2]int64{40, 60}, [2]int64{got.First, got.Last}, "b covers 39 of 100")
	got, err = spanOver([]Source{at("a", 7, 60), at("b", 1, 100)}, Range{Between, 2, 5})
	require.NoError(t, err)
	assert.Equal(t, Span{First: 3, Last: 6}, got, "from the first timestamp of all")
	late := at("late", 60, 100)
	late.Stray = true
	got, err = spanOver([]Source{at("a", 0, 50), late}, Range{})
	require.NoError(t, err)
	require.Len(t, got.Notes, 1)
	assert.Equal(t, dataset.CodeRangeDisjoint, got.Notes[0].Code)
	var disjoint *RangeError
	assert.ErrorAs(t, got.Notes[0].Cause, &disjoint)
	_, err = spanOver(nil, Range{})
	assert.ErrorContains(t, err, "no samples")
}

func TestAStreamOfASingleMomentNeitherBeginsNorEndsAClock(t *testing.T) {
	long := []Source{at("a", 10, 90), at("b", 20, 100)}
	for mode, want := range map[Mode]Span{
		Common:       {First: 20, Last: 90, BeginsWith: "b", EndsWith: "a"},
		Intersection: {First: 20, Last: 90, BeginsWith: "b", EndsWith: "a"},
		Union:        {First: 10, Last: 100, BeginsWith: "a", EndsWith: "b"},
		Between:      {First: 15, Last: 30},
	} {
		for _, moment := range []int64{0, 10, 50, 100, 5000} {
			r := Range{Mode: mode, From: 5, To: 20}
			got, err := spanOver(append([]Source{at("static", moment, moment)}, long...), r)
			require.NoError(t, err, "mode %v, moment %d", mode, moment)
			assert.Equal(t, want, got, "mode %v, moment %d", mode, moment)
		}
	}
	// Without others it is the clock.
	for _, mode := range []Mode{Common, Intersection, Union} {
		got, err := spanOver([]Source{at("static", 7, 7)}, Range{Mode: mode})
		require.NoError(t, err)
		assert.Equal(t, Span{First: 7, Last: 7, BeginsWith: "static", EndsWith: "static"}, got, "mode %v", mode)
	}
}

// Two streams of half a recording that only touch have nothing in common but that moment; apart by a nanosecond, nothing.
func TestNothingInCommonIsSaid(t *testing.T) {
	got, err := spanOver([]Source{at("a", 0, 50), at("b", 50, 100)}, Range{})
	require.NoError(t, err)
	assert.Equal(t, Span{First: 50, Last: 50, BeginsWith: "b", EndsWith: "a"}, got)
	// With a third, that is longer than the two, none is half.
	got, err = spanOver([]Source{at("a", 0, 51), at("b", 52, 103), at("c", 0, 102)}, Range{Mode: Common})
	require.NoError(t, err)
	assert.Equal(t, [2]int64{0, 102}, [2]int64{got.First, got.Last})
	assert.Empty(t, got.Notes)
}

func TestAStrayTimestampIsNamed(t *testing.T) {
	day := int64(86400e9)
	list := []Source{at("pose", 20000*day, 20000*day+30e9), at("imu", 20000*day, 20000*day+30e9), at("rtl", 0, 20000*day+20e9)}
	_, _, err := Over(list, Recording(list), Range{Mode: Union}, 10, ops.Limit{}, tensor.I64)
	var e *RangeError
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Streams, 1)
	assert.Equal(t, "rtl", e.Streams[0].Name)
	assert.ErrorContains(t, err, "rtl covers 0.000 to 1728000020.000 s")

	_, _, err = Over(list[:2], Recording(list[:2]), Range{}, 1e9, ops.Limit{}, tensor.I64)
	require.ErrorAs(t, err, &e)
	assert.Empty(t, e.Streams, "the rate is to blame, not a stream")
	assert.ErrorContains(t, err, "1e+09 Hz")
}

func TestClockEndsWithTheLastTickInReach(t *testing.T) {
	for _, c := range []struct {
		last int64
		snap time.Duration
		want int
	}{{1e9, 0, 31}, {999_999_999, 0, 30}, {999_999_999, time.Nanosecond, 31}, {0, 0, 1}, {math.MaxInt64, time.Hour, 0}} {
		s := Span{Last: c.last}
		if c.want == 0 {
			s.First = c.last - 1e9
			c.want = 31
		}
		clock, _, fits := s.clock(30, ops.Within(c.snap))
		require.True(t, fits)
		if c.last == math.MaxInt64 {
			assert.GreaterOrEqual(t, clock.Count, 30)
			continue
		}
		assert.Equal(t, c.want, clock.Count, "%+v", c)
	}
}

func TestAfterIsHeldWhereTimesEnd(t *testing.T) {
	assert.Equal(t, int64(1<<62), After(1<<62, time.Hour))
	assert.Equal(t, int64(-1<<62), After(-1<<62, -time.Hour))
	assert.Equal(t, int64(1_000_000_007), After(7, time.Second))
}
