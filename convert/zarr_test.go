package convert

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// tinted are frames of 16x8 pixels with one colour, the frame's number.
type tinted struct{}

func (tinted) ReadFrame(_ context.Context, i int) ([]byte, error) {
	return bytes.Repeat([]byte{byte(i), 1, 2}, 16*8), nil
}

// filmed is recorded with a camera on the clock of its streams.
func filmed(t *testing.T, seed, rows int) *dataset.Episode {
	e := recorded(t, seed, rows, false)
	e.Media = []dataset.Media{{Name: "cam/wrist", Times: e.Streams[0].Nanoseconds(), Encoding: "rgb8", Width: 16, Height: 8, Source: tinted{}}}
	return e
}

func TestZarrHoldsWhatWasRecorded(t *testing.T) {
	in := write(t, filmed(t, 1, 40), filmed(t, 2, 12))
	out, r := made(t, Zarr(), Options{}, in)
	assert.Empty(t, r.Notes)
	before, got := episodes(t, in), episodes(t, out)
	require.Len(t, got, 2)
	for i, e := range got {
		equalStreams(t, before[i], e, e.Name)
		assert.Equal(t, []any{before[i].Name, before[i].Attributes.Task, false}, []any{e.Name, e.Attributes.Task, e.Steps})
		m := e.MediaStream("cam.wrist")
		require.NotNil(t, m)
		assert.Equal(t, []any{before[i].Media[0].Times, "rgb8", 16, 8}, []any{m.Times, m.Encoding, m.Width, m.Height})
		for k := range m.Len() {
			frame, err := m.Frame(t.Context(), k)
			require.NoError(t, err)
			want, _ := tinted{}.ReadFrame(t.Context(), k)
			require.Equal(t, want, frame)
		}
	}
	again, _ := made(t, Zarr(), Options{}, out)
	sameFiles(t, out, again)
}

// Whole numbers keep their types, also those that float64 does not hold.
func TestZarrKeepsWholeNumbers(t *testing.T) {
	out, _ := made(t, Zarr(), Options{}, "../dataset/zarr/testdata/kinds2.zarr.zip")
	before, got := episodes(t, "../dataset/zarr/testdata/kinds2.zarr.zip"), episodes(t, out)
	require.Equal(t, []int{2, 3}, []int{len(got), len(before)}, "an episode without rows is skipped")
	equalStreams(t, before[0], got[0], "kinds")
	equalStreams(t, before[2], got[1], "kinds")
	for _, s := range got[0].Streams {
		assert.Equal(t, before[0].Stream(s.Name).Columns, s.Columns)
	}
	for _, m := range before[2].Media { // one is float32 there
		frame, err := m.Frame(t.Context(), 5)
		require.NoError(t, err)
		own := got[1].MediaStream(m.Name)
		require.NotNil(t, own, m.Name)
		same, err := own.Frame(t.Context(), 5)
		require.NoError(t, err)
		assert.Equal(t, frame, same, m.Name)
	}
}

func TestPushTSurvivesLeRobotAndRLDS(t *testing.T) {
	in := sharedFile(t, "pusht_zarr")
	ten := Options{Reading: dataset.Options{Episodes: dataset.Selection{Take: dataset.RangesOf([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}}}
	middle, _ := made(t, leRobot(t, LeRobotOptions{}), ten, in)
	out, _ := made(t, Zarr(), Options{}, middle)
	want, got := episodes(t, in), episodes(t, out)
	require.Len(t, got, 10)
	for i, e := range got {
		equalStreams(t, want[i], e, e.Name)
	}
	middle, _ = made(t, RLDS(), ten, in)
	from, _ := made(t, Zarr(), Options{}, middle)
	for _, path := range []string{filepath.Join(out, "data/keypoint/.zarray"), filepath.Join(from, "data/observation.keypoint/.zarray")} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(text), "\n        9,\n        2\n")
	}
}

// Columns keep their names, also in a row with a declared shape.
func TestZarrKeepsTheNamesOfColumns(t *testing.T) {
	e := recorded(t, 1, 20, false)
	names := e.Streams[0].ColumnNames()
	require.Len(t, names, 3)
	for _, shape := range [][]int{{3}, {3, 1}, {1, 3, 1}} {
		path := filepath.Join(t.TempDir(), "d")
		w, err := Zarr().Create(t.Context(), path, Piece{Shards: 1, Inputs: []dataset.Info{{Features: []dataset.Feature{{Name: e.Streams[0].Name, Shape: shape}}}}})
		require.NoError(t, err)
		defer w.Close()
		_, err = w.Add(t.Context(), &Episode{Episode: e, Times: e.Streams[0].Nanoseconds(), Lost: map[string]dataset.Note{}})
		require.NoError(t, err)
		require.NoError(t, w.Commit(t.Context()))
		got := episodes(t, path)[0].Stream(e.Streams[0].Name)
		assert.Equal(t, names, got.ColumnNames(), "%v", shape)
	}
	one := dataset.Stream{Name: "one", Times: e.Streams[0].Times, Columns: []dataset.Column{{Name: "grip"}}, Values: tensor.Must(tensor.New(tensor.F32, 20, 1))}
	p, err := zarrStream(&Episode{Episode: &dataset.Episode{Streams: []dataset.Stream{one}}}, 0, []dataset.Feature{{Name: "one"}})
	require.NoError(t, err)
	assert.Equal(t, []any{0, []string{"grip"}}, []any{len(p.Shape), p.Columns})
}

// With a plan, rows at the ends in which a stream is not valid are left out, and a mask has the others.
func TestZarrMasksRowsOfAPlan(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true))
	plan := &align.Plan{Rate: 50}
	out, r := made(t, Zarr(), Options{Plan: plan, Media: []string{""}}, in)
	arrays := filepath.Join(t.TempDir(), "x.npz")
	converts(t, arrays, NPZ(), Options{Plan: plan, Device: cpu(t), Media: []string{""}}, in)
	want, err := npz.ReadFile(arrays, dataset.Options{Strict: true})
	require.NoError(t, err)
	got := episodes(t, out)[0]
	equalStreams(t, want, got, "rows that are valid")
	assert.Positive(t, r.Rows)
	assert.FileExists(t, filepath.Join(out, "data", "imu.valid", ".zarray"))
}

func TestZarrHasTheArraysOfItsFirstEpisode(t *testing.T) {
	with := func(seed int, change func(e *dataset.Episode)) *dataset.Episode {
		e := recorded(t, seed, 12, false)
		change(e)
		return e
	}
	in := write(t,
		with(1, func(*dataset.Episode) {}),
		with(2, func(e *dataset.Episode) { e.Streams = e.Streams[:1] }),
		with(3, func(e *dataset.Episode) {
			more, err := dataset.NewStream("more", e.Streams[0].Nanoseconds(), tensor.Must(tensor.New(tensor.F32, 12, 1)), nil)
			require.NoError(t, err)
			e.Streams = append(e.Streams, more)
		}),
		with(4, func(e *dataset.Episode) {
			e.Streams[0], e.Streams[1].Name = e.Streams[1], "state"
			e.Streams[0].Name = "action"
		}),
	)
	out, r := made(t, Zarr(), Options{}, in)
	got := episodes(t, out)
	require.Len(t, got, 2)
	assert.Equal(t, []string{"run1", "run3"}, []string{got[0].Name, got[1].Name})
	assert.Equal(t, 2, r.Skipped)
	for _, s := range r.Streams {
		if s.Name == "more" {
			assert.Equal(t, dataset.CodeNotInFirst, s.Dropped[0].Code)
		}
	}
}

// Rows before the first good frame of a camera have that frame, and are not valid.
func TestABadFrameInZarrIsAnother(t *testing.T) {
	for _, at := range []int{0, 7, 39} {
		out, r := made(t, Zarr(), Options{}, oneBadFrame(t, 40, at))
		assert.Equal(t, []int{40, 39, 1}, []int{r.Streams[0].Rows, r.Streams[0].Valid, r.Streams[0].Undecoded})
		m := episodes(t, out)[0].MediaStream("front")
		require.NotNil(t, m)
		assert.Equal(t, 40, m.Len())
	}
}

// Depth keeps its type and its numbers.
func TestZarrKeepsDepth(t *testing.T) {
	frames := map[string]deep{"16UC1": {1, 2, 255, 254}, "32FC1": {0, 0, 128, 63, 205, 204, 204, 61}, "16SC1": {254, 255, 3, 0}}
	e := recorded(t, 1, 5, false)
	for encoding, frame := range frames {
		frames[encoding] = bytes.Repeat(frame, 16*8/2)
		e.Media = append(e.Media, dataset.Media{Name: encoding, Times: e.Streams[0].Nanoseconds(), Encoding: encoding, Width: 16, Height: 8, Source: frames[encoding]})
	}
	out, _ := made(t, Zarr(), Options{}, write(t, e))
	got := episodes(t, out)[0]
	for encoding, frame := range frames {
		m := got.MediaStream(encoding)
		require.NotNil(t, m, encoding)
		assert.Equal(t, encoding, m.Encoding)
		b, err := m.Frame(t.Context(), 3)
		require.NoError(t, err)
		assert.Equal(t, []byte(frame), b, encoding)
	}
}
