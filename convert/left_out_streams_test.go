package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/npz"
	_ "github.com/robocache/robocache/dataset/rlds" // so that dataset.Open knows it
	"github.com/robocache/robocache/tensor"
)

// droppedOf is why samples of a stream were dropped.
func droppedOf(r *Report, name string) string {
	for i := range r.Streams {
		if r.Streams[i].Name == name {
			return text(r.Streams[i].Dropped)
		}
	}
	return "no such stream"
}

// Cameras of depth cost themselves in each target, and nothing else: 16 bits a channel, and an encoding of four channels.
func TestFramesWithoutAPlaceAreLeftOut(t *testing.T) {
	depth16, depth32 := "observation/depth16", "observation/depth32"
	opt := Options{Reading: dataset.Options{Rate: 10}, Plan: &align.Plan{Rate: 10}, Device: cpu(t)}
	for _, c := range []struct {
		to   Target
		left map[string]string
	}{
		{leRobot(t, LeRobotOptions{}), map[string]string{depth16: "16 bits a channel", depth32: "png-f32"}},
		{leRobot(t, LeRobotOptions{Cameras: "image"}), map[string]string{depth16: "16 bits a channel", depth32: "png-f32"}},
		{MCAP(mcap.JSON), nil},
		{WebDataset(), nil},
		{RLDS(), nil},
	} {
		r := converts(t, filepath.Join(t.TempDir(), "out"), c.to, opt, "../dataset/rlds/testdata/kinds")
		assert.Equal(t, []int{4, 1}, []int{r.Converted, r.Skipped}, "%s; one has no samples", c.to.Name())
		for _, name := range []string{depth16, depth32} {
			if why := c.left[name]; why != "" {
				assert.Contains(t, droppedOf(r, name), why, c.to.Name())
				if why == "16 bits a channel" {
					assert.Contains(t, droppedOf(r, name), dataset.CodeFramesUndecoded, c.to.Name())
				}
			} else {
				assert.NotContains(t, droppedOf(r, name), "place", c.to.Name())
				assert.NotContains(t, droppedOf(r, name), "decode", c.to.Name())
			}
		}
	}
}

// Numbers beyond 64 bits cost their stream, where no policy looks for it.
func TestNumbersBeyondTheirTypeAreLeftOut(t *testing.T) {
	for name, kept := range map[string]bool{"serial": true, "observation.serial": false} {
		e := recorded(t, 1, 20, false)
		values := make([]float64, 20)
		values[7] = 1 << 63
		s, err := dataset.NewStream(name, e.Streams[0].Nanoseconds(), tensor.Must(tensor.Of(values, 20, 1)), []dataset.Column{{Name: "n", Type: "uint64", Integer: true}})
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
		out := filepath.Join(t.TempDir(), "out")
		list, err := all(out, leRobot(t, LeRobotOptions{}), Options{}, write(t, e))
		if !kept {
			var nothing *NothingError
			require.ErrorAs(t, err, &nothing)
			assert.ErrorContains(t, nothing.First.Cause, "a whole number of 64 bits")
			continue
		}
		require.NoError(t, err)
		assert.Contains(t, droppedOf(list[0], name), "row 7, column n")
		assert.Contains(t, droppedOf(list[0], name), dataset.CodeUnheld)
		assert.ElementsMatch(t, []string{"state", "action", "capture_time"}, episodes(t, out)[0].Names())
	}
}

// A stream without samples is no other clock.
func TestAStreamWithoutSamplesIsLeftOut(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.npz")
	f, err := os.Create(in)
	require.NoError(t, err)
	w := npz.NewWriter(f, npz.Options{})
	for name, n := range map[string]int{"state": 5, "empty": 0} {
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(i) * 1e8
		}
		require.NoError(t, w.Add(name+".times", tensor.Must(tensor.Of(times, n))))
		require.NoError(t, w.Add(name+".values", tensor.Must(tensor.New(tensor.F32, n, 2))))
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	for _, to := range []Target{leRobot(t, LeRobotOptions{}), WebDataset(), RLDS()} {
		r := converts(t, filepath.Join(t.TempDir(), "out"), to, Options{}, in)
		assert.Equal(t, []int{1, 5}, []int{r.Converted, r.Rows})
		assert.Equal(t, &dataset.Note{Code: dataset.CodeNoSamples, Subject: "empty"}, noteOf(r, dataset.CodeNoSamples))
	}
}

// An episode that has another type says what gives all the same.
func TestAnotherTypeIsToldWithWhatHelps(t *testing.T) {
	single, double := recorded(t, 1, 20, false), recorded(t, 2, 20, false)
	var err error
	double.Streams[0].Values, err = tensor.Of(numbersOf(t, double.Streams[0].Values), 20, 3)
	require.NoError(t, err)
	_, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, single, double))
	assert.Equal(t, 1, r.Skipped)
	assert.Contains(t, r.Pieces[0].Episodes[1].Skipped.Cause.Error(), "a plan with dtype: f32 gives all the same")
}
