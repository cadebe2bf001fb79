package loader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// backends are those that a test runs on.
func backends(t testing.TB) []string {
	list := []string{"cpu", "sim"}
	d, err := ops.Open("cuda")
	switch {
	case err == nil:
		require.NoError(t, d.Close())
		list = append(list, "cuda")
	case os.Getenv("ROBOCACHE_REQUIRE_GPU") == "1":
		t.Fatal(err)
	}
	return list
}

// An epoch has the same digests on every device.
func TestEveryDeviceGivesTheSameBits(t *testing.T) {
	m := recordings(t)
	p := plan()
	p.Streams[0].Normalise, p.Streams[1].Normalise = "robomimic", "gr00t"
	want := map[int64]uint64{}
	for _, backend := range backends(t) {
		got := map[int64]uint64{}
		digests(t, load(t, backend, m[:3], p, loader.Options{Batch: 16, Seed: 5, DType: tensor.BF16}), got, 0, 1, 16)
		if backend == "cpu" {
			want = got
			assert.NotEmpty(t, want)
		}
		assert.Equal(t, want, got, backend)
	}
}

// large is a store of many frames: episodes of 500 frames at a jittered 30 Hz, 26 numbers of state and of action.
func large(t testing.TB, episodes int) *loader.Store {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	const frames, width = 500, 26
	var m made
	for i := range episodes {
		times := make([]int64, frames)
		for k := range times {
			times[k] = int64((float64(k) + 0.2*r.Float64()) / 30 * 1e9)
		}
		e := &dataset.Episode{Name: fmt.Sprint(i), Frames: frames}
		for _, name := range []string{"state", "action"} {
			values := make([]float32, frames*width)
			for k := range values {
				values[k] = r.Float32()
			}
			s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, frames, width)), nil)
			require.NoError(t, err)
			e.Streams = append(e.Streams, s)
		}
		m = append(m, e)
	}
	s, err := loader.Build(context.Background(), m, loader.BuildOptions{})
	require.NoError(t, err)
	return s
}

// BenchmarkBatches draws 50 + 50 ticks of 50 Hz of 26 numbers from a store of a million frames, in bf16.
func BenchmarkBatches(b *testing.B) {
	store := large(b, 2000)
	for _, backend := range backends(b) {
		if backend == "sim" {
			continue
		}
		for _, batch := range []int{32, 4096} {
			b.Run(fmt.Sprintf("backend=%s/B=%d", backend, batch), func(b *testing.B) {
				d, err := ops.Open(backend)
				require.NoError(b, err)
				defer d.Close()
				l, err := loader.New(context.Background(), d, store, align.Plan{Rate: 50, Shuffle: "windows", Streams: []align.Stream{{Name: "state"}, {Name: "action"}},
					Windows: map[string]align.Window{"state": {From: -time.Second}, "action": {To: time.Second}}}, loader.Options{Batch: batch, DType: tensor.BF16})
				require.NoError(b, err)
				defer l.Close()
				q, err := d.NewQueue()
				require.NoError(b, err)
				defer q.Close()
				g, err := l.Capture(q)
				require.NoError(b, err)
				defer g.Close()
				require.NoError(b, g.Launch(q))
				require.NoError(b, q.Synchronize(context.Background()))
				b.ResetTimer()
				for range b.N {
					if err := g.Launch(q); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, q.Synchronize(context.Background()))
				b.ReportMetric(float64(batch)*float64(b.N)/b.Elapsed().Seconds(), "windows/s")
				b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N), "us/batch")
			})
		}
	}
}
