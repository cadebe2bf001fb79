package lerobot_test

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
)

// onFrames checks that an episode's times are frame_index/fps from the first on, and returns its note.
func onFrames(t *testing.T, e *dataset.Episode, fps float64) *dataset.Note {
	t.Helper()
	times := e.Streams[0].Nanoseconds()
	for i, at := range times {
		assert.Equal(t, times[0]+int64(math.Round(float64(i)*1e9/fps)), at, "row %d", i)
	}
	note := e.Notes.Find(dataset.CodeFrameTimeSteps)
	require.NotNil(t, note)
	return note
}

// Timestamps that LeRobot takes as frame_index/fps, wherever they begin, have a tick of that rate for each row.
func TestPythonDriftedTimestamps(t *testing.T) {
	const folder = "../../../shared/cases/python-drifted-timestamps/"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	for name, want := range map[string]struct {
		fps   float64
		first int64
	}{"dataset_float32": {30, 33333335}, "dataset_trimmed": {50, 41200000763}, "dataset_jitter": {20, 50034150}} {
		s := open(t, folder+name, lerobot.Options{})
		for i := range s.Len() {
			e := episode(t, s, i)
			assert.Equal(t, e.Frames, onFrames(t, e, want.fps).Count, name)
			if i == 0 {
				assert.Equal(t, want.first, e.Streams[0].Nanoseconds()[0], name)
			}
		}
		raw := episode(t, open(t, folder+name, lerobot.Options{Clock: "timestamp"}), 0)
		assert.NotEqual(t, want.first+int64(math.Round(1e9/want.fps)), raw.Streams[0].Nanoseconds()[1], "the timestamps stay as they are for who chooses them")
	}
}

// The rule is that of each step, or of all about one beginning, in version 3, in float64, with missing frames and in both versions.
func TestTimestampsWhoseStepsLeRobotTakes(t *testing.T) {
	frames := []int{0, 1, 2, 5, 6, 7, 8}
	for what, c := range map[string]struct {
		typ   string
		at    func(frame int) float64
		steps bool
	}{
		"29.98 Hz where 30 are declared":             {"float64", func(f int) float64 { return 7 + float64(f)/29.98 }, true},
		"90 us to both sides of a clock that is off": {"float64", func(f int) float64 { return 3 + float64(f)/30 + []float64{9e-5, -9e-5}[f%2] }, true},
		"a beginning in float32":                     {"float32", func(f int) float64 { return 41.2 + float64(f)/30 }, true},
		"steps that are 1 % too long":                {"float64", func(f int) float64 { return 7 + float64(f)*1.01/30 }, false},
		"300 us to both sides":                       {"float64", func(f int) float64 { return 3 + float64(f)/30 + []float64{3e-4, -3e-4}[f%2] }, false},
		"a pause that frame_index does not have":     {"float64", func(f int) float64 { return float64(f)/30 + []float64{1, 2}[f/6] }, false},
	} {
		m := make3(t)
		m.lengths = []int{len(frames)}
		m.info["fps"], m.info["splits"] = 30, map[string]string{"train": "0:1"}
		m.column("frame_index", "int64", i64, nil, func(row int) any { return frames[row] })
		leaf := f64
		if c.typ == "float32" {
			leaf = f32
		}
		m.column("timestamp", c.typ, leaf, nil, func(row int) any { return c.at(frames[row]) })
		e := episode(t, open(t, m.write(), lerobot.Options{}), 0)
		times := e.Streams[0].Nanoseconds()
		for i, f := range frames {
			want := math.Round(c.at(f) * 1e9)
			if c.steps {
				want = float64(times[0]) + math.Round(float64(f)*1e9/30)
			}
			assert.InDelta(t, want, times[i], 1, "%s: row %d", what, i)
		}
		assert.Equal(t, c.steps, e.Notes.Find(dataset.CodeFrameTimeSteps) != nil, what)
		assert.Equal(t, !c.steps, e.Notes.Find(dataset.CodeFrameTimeOwn) != nil, what)
	}
	e := episode(t, open(t, recording(t, "lerobot_v2_gr1_sim"), lerobot.Options{}), 1)
	assert.Equal(t, 470, onFrames(t, e, 20).Count)
}

// Episodes that are not numbered 0, 1, 2 and so on have their own numbers in Info.
func TestNumbersAreTheDatasets(t *testing.T) {
	m := make3(t)
	m.column("episode_index", "int64", i64, nil, func(row int) any { e, _ := m.where(row); return []int{3, 8}[e] })
	info := open(t, m.write(), lerobot.Options{}).Info()
	assert.Equal(t, []int{3, 8}, info.Numbers)
	assert.Equal(t, []int{1, -1, 8}, []int{info.Place(8, 2), info.Place(1, 2), info.Number(1)})
	whole := open(t, make3(t).write(), lerobot.Options{}).Info()
	assert.Nil(t, whole.Numbers)
	assert.Equal(t, []int{1, -1, 1}, []int{whole.Place(1, 2), whole.Place(2, 2), whole.Number(1)})
}
