package convert

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// members are those of a tar file, by their names, and the names in their order.
func members(t *testing.T, path string) (files map[string][]byte, order []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	files = map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, order
		}
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		files[h.Name], order = b, append(order, h.Name)
	}
}

// Each row is a sample: the numbers to the bit, the pixels, and what is known of it.
func TestASampleIsARow(t *testing.T) {
	in := write(t, recorded(t, 1, 40, true), recorded(t, 2, 12, true))
	out := filepath.Join(t.TempDir(), "out")
	plan := &align.Plan{Rate: 15, Defaults: align.Sampling{Tolerance: ops.Within(time.Millisecond)}}
	r := converts(t, out, WebDataset(), Options{Plan: plan, Device: cpu(t)}, in)
	files, order := members(t, filepath.Join(out, "shard-00000-of-00001.tar"))
	require.Equal(t, 5*r.Rows, len(order))
	assert.Equal(t, []string{"000000-000000.action.npy", "000000-000000.imu.npy", "000000-000000.state.npy", "000000-000000.front.png", "000000-000000.json"}, order[:5])
	single := filepath.Join(t.TempDir(), "safe")
	converts(t, single, Safetensors(), Options{Plan: plan, Device: cpu(t)}, in)
	for n := range 2 {
		f, err := safetensors.Open(filepath.Join(single, fmt.Sprintf("episode-%06d.safetensors", n)))
		require.NoError(t, err)
		defer f.Close()
		times, err := f.Times("times")
		require.NoError(t, err)
		ns, err := tensor.Data[int64](times)
		require.NoError(t, err)
		for row := range times.Len() {
			key := fmt.Sprintf("%06d-%06d", n, row)
			var about sample
			require.NoError(t, json.Unmarshal(files[key+".json"], &about))
			assert.Equal(t, sample{Episode: n, Name: fmt.Sprint("run", n+1), Row: row, Time: ns[row], Task: fmt.Sprint("task ", (n+1)%2), Valid: about.Valid}, about)
			for _, name := range []string{"state", "action", "imu"} {
				want, err := f.Tensor(name + ".values")
				require.NoError(t, err)
				got, err := npy.Read(bytes.NewReader(files[key+"."+name+".npy"]))
				require.NoError(t, err)
				own, err := want.Slice(0, row, row+1)
				require.NoError(t, err)
				assert.True(t, same(own, got), "%s %s", key, name)
				valid, err := f.Tensor(name + ".valid")
				require.NoError(t, err)
				assert.Equal(t, must(tensor.Data[uint8](valid))[row] == 1, about.Valid[name])
			}
			picture, err := png.Decode(bytes.NewReader(files[key+".front.png"]))
			require.NoError(t, err)
			pixel, _, _, _ := picture.At(0, 0).RGBA()
			assert.Equal(t, 66_000_000*int64(pixel>>8) > ns[row]-1e9-66_000_000, true, "the frame before the row's time")
			assert.LessOrEqual(t, 66_000_000*int64(pixel>>8), max(ns[row]-1e9+1000, 0))
		}
	}
}

// Streams of numpy archives are read back as they were recorded.
func TestArchivesHoldWhatWasRecorded(t *testing.T) {
	for _, apart := range []bool{false, true} {
		in := write(t, recorded(t, 1, 40, apart))
		single := filepath.Join(t.TempDir(), "x.npz")
		converts(t, single, NPZ(), Options{Media: []string{""}}, in)
		got, err := npz.ReadFile(single, dataset.Options{Strict: true})
		require.NoError(t, err)
		equalStreams(t, episodes(t, in)[0], got, "npz")
	}
}

// A clock of seconds stays one of seconds, and is accounted for like any other.
func TestAClockOfSecondsStaysOne(t *testing.T) {
	n := 200
	seconds, values := make([]float64, n), make([]float32, n)
	for i := range seconds {
		seconds[i], values[i] = 1e9+float64(i)*.013, float32(i)
	}
	in := filepath.Join(t.TempDir(), "in.safetensors")
	require.NoError(t, safetensors.WriteFile(in, func(w *safetensors.Writer) error {
		require.NoError(t, w.Add("a.values", tensor.Must(tensor.Of(values, n, 1))))
		require.NoError(t, w.Add("a.times", tensor.Must(tensor.Of(seconds, n))))
		require.NoError(t, w.Add("b.values", tensor.Must(tensor.Of(values, n, 1))))
		return w.Add("b.times", tensor.Must(tensor.Of(seconds, n)))
	}))
	out := filepath.Join(t.TempDir(), "x.npz")
	converts(t, out, NPZ(), Options{}, in)
	got, err := npz.ReadFile(out, dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, seconds, must(tensor.Data[float64](got.Stream("a").Times)))
	plan := &align.Plan{Rate: 10, Streams: []align.Stream{{Name: "a", Sampling: align.Sampling{Offset: 20e6}}, {Name: "b", Sampling: align.Sampling{Kind: "previous"}}}}
	r := converts(t, filepath.Join(t.TempDir(), "y.npz"), NPZ(), Options{Plan: plan, Device: cpu(t)}, in)
	require.NoError(t, r.check(1))
	for _, s := range r.Streams {
		assert.Equal(t, n, s.Read)
		assert.NotNil(t, s.Dropped.Find(dataset.CodeBetweenTicks))
		assert.Positive(t, s.Used)
		assert.Equal(t, r.Rows, s.Valid)
	}
}

// Sets of different formats are converted together.
func TestInputsMayBeOfDifferentFormats(t *testing.T) {
	in := write(t, recorded(t, 1, 40, false))
	first := filepath.Join(t.TempDir(), "first")
	converts(t, first, Safetensors(), Options{}, in)
	out := filepath.Join(t.TempDir(), "out")
	r := converts(t, out, Safetensors(), Options{}, first, in)
	assert.Equal(t, []string{"safetensors", "mcap"}, []string{r.Inputs[0].Format, r.Inputs[1].Format})
	got := episodes(t, out)
	require.Len(t, got, 2)
	equalStreams(t, got[0], got[1], "both")
}

// The task and the success of an episode go through archives.
func TestTasksGoThroughArchives(t *testing.T) {
	failed, done := false, true
	list := []*dataset.Episode{recorded(t, 1, 20, false), recorded(t, 2, 20, false), recorded(t, 3, 20, false)}
	list[0].Attributes.Task, list[0].Attributes.Success = "räume auf", &failed
	list[1].Attributes.Success = &done
	list[2].Attributes.Task = ""
	in := write(t, list...)
	for _, to := range []Target{NPZ(), Safetensors()} {
		for _, opt := range []Options{{}, {Plan: &align.Plan{Rate: 30}, Device: cpu(t)}} {
			out := filepath.Join(t.TempDir(), "out")
			converts(t, out, to, opt, in)
			for i, e := range episodes(t, out) {
				assert.Equal(t, list[i].Attributes.Task, e.Attributes.Task)
				assert.Equal(t, list[i].Attributes.Success, e.Attributes.Success)
				assert.Empty(t, e.Attributes.Other)
			}
		}
	}
}

// What a plan filled in a gap is written with a mask, and who reads it sees the gap that was there.
func TestAGapIsAGapAgainWhereItIsRead(t *testing.T) {
	e := recorded(t, 1, 60, false)
	state := &e.Streams[0]
	flags := slices.Repeat([]uint8{1}, 60)
	clear(flags[20:35])
	_, err := state.OnlyValid(flags)
	require.NoError(t, err)
	in := write(t, e)
	plan := &align.Plan{Rate: 30, Defaults: align.Sampling{MaxGap: ops.Within(60 * time.Millisecond)}}
	for _, to := range []Target{NPZ(), Safetensors(), MCAP(mcap.Protobuf), MCAP(mcap.JSON)} {
		out := filepath.Join(t.TempDir(), "out")
		r := converts(t, out, to, Options{Plan: plan, Device: cpu(t)}, in)
		for _, s := range r.Streams {
			again := episodes(t, out)[0]
			require.Equal(t, s.Valid, again.Stream(s.Name).Len(), "%s %s", to.Name(), s.Name)
			if s.Name == "action" {
				assert.Equal(t, s.Rows, s.Valid)
				continue
			}
			assert.Positive(t, s.Gapped)
			assert.Len(t, again.Stream("state").Gaps(), 1, to.Name())
			assert.Equal(t, dataset.Notes{{Code: dataset.CodeRowsNotValid, Subject: "state", Count: s.Gapped}}, again.Notes.Of(dataset.ClassRemark))
			assert.ElementsMatch(t, []string{"state", "action"}, again.Names())
		}
		again := converts(t, filepath.Join(t.TempDir(), "again"), NPZ(), Options{}, out)
		for _, s := range again.Streams {
			k := slices.IndexFunc(r.Streams, func(a StreamAccount) bool { return a.Name == s.Name })
			assert.Equal(t, r.Streams[k].Valid, s.Read)
		}
	}
}
