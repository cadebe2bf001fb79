package stats

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reported is a report of a state of two columns and an action of one.
func reported() *Report {
	c := func(name string, mean float64) Column {
		return Column{Name: name, Count: 4, Mean: mean, Std: .5, Min: -1, Max: 3, Quantiles: []float64{.01, .1, .5, .9, .99}}
	}
	return &Report{Dataset: "robots", Format: "made", Episodes: 2, Read: 2, Known: true, Quantiles: Quantiles, Streams: []Stream{
		{Name: "observation.state", Episodes: 2, Rows: 4, Columns: []Column{c("x", 1), c("y", 2.5)}}, {Name: "action", Episodes: 2, Rows: 4, Columns: []Column{c("u", -7)}}}}
}

func form(t *testing.T, r *Report, f Form) string {
	t.Helper()
	var b bytes.Buffer
	_, err := r.WriteForm(&b, f)
	require.NoError(t, err)
	var short bytes.Buffer
	require.NoError(t, json.Compact(&short, b.Bytes()))
	return short.String()
}

func TestFormsAreWhatTheProjectsRead(t *testing.T) {
	assert.Equal(t, `{"observation.state":{"min":[-1.0,-1.0],"max":[3.0,3.0],"mean":[1.0,2.5],"std":[0.5,0.5],"count":[4],"q01":[0.01,0.01],"q10":[0.1,0.1],"q50":[0.5,0.5],"q90":[0.9,0.9],"q99":[0.99,0.99]},`+
		`"action":{"min":[-1.0],"max":[3.0],"mean":[-7.0],"std":[0.5],"count":[4],"q01":[0.01],"q10":[0.1],"q50":[0.5],"q90":[0.9],"q99":[0.99]}}`, form(t, reported(), Form{Name: "lerobot"}))
	assert.Equal(t, `{"observation.state":{"mean":[1.0,2.5],"std":[0.5,0.5],"min":[-1.0,-1.0],"max":[3.0,3.0],"q01":[0.01,0.01],"q99":[0.99,0.99]},`+
		`"action":{"mean":[-7.0],"std":[0.5],"min":[-1.0],"max":[3.0],"q01":[0.01],"q99":[0.99]}}`, form(t, reported(), Form{Name: "gr00t"}))
	assert.Equal(t, `{"norm_stats":{"state":{"mean":[1.0,2.5],"std":[0.5,0.5],"q01":[0.01,0.01],"q99":[0.99,0.99]},"actions":{"mean":[-7.0],"std":[0.5],"q01":[0.01],"q99":[0.99]}}}`,
		form(t, reported(), Form{Name: "openpi"}))
	assert.Equal(t, `{"action":{"mean":[-7.0],"std":[0.5],"max":[3.0],"min":[-1.0],"p99":[0.99],"p01":[0.01]},"num_transitions":4,"num_trajectories":2,`+
		`"proprio":{"mean":[1.0,2.5],"std":[0.5,0.5],"max":[3.0,3.0],"min":[-1.0,-1.0],"p99":[0.99,0.99],"p01":[0.01,0.01]}}`, form(t, reported(), Form{Name: "octo"}))
	assert.Contains(t, form(t, reported(), Form{Name: "openpi", State: "action", Action: "observation.state"}), `"state":{"mean":[-7.0]`)
	r := reported()
	r.Streams = r.Streams[1:]
	assert.NotContains(t, form(t, r, Form{Name: "octo"}), "proprio", "Octo takes a dataset without")
}

func TestWhatIsNoStreamIsTakenOver(t *testing.T) {
	keep := `{"action":{"mean":[9]},"observation.images.front":{"mean":[[[0.25]]],"n":1e400},"index":{"max":[3]}}`
	var b bytes.Buffer
	kept, err := reported().WriteForm(&b, Form{Name: "lerobot", Keep: []byte(keep)})
	require.NoError(t, err)
	assert.Equal(t, []string{"observation.images.front", "index"}, kept)
	var short bytes.Buffer
	require.NoError(t, json.Compact(&short, b.Bytes()))
	assert.True(t, strings.HasSuffix(short.String(), `,"observation.images.front":{"mean":[[[0.25]]],"n":1e400},"index":{"max":[3]}}`), short.String())
	for _, bad := range []string{"[]", "{", `{"a":1`, "no", ""} {
		_, err := reported().WriteForm(&b, Form{Name: "lerobot", Keep: []byte(bad)})
		var e *FormError
		assert.ErrorAs(t, err, &e, "%q", bad)
	}
}

func TestWhatAFormCannotHoldIsAnError(t *testing.T) {
	for name, edit := range map[string]func(*Report, *Form){
		"no such form":              func(_ *Report, f *Form) { f.Name = "rlds" },
		"quantiles not known":       func(r *Report, _ *Form) { r.Known = false },
		"other quantiles":           func(r *Report, _ *Form) { r.Quantiles = []float64{.02, .1, .5, .9, .99} },
		"no streams":                func(r *Report, _ *Form) { r.Streams = nil },
		"no finite value":           func(r *Report, _ *Form) { r.Streams[0].Columns[1].Mean = math.NaN() },
		"streams of other columns":  func(r *Report, _ *Form) { r.Streams = append(r.Streams, r.Streams[0]) },
		"no state":                  func(r *Report, f *Form) { f.Name = "openpi"; r.Streams = r.Streams[1:] },
		"no action":                 func(r *Report, f *Form) { f.Name = "octo"; r.Streams = r.Streams[:1] },
		"a state that there is not": func(_ *Report, f *Form) { f.Name, f.State = "octo", "states" },
	} {
		r, f := reported(), Form{Name: "lerobot"}
		edit(r, &f)
		var b bytes.Buffer
		_, err := r.WriteForm(&b, f)
		var e *FormError
		assert.ErrorAs(t, err, &e, name)
		assert.Empty(t, b.Bytes(), name)
		assert.NotEmpty(t, e.Want, name)
	}
}

func TestQuantilesAreNamedByTheirPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "q00", .01: "q01", .1: "q10", .5: "q50", .999: "q99.9", 1: "q100", .001: "q00.1"} {
		assert.Equal(t, want, QuantileName(share))
	}
}
