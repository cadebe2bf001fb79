package doctor

import (
	"slices"
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
