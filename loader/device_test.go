package loader_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// backends are the backends that a test runs on.
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

// An epoch has the same digests on every device, in every order.
func TestEveryDeviceGivesTheSameBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	m := recordings(t)
	p := plan()
	p.Streams[0].Normalise, p.Streams[1].Normalise = "robomimic", "gr00t"
	orders := map[string]map[int64]uint64{}
	for _, p.Shuffle = range []string{"windows", "shards", "none"} {
		for _, backend := range backends(t) {
			got := map[int64]uint64{}
			digests(t, load(t, backend, m[:3], p, loader.Options{Batch: 16, Seed: 5, Last: ops.LastShort, DType: tensor.BF16, ShardWindows: 30, MixShards: 2}), got, 0, 1, 16)
			if backend == "cpu" {
				orders[p.Shuffle] = got
			}
			assert.Equal(t, orders[p.Shuffle], got, "%s, %s", p.Shuffle, backend)
		}
	}
	assert.NotEqual(t, orders["windows"], orders["shards"])
	assert.NotEqual(t, orders["none"], orders["shards"])
	var windows [3][]uint64
	for i, shuffle := range []string{"windows", "shards", "none"} {
		windows[i] = slices.Sorted(maps.Values(orders[shuffle]))
		assert.Equal(t, windows[0], windows[i], "the same windows")
	}
}

// large is a store of many frames: episodes of 500 frames at a jittered 30 Hz, 26 numbers of state and of action.
func large(t testing.TB, episodes int) *store.Store {
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
	s := inMemory(t, m)
	return s
}

// million is the store that the benchmarks draw from: ROBOCACHE_STORE, or one of a million frames.
func million(b *testing.B) *store.Store {
	path := os.Getenv("ROBOCACHE_STORE")
	if path == "" {
		return large(b, 2000)
	}
	s, err := store.Open(path)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// windowsPlan is 50 + 50 ticks of 50 Hz.
func windowsPlan() align.Plan {
	return align.Plan{Rate: 50, Shuffle: "windows", Streams: []align.Stream{{Name: "state"}, {Name: "action"}},
		Windows: map[string]align.Window{"state": {From: -time.Second}, "action": {To: time.Second}}}
}

// windows draws them, in bf16.
func windows(b *testing.B, d *ops.Device, store *store.Store, batch int) *loader.Loader {
	l, err := loader.New(context.Background(), d, store, windowsPlan(), loader.Options{Batch: batch, DType: tensor.BF16})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	return l
}

// device opens a device for a benchmark, and a queue.
func device(b *testing.B, backend string) (*ops.Device, *ops.Queue) {
	d, err := ops.Open(backend)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, d.Close()) })
	q, err := d.NewQueue()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, q.Close()) })
	return d, q
}

// replay captures run on a queue, and replays it n times with some launches each. It returns the seconds of one launch.
func replay(b *testing.B, q *ops.Queue, n, each int, run func() error) float64 {
	g, err := q.Capture(func() error {
		for range each {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
	defer g.Close()
	require.NoError(b, g.Launch(q))
	require.NoError(b, q.Synchronize(context.Background()))
	begin := time.Now()
	for range n {
		require.NoError(b, g.Launch(q))
	}
	require.NoError(b, q.Synchronize(context.Background()))
	return time.Since(begin).Seconds() / float64(n*each)
}

// BenchmarkBatches draws batches from a store with a million frames of 26 + 26 numbers, with one launch at a time and with 20, which is
// the time on the device.
func BenchmarkBatches(b *testing.B) {
	store := million(b)
	for _, backend := range backends(b) {
		if backend == "sim" {
			continue
		}
		for _, batch := range []int{32, 4096} {
			for _, each := range []int{1, 20} {
				b.Run(fmt.Sprintf("backend=%s/B=%d/each=%d", backend, batch, each), func(b *testing.B) {
					d, q := device(b, backend)
					l := windows(b, d, store, batch)
					b.ResetTimer()
					took := replay(b, q, b.N, each, func() error { return l.Run(q) })
					b.ReportMetric(float64(batch)/took, "windows/s")
					b.ReportMetric(took*1e6, "us/batch")
				})
			}
			b.Run(fmt.Sprintf("backend=%s/B=%d/launches", backend, batch), func(b *testing.B) { // no graph: the program's own cost
				d, q := device(b, backend)
				l := windows(b, d, store, batch)
				require.NoError(b, l.Run(q))
				require.NoError(b, q.Synchronize(context.Background()))
				b.ResetTimer()
				spent := time.Duration(0)
				for i := range b.N {
					begin := time.Now()
					err := l.Run(q)
					spent += time.Since(begin)
					require.NoError(b, err)
					if i%64 == 63 { // so that the queue is never full
						require.NoError(b, q.Synchronize(context.Background()))
					}
				}
				require.NoError(b, q.Synchronize(context.Background()))
				b.ReportMetric(spent.Seconds()/float64(b.N)*1e6, "host-us/batch")
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e6, "us/batch")
			})
		}
	}
}

// BenchmarkTraining replays a batch of 32 windows and work of about 1.5 ms on the device, and the work alone, in turn.
func BenchmarkTraining(b *testing.B) {
	store := million(b)
	for _, backend := range backends(b) {
		if backend != "cuda" {
			continue
		}
		d, q := device(b, backend)
		l := windows(b, d, store, 32)
		alloc := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
			t, err := d.Alloc(dtype, shape...)
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, t.Close()) })
			return t
		}
		const rows, samples, features = 256, 4096, 256
		stamps := make([]int64, samples)
		for i := range stamps {
			stamps[i] = int64(i) * 1e6
		}
		times, err := d.Upload(context.Background(), tensor.Must(tensor.Of(stamps, samples)))
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, times.Close()) })
		work, err := d.PlanResample(ops.ResampleArgs{Dst: alloc(tensor.BF16, rows, samples, features), Src: alloc(tensor.BF16, rows, samples, features), SrcTimes: times,
			Targets: ops.At(times)}, ops.ResampleOptions{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, work.Close()) })
		step := func() error {
			for range 6 {
				if err := work.Run(q); err != nil {
					return err
				}
			}
			return nil
		}
		b.Run("backend="+backend, func(b *testing.B) {
			var alone, fed []float64
			for range 9 {
				alone = append(alone, replay(b, q, 100, 1, step))
				fed = append(fed, replay(b, q, 100, 1, func() error { return errors.Join(l.Run(q), step()) }))
			}
			slices.Sort(alone)
			slices.Sort(fed)
			b.ReportMetric(alone[4]*1e3, "ms/step")
			b.ReportMetric(fed[4]*1e3, "ms/fed-step")
			b.ReportMetric(alone[4]/fed[4], "busy")
		})
	}
}

// BenchmarkGroup draws from the benchmarks' store on one device, two, four and so on, as many as there are: batches of 4096 windows each. By graphs every
// device replays its own, as training does; by steps all wait for each other after each batch; by streaming shards are read meanwhile, by four workers for
// each device.
func BenchmarkGroup(b *testing.B) {
	store := million(b)
	for _, backend := range backends(b) {
		if backend != "cuda" {
			continue
		}
		devices, err := ops.OpenAll("cuda:all")
		require.NoError(b, err)
		defer func() {
			for _, d := range devices {
				require.NoError(b, d.Close())
			}
		}()
		for n := 1; n <= len(devices); n *= 2 {
			plan := windowsPlan()
			g, err := loader.NewGroup(devices[:n], loader.Options{Batch: 4096, DType: tensor.BF16}, func(d *ops.Device, opt loader.Options) (*loader.Loader, error) {
				return loader.New(context.Background(), d, store, plan, opt)
			})
			require.NoError(b, err)
			b.Run(fmt.Sprintf("by=graphs/devices=%d", n), func(b *testing.B) {
				const each = 20
				var graphs []*ops.Graph
				var queues []*ops.Queue
				for i, l := range g.Loaders() {
					q, err := devices[i].NewQueue()
					require.NoError(b, err)
					defer q.Close()
					graph, err := q.Capture(func() error {
						for range each {
							if err := l.Run(q); err != nil {
								return err
							}
						}
						return nil
					})
					require.NoError(b, err)
					defer graph.Close()
					graphs, queues = append(graphs, graph), append(queues, q)
				}
				replay := func(times int) {
					var all sync.WaitGroup
					for i := range graphs {
						all.Go(func() {
							for range times {
								if err := graphs[i].Launch(queues[i]); err != nil {
									b.Error(err)
								}
							}
							if err := queues[i].Synchronize(context.Background()); err != nil {
								b.Error(err)
							}
						})
					}
					all.Wait()
				}
				replay(10)
				b.ResetTimer()
				replay(b.N)
				b.ReportMetric(float64(n*4096*each*b.N)/b.Elapsed().Seconds(), "windows/s")
			})
			b.Run(fmt.Sprintf("by=steps/devices=%d", n), func(b *testing.B) {
				require.NoError(b, g.Next(context.Background()))
				b.ResetTimer()
				for range b.N {
					if err := g.Next(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n*4096*b.N)/b.Elapsed().Seconds(), "windows/s")
			})
			require.NoError(b, g.Close())
			b.Run(fmt.Sprintf("by=streaming/devices=%d", n), func(b *testing.B) {
				plan.Shuffle = "shards"
				g, err := loader.NewGroup(devices[:n], loader.Options{Batch: 4096, DType: tensor.BF16, Workers: 4}, func(d *ops.Device, opt loader.Options) (*loader.Loader, error) {
					return loader.NewStreaming(context.Background(), d, store, plan, opt)
				})
				require.NoError(b, err)
				defer g.Close()
				require.NoError(b, g.Next(context.Background()))
				before := g.Waits()
				b.ResetTimer()
				for range b.N {
					if err := g.Next(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				w, s := g.Waits(), b.Elapsed().Seconds()
				b.ReportMetric(float64(n*4096*b.N)/s, "windows/s")
				b.ReportMetric(float64(w.Bytes-before.Bytes)/s/1e9, "GB/s")
				b.ReportMetric((w.Shards-before.Shards).Seconds()/s/float64(n), "shards-waited")
			})
		}
	}
}
