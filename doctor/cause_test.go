package doctor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// Before findings had causes, the flight log had one for each of these streams.
func TestTheFlightLogHasOneFindingForEachCause(t *testing.T) {
	const path = "../examples/data/flight.ulg"
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	r, err := Examine(t.Context(), d, Options{Path: path})
	require.NoError(t, err)
	streams, counts := map[Kind][]string{}, map[Kind]int{}
	for _, f := range r.Findings {
		streams[f.Kind] = append(streams[f.Kind], f.Streams...)
		counts[f.Kind] += f.Count
	}
	assert.Equal(t, map[Kind][]string{
		Gap: {"actuator_controls_0", "actuator_controls_1", "airspeed", "estimator_status", "sensor_combined", "vehicle_air_data", "vehicle_angular_velocity",
			"vehicle_magnetometer", "vehicle_rates_setpoint", "ekf_gps_drift"},
		Jitter:  {"vehicle_angular_velocity", "vehicle_angular_acceleration"},
		Dropout: nil,
		NaN: {"estimator_innovation_test_ratios", "estimator_innovation_variances", "estimator_innovations", "position_setpoint_triplet",
			"vehicle_land_detected", "vehicle_local_position", "battery_status", "battery_status_1", "sensor_mag", "sensor_mag_1", "vehicle_gps_position"},
		AngleWrap: {"yaw_estimator_status"},
	}, streams)
	assert.Equal(t, map[Kind]int{Gap: 10, Jitter: 3623, Dropout: 1, NaN: 833, AngleWrap: 4}, counts)
	require.Len(t, r.Findings, 6)
	assert.Empty(t, r.Findings[3].At, "the recorder took the time of the lost data from a topic with another clock")
	f, drift, unfilled := r.Findings[0], r.Findings[1], r.Findings[5]
	assert.Equal(t, []int{9, 9, 1}, []int{len(f.Streams), f.Count, len(f.Places())}, "streams that pause together")
	assert.Contains(t, f.Why, "at the same time, 9 steps are longer than 20 ms to 151 ms")
	assert.Contains(t, f.WhatToDo, "max_gap: 152ms")
	assert.Len(t, f.Plot.Lines, mostLines, "several clocks in one picture")
	assert.Equal(t, []string{"ekf_gps_drift"}, drift.Streams, "a pause at another time")
	assert.Equal(t, []any{NaN, Information, 37}, []any{unfilled.Kind, unfilled.Severity, len(unfilled.Columns)})
	assert.Contains(t, unfilled.Columns, "battery_status.temperature")
	scattered := r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == Jitter })].Plot.Lines[0].Y
	assert.Less(t, slices.Max(scattered), 10.0, "ms: the pause of 164 ms would flatten the jitter")
	assert.Equal(t, []Number{{Error, 0}, {Warning, 5}, {Information, 1}}, r.Tally())
}

// finding returns a finding about one range of time, or about none if to is 0.
func finding(kind Kind, stream string, severity Severity, from, to int64) Finding {
	f := *newFinding(kind, stream, 1, "it is so in "+stream)
	f.Severity, f.Episode = severity, 0
	if to > 0 {
		f.cover(dataset.Span{From: from, To: to})
	}
	return f
}

// pauseOf returns a finding about one gap in a clock with a limit in nanoseconds.
func pauseOf(stream string, limit, from, to int64) Finding {
	f := finding(Gap, stream, Warning, from, to)
	f.gap = &pause{limit: only(limit), longest: only(to - from), median: only(limit / 3)}
	return f
}

func throughout(f Finding) Finding { f.whole([]int64{100, 200}); return f }

func TestFindingsWithOneCauseAreOneFinding(t *testing.T) {
	other := func(f Finding, change func(*Finding)) Finding { change(&f); return f }
	stuck := finding(Stuck, "a", Warning, 100, 200)
	empty := other(finding(Empty, "a", Warning, 0, 0), func(f *Finding) { f.Why = "no samples" })
	note := func(stream, got string, severity Severity) Finding {
		f := *findingOf(Undecoded, &dataset.Note{Code: dataset.CodeUnsupported, Subject: stream, Count: 2, Detail: dataset.Detail{Got: got}})
		f.Severity = severity
		return f
	}
	for _, c := range []struct {
		name string
		a, b Finding
		one  bool
	}{
		{"the same time", stuck, finding(Stuck, "b", Warning, 110, 205), true},
		{"another time", stuck, finding(Stuck, "b", Warning, 201, 300), false},
		{"little time in common", stuck, finding(Stuck, "b", Warning, 160, 300), false},
		{"a short one in a long one", stuck, finding(Stuck, "b", Warning, 120, 140), false},
		{"one more range", stuck, other(finding(Stuck, "b", Warning, 100, 200), func(f *Finding) { f.cover(dataset.Span{From: 100, To: 200}, dataset.Span{From: 300, To: 301}) }), false},
		{"long and half in common", finding(Stuck, "a", Warning, 0, 10e9), finding(Stuck, "b", Warning, 4.9e9, 14.9e9), false},
		{"a pause that a slow stream notices late", pauseOf("a", 20e6, 0, 160e6), pauseOf("b", 150e6, 10e6, 300e6), true},
		{"two long gaps, half in common", pauseOf("a", 20e6, 0, 10e9), pauseOf("b", 20e6, 4.9e9, 14.9e9), false},
		{"short gaps one after the other", pauseOf("a", 20e6, 0, 21e6), pauseOf("b", 20e6, 20e6, 41e6), false},
		{"throughout, other sentences", throughout(finding(TimeUnit, "a", Error, 100, 200)), throughout(finding(TimeUnit, "b", Error, 100, 200)), false},
		{"throughout, one sentence", throughout(empty), throughout(other(empty, func(f *Finding) { f.Streams = []string{"b"} })), true},
		{"another kind", stuck, finding(Spike, "b", Warning, 100, 200), false},
		{"another severity", stuck, finding(Stuck, "b", Error, 100, 200), false},
		{"another remedy", stuck, other(finding(Stuck, "b", Warning, 100, 200), func(f *Finding) { f.WhatToDo = "nothing" }), false},
		{"another episode", stuck, other(finding(Stuck, "b", Warning, 100, 200), func(f *Finding) { f.Episode = 1 }), false},
		{"two faults of one stream", stuck, stuck, false},
		{"errors at the same time", finding(NaN, "a", Error, 5, 5), finding(NaN, "b", Error, 5, 5), true},
		{"errors without a time", finding(StaleStats, "a", Error, 0, 0), finding(StaleStats, "b", Error, 0, 0), false},
		{"no time, other sentences", finding(Inexact, "a", Warning, 0, 0), finding(Inexact, "b", Warning, 0, 0), false},
		{"no time, one sentence", empty, other(empty, func(f *Finding) { f.Streams = []string{"b"} }), true},
		{"one fact", note("a", "lz4", Warning), note("b", "lz4", Warning), true},
		{"two facts", note("a", "lz4", Warning), note("b", "szip", Warning), false},
		{"one fact that is an error", note("a", "lz4", Error), note("b", "lz4", Error), false},
	} {
		list := grouped([]Finding{c.a, c.b})
		if !c.one {
			assert.Len(t, list, 2, c.name)
			continue
		}
		require.Len(t, list, 1, c.name)
		f := list[0]
		assert.Equal(t, []any{[]string{"a", "b"}, c.a.Count + c.b.Count, c.a.Severity}, []any{f.Streams, f.Count, f.Severity}, c.name)
		assert.Equal(t, list, grouped(slices.Clone(list)), "%s: again", c.name)
		if f.Note != nil {
			assert.Equal(t, []any{"a, b", 2}, []any{f.Note.Subject, f.Note.Count}, c.name)
		}
	}
	f := grouped([]Finding{stuck, finding(Stuck, "b", Warning, 110, 205)})[0]
	assert.Equal(t, "a: it is so in a; b: it is so in b", f.Why)
	assert.Equal(t, []int64{100, 110}, f.At)
	assert.Equal(t, []dataset.Span{{From: 100, To: 205}}, f.Places())
}

func TestAGroupNeedsEachTwoToAgree(t *testing.T) {
	for _, from := range []int64{0, 1} { // before and after a, which agrees with both
		a, b, c := pauseOf("a", 60, 0, 100), pauseOf("b", 60, from, from+50), pauseOf("c", 60, 50, 110)
		for _, list := range [][]Finding{{a, b, c}, {c, b, a}, {b, a, c}, {c, a, b}} {
			groups := grouped(slices.Clone(list))
			require.Len(t, groups, 2)
			assert.False(t, slices.ContainsFunc(groups, func(f Finding) bool { return slices.Contains(f.Streams, "b") && slices.Contains(f.Streams, "c") }))
		}
	}
	wide, narrow, late := pauseOf("a", 60, 0, 100), pauseOf("b", 10, 0, 100), pauseOf("c", 10, 50, 110)
	assert.Len(t, grouped([]Finding{wide, late}), 1)
	assert.Len(t, grouped([]Finding{wide, narrow, late}), 2, "two pauses at one time with different limits")
}

func TestGroupsHaveTheOrderOfTheListAndOneChoiceBetweenFaultsOfAStream(t *testing.T) {
	early, late := finding(Stuck, "a", Warning, 100, 200), finding(Stuck, "a", Warning, 300, 400)
	assert.Equal(t, []Finding{late, early}, grouped([]Finding{late, early}))
	other := early
	other.Why = "another sentence"
	beside := finding(Stuck, "b", Warning, 100, 200)
	for _, list := range [][]Finding{{early, other, beside}, {other, early, beside}, {beside, early, other}} {
		groups := grouped(list)
		require.Len(t, groups, 2)
		alone := groups[slices.IndexFunc(groups, func(f Finding) bool { return len(f.Streams) == 1 })]
		assert.Equal(t, early.Why, alone.Why, "the first in the alphabet is with b")
	}
}

// described returns the groups as text, in an order of their own.
func described(groups []Finding) (list []string) {
	for _, f := range groups {
		list = append(list, fmt.Sprint(f.Kind, f.Severity, slices.Sorted(slices.Values(f.Streams)), f.Count, f.At, f.Places()))
	}
	slices.Sort(list)
	return list
}

func TestGroupsDoNotDependOnTheOrderAndKeepEveryFinding(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	joined := 0
	for range 300 {
		var list []Finding
		kept := map[string]int{}
		for range 2 + random.IntN(40) {
			stream, from := string(rune('a'+random.IntN(8))), int64(random.IntN(20))*10+1
			to := from + int64(random.IntN(100))
			f := finding([]Kind{Stuck, Spike}[random.IntN(2)], stream, Severities()[random.IntN(3)], from, to*int64(random.IntN(4)&1))
			switch {
			case random.IntN(3) == 0:
				f = pauseOf(stream, int64(20+random.IntN(100)), from, to)
			case random.IntN(4) == 0:
				f.throughout = true
			case random.IntN(4) == 0:
				f.Why, f.draw = "it is so", func() *Plot { return &Plot{Lines: []Line{{Name: stream}}} }
			}
			f.Count = 1 + random.IntN(5)
			list = append(list, f)
			kept[string(f.Kind)+stream]++
			kept[fmt.Sprint(f.Kind, f.Severity)] += f.Count
		}
		groups := grouped(slices.Clone(list))
		for _, f := range groups {
			for _, s := range f.Streams {
				kept[string(f.Kind)+s]--
			}
			kept[fmt.Sprint(f.Kind, f.Severity)] -= f.Count
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(f.Streams))), len(f.Streams), "a stream has one fault in a group")
			require.True(t, slices.IsSorted(f.At))
			if f.draw != nil {
				require.NotEmpty(t, f.draw().Lines)
			}
		}
		for what, n := range kept {
			require.Zero(t, n, what)
		}
		joined += len(list) - len(groups)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, described(groups), described(grouped(list)))
	}
	assert.Greater(t, joined, 500)
}

func TestRangesDoNotDependOnTheOrder(t *testing.T) {
	a, b, c := dataset.Span{From: 5, To: 5}, dataset.Span{From: 5, To: 9}, dataset.Span{From: 5, To: 7}
	assert.Equal(t, disjoint([]dataset.Span{a, c, b}), disjoint([]dataset.Span{b, a, c}))
}

func TestManyFindingsNeedFewComparisons(t *testing.T) {
	const many = 10000
	for name, c := range map[string]struct {
		of     func(i int64) Finding
		groups int
	}{
		"each at its own time": {func(i int64) Finding { return finding(Spike, fmt.Sprint(i), Warning, 10*i+1, 10*i+2) }, many},
		"all at one time":      {func(i int64) Finding { return finding(Spike, fmt.Sprint(i), Warning, 1, 2) }, 1},
		"all without a time":   {func(i int64) Finding { return finding(Spike, fmt.Sprint(i), Warning, 0, 0) }, 1},
		"a hundred at a time":  {func(i int64) Finding { return finding(Spike, fmt.Sprint(i), Warning, i/100*10+1, i/100*10+2) }, many / 100},
	} {
		var list []Finding
		for i := range int64(many) {
			list = append(list, c.of(i))
		}
		compared := 0
		groups := events(list, func(a, b *Finding) bool { compared++; return a.atOnce(b) })
		assert.Len(t, groups, c.groups, name)
		assert.LessOrEqual(t, compared, 2*many, name)
	}
}

func TestAGroupHasThePictureThatOneOfItsFindingsHas(t *testing.T) {
	drawn := finding(NaN, "b", Error, 100, 200)
	drawn.draw = func() *Plot { return &Plot{Lines: []Line{{Name: "b"}}} }
	for _, list := range [][]Finding{{drawn, finding(NaN, "a", Error, 100, 200)}, {finding(NaN, "a", Error, 100, 200), drawn}} {
		groups := grouped(list)
		require.Len(t, groups, 1)
		assert.Equal(t, "b", groups[0].draw().Lines[0].Name)
	}
}

func TestSamplesOfSeveralStreamsWithoutValuesAreCountedTogether(t *testing.T) {
	a, b := finding(NaN, "a", Information, 100, 200), finding(NaN, "b", Information, 300, 400)
	a.Columns, a.Count, b.Columns, b.Count = []string{"x"}, 3, []string{"y", "z"}, 4
	f := grouped([]Finding{a, b})[0]
	assert.True(t, strings.HasPrefix(f.Why, "3 columns are NaN or infinite in each of their streams' 7 samples: a.x, b (2)"), f.Why)
}
