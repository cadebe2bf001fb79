package view

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/test/browsertest"
)

// arms is a dataset of ten episodes: the columns of number 2 are in another order, and nothing moves in number 5.
func arms(t *testing.T) *memory {
	m := &memory{}
	for i := range 10 {
		names := []string{"shoulder", "elbow"}
		if i == 2 {
			names = []string{"elbow", "shoulder"}
		}
		e := &dataset.Episode{Name: fmt.Sprint(i)}
		e.Streams = []dataset.Stream{stream(t, "joints", epoch, 50, 8, names, func(s float64, k int) float32 {
			if i == 5 {
				return float32(k)
			}
			return float32(math.Sin(s*(1+0.3*float64(k)) + float64(i)))
		})}
		m.list = append(m.list, func() (*dataset.Episode, error) { return e, nil })
	}
	return m
}

type listJSON struct {
	Episodes []summary
	Done     bool
}

// finished waits until a server has read and compared all episodes, and returns their latest summaries.
func finished(t *testing.T, s *Server) map[int]summary {
	var list listJSON
	require.Eventually(t, func() bool { list = getJSON[listJSON](t, s, "/api/episodes"); return list.Done }, browsertest.Patience, 10*time.Millisecond)
	latest := map[int]summary{}
	for _, e := range list.Episodes {
		latest[e.Number] = e
	}
	return latest
}

func TestFindingsThatCompareEpisodesAreThoseOfDoctor(t *testing.T) {
	for name, m := range map[string]*memory{"arms": arms(t), "robots": robots(t, 5)} {
		want, err := doctor.Examine(context.Background(), m, doctor.Options{})
		require.NoError(t, err)
		s := serve(t, m, Options{})
		list := finished(t, s)
		whole := getJSON[struct{ Findings []findingJSON }](t, s, "/api/dataset").Findings
		assert.Equal(t, texts(want.Of(doctor.Whole)), shown(whole), name)
		for i := range m.Len() {
			found := want.Of(i)
			assert.Equal(t, len(found), list[i].Errors+list[i].Warnings, "%s: episode %d in the list", name, i)
			if e, err := m.Episode(context.Background(), i); err == nil && e != nil {
				assert.ElementsMatch(t, texts(found), shown(getJSON[episodeJSON](t, s, fmt.Sprintf("/api/episodes/%d", i)).Findings), "%s: episode %d", name, i)
			}
		}
		if name == "arms" {
			assert.Len(t, whole, 1, "another order of columns")
			assert.Equal(t, []string{string(doctor.Stuck)}, list[5].Kinds)
		}
	}
}

func texts(list []doctor.Finding) (out []string) {
	for _, f := range list {
		out = append(out, string(f.Kind)+" "+newFinding(&f).Why)
	}
	return out
}

func shown(list []findingJSON) (out []string) {
	for _, f := range list {
		out = append(out, string(f.Kind)+" "+f.Why)
	}
	return out
}

// A finding in an array of 2000 places has marks over all of them, in seconds of the page.
func TestMarksCoverAllPlacesOfAFinding(t *testing.T) {
	e := &dataset.Episode{Name: "wild"}
	e.Streams = []dataset.Stream{stream(t, "imu", epoch, 200, 40, []string{"a", "b"}, func(s float64, k int) float32 {
		if i := math.Round(s * 200); k == 0 && math.Mod(i, 4) == 1 {
			return float32(math.NaN())
		}
		return float32(math.Sin(s * float64(k+1)))
	})}
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	f := getJSON[episodeJSON](t, s, "/api/episodes/0").Findings[0]
	assert.Equal(t, 2000, f.Count)
	for i := 1; i < 8000; i += 4 {
		at, within := float64(i)/200, false
		for _, r := range f.Ranges {
			within = within || at >= r[0]-1e-9 && at <= r[1]+1e-9
		}
		require.True(t, within, "%g s has no mark", at)
	}
}

// Two streams that pause together are one warning in the list, and a column that is never filled counts as none.
func TestTheListCountsCauses(t *testing.T) {
	e := &dataset.Episode{Name: "e"}
	for i, name := range []string{"imu", "arm"} {
		e.Streams = append(e.Streams, stream(t, name, epoch, float64(100-50*i), 20, []string{"a", "never"}, func(s float64, k int) float32 {
			return float32(math.Sin(s)) / float32(1-k) * float32(1-k)
		}, [2]float64{5, 7}))
	}
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	found := getJSON[episodeJSON](t, s, "/api/episodes/0").Findings
	require.Len(t, found, 2)
	assert.Equal(t, []any{doctor.Gap, []string{"imu", "arm"}, 1}, []any{found[0].Kind, found[0].Streams, len(found[0].Ranges)})
	assert.Equal(t, []any{doctor.NaN, doctor.Information}, []any{found[1].Kind, found[1].Severity})
	of := finished(t, s)[0]
	assert.Equal(t, []int{0, 1}, []int{of.Errors, of.Warnings})
}

func TestStepsHaveNoRate(t *testing.T) {
	e := robot(t, 0)
	e.Steps = true
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	got := getJSON[episodeJSON](t, s, "/api/episodes/0")
	for _, one := range got.Streams {
		assert.Zero(t, one.Rate, one.Name)
	}
	for _, one := range append(got.Media, got.Clouds...) {
		assert.Zero(t, one.Rate, one.Name)
	}
}

func TestColumnsAreHiddenByName(t *testing.T) {
	for name, want := range map[string]bool{
		"time": true, "timestamp": true, "timestamp_sample": true, "header.stamp.sec": true, "stamp.nanosec": true, "gpsTime": true, "time_utc_usec": true, "state/time": true,
		"device_time_ms": true, "armed_time_ms": true, "stamps[3]": true, "epoch": true,
		"id": true, "device_id": true, "deviceId": true, "uuid": true, "ids[2]": true,
		"seq": true, "header.seq": true, "frame_index": true, "sample_count": true, "count": true, "counter": true, "msg.counter[1]": true, "index": true,
		"cycle_time": false, "time_constant": false, "lifetime": false, "temperature": false, "altitude_mm": false, "lat": false, "position.z": false, "satellite_count": false,
		"grid": false, "solid": false, "slide": false, "frame_rate": false, "timeout": false, "stamped_steel": false, "t": false, "0": false, "control[7]": false, "sequence_error": false,
		"kLeftHandIndex": false, "fluid": false, "setpoint": false,
	} {
		list := hidden([]dataset.Column{{Name: "x"}, {Name: name}, {Name: "y"}})
		assert.Equal(t, []bool{false, want, false}, list, name)
	}
	of := func(names ...string) []bool {
		var list []dataset.Column
		for _, n := range names {
			list = append(list, dataset.Column{Name: n})
		}
		return hidden(list)
	}
	assert.Equal(t, []bool{false, false}, of("time", "id"), "a stream of nothing else")
	assert.Equal(t, []bool{false, false, false}, of("thumb", "index", "pinky"), "fingers")
	assert.Equal(t, []bool{false, false, true}, of("motor.id", "motor.iq", "time"), "currents")
}

// The size of a column never hides it, in whatever order and however many there are.
func TestNoColumnIsHiddenByItsSizeOrPlace(t *testing.T) {
	names := make([]string, 60)
	for k := range names {
		names[k] = fmt.Sprintf("joint[%d]", k)
	}
	e := &dataset.Episode{Name: "wide", Streams: []dataset.Stream{
		stream(t, "joints", epoch, 10, 2, names, func(s float64, k int) float32 { return float32(s) * float32(math.Pow(10, float64(k%8))) }),
		stream(t, "gps", epoch, 10, 2, []string{"x", "y", "z", "time", "id"}, func(s float64, k int) float32 { return []float32{1, 1, 4e6, 1e9, 7}[k] }),
	}}
	s := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	got := getJSON[episodeJSON](t, s, "/api/episodes/0")
	for _, c := range got.Streams[0].Columns {
		assert.False(t, c.Hidden, c.Name)
	}
	assert.Equal(t, []columnJSON{{"x", false, false}, {"y", false, false}, {"z", false, false}, {"time", false, true}, {"id", false, true}}, got.Streams[1].Columns)
}
