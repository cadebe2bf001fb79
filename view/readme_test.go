package view

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// faulty is BridgeData V2 at 5 Hz for the README's picture: columns have names, and in each fifth episode two states are NaN and a timestamp of the
// action steps back.
type faulty struct {
	dataset.Dataset
	t *testing.T
}

func openFaulty(t *testing.T) dataset.Dataset {
	d, err := dataset.Open(context.Background(), shared(t, "bridge_rlds"), dataset.Options{Rate: 5})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return faulty{d, t}
}

func (f faulty) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	e, err := f.Dataset.Episode(ctx, i)
	if err != nil {
		return nil, err
	}
	e.Streams = slices.DeleteFunc(e.Streams, func(s dataset.Stream) bool { return s.Name != "action" && s.Name != "observation/state" })
	e.Media = e.Media[:3] // the fourth is black in many episodes
	for k := range e.Streams {
		s := &e.Streams[k]
		s.Columns = slices.Clone(s.Columns)
		for c, name := range []string{"x", "y", "z", "roll", "pitch", "yaw", "gripper"} {
			s.Columns[c].Name = name
		}
		if i%5 != 0 {
			continue
		}
		if s.Name == "action" {
			times, err := tensor.Data[int64](s.Times)
			require.NoError(f.t, err)
			times = slices.Clone(times)
			times[4] = times[3] - 100_000_000
			s.Times = tensor.Must(tensor.Of(times, len(times)))
			continue
		}
		values, err := tensor.Data[float32](s.Values)
		require.NoError(f.t, err)
		values = slices.Clone(values)
		d := len(s.Columns)
		values[6*d+2], values[7*d+2] = float32(math.NaN()), float32(math.NaN())
		s.Values = tensor.Must(tensor.Of(values, len(values)/d, d))
	}
	return e, nil
}
