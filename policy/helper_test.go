package policy_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/lerobot" // so that dataset.Open knows it
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// made is a dataset of episodes in memory.
type made []*dataset.Episode

func (m made) Name() string   { return "made" }
func (m made) Format() string { return "made" }
func (m made) Info() dataset.Info {
	return dataset.Info{Rate: 30, RateFrom: "file", Declared: 30}
}
func (m made) Len() int     { return len(m) }
func (m made) Close() error { return nil }
func (m made) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	return m[i], nil
}

// joints are the columns of robots: a second robot has others.
var joints = []dataset.Column{{Name: "shoulder"}, {Name: "elbow"}, {Name: "wrist"}}

// fraction is the value of an option.
func fraction(v float64) *float64 { return &v }

// table is a stream of rows of 30 Hz.
func table(t testing.TB, name string, rows int, columns []dataset.Column, value func(row, column int) float64) dataset.Stream {
	t.Helper()
	times, values := make([]int64, rows), make([]float32, rows*len(columns))
	for i := range times {
		times[i] = int64(math.Floor(float64(i)*1e9/30 + 0.5))
		for j := range columns {
			values[i*len(columns)+j] = float32(value(i, j))
		}
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, len(columns))), columns)
	require.NoError(t, err)
	return s
}

// robots are episodes of so many rows each, of a robot whose joints swing and lag what they are told.
func robots(t testing.TB, rows ...int) made {
	t.Helper()
	var m made
	for i, n := range rows {
		told := func(row, j int) float64 {
			return math.Sin(float64(row)/float64(12+5*j) + float64(i)*1.7 + float64(j))
		}
		m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{
			table(t, "state", n, joints, func(row, j int) float64 { return 0.95 * told(max(row-2, 0), j) }),
			table(t, "action", n, joints, told),
		}})
	}
	return m
}

func build(t testing.TB, d dataset.Dataset) *store.Store {
	t.Helper()
	store, err := store.Build(context.Background(), d, store.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// recorded is a store of recordings of the shared folder, or of the examples.
func recorded(t testing.TB, path string) *store.Store {
	t.Helper()
	if path = filepath.Join("..", path); strings.HasPrefix(path, "../shared") {
		path = filepath.Join("..", path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return build(t, d)
}

func open(t testing.TB, backend string) *ops.Device {
	t.Helper()
	d, err := ops.Open(backend)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// all opens devices, by names between commas.
func all(t testing.TB, backends string) []*ops.Device {
	t.Helper()
	devices, err := ops.OpenAll(backends)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, d := range devices {
			require.NoError(t, d.Close())
		}
	})
	return devices
}

func trainer(t testing.TB, backends string, store *store.Store, o policy.Options) *policy.Trainer {
	t.Helper()
	tr, err := policy.NewTrainer(context.Background(), all(t, backends), store, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	return tr
}

func train(t testing.TB, tr *policy.Trainer, steps int) (losses []float32) {
	t.Helper()
	for len(losses) < steps {
		some, err := tr.Run(context.Background(), steps-len(losses))
		require.NoError(t, err)
		require.NotEmpty(t, some)
		losses = append(losses, some...)
	}
	return losses
}
