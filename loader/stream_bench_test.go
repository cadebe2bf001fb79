package loader_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// BenchmarkStreaming reads shards of the benchmarks' store: a million frames of 26 numbers of state and action by default. Anchors at
// 0.2 Hz make few windows, so reading dominates. For comparison it copies the samples to as much memory as the slots have, with one
// goroutine and with several. On the CPU a shard is read into its slot directly. It reports bytes read a second, and the shares of time
// that Next waited for shards, and workers for free slots.
func BenchmarkStreaming(b *testing.B) {
	ctx := context.Background()
	store := million(b)
	opt := loader.Options{Batch: 64, ShardWindows: 256, MixShards: 16}
	plan := align.Plan{Rate: .2, Streams: []align.Stream{{Name: "state"}, {Name: "action"}}}
	room := 0
	for _, backend := range backends(b) {
		if backend == "sim" {
			continue
		}
		d, err := ops.Open(backend)
		require.NoError(b, err)
		defer d.Close()
		for _, workers := range []int{1, 2, 4, 8, 16} {
			b.Run(fmt.Sprintf("read=stream/backend=%s/workers=%d", backend, workers), func(b *testing.B) {
				opt.Workers = workers
				began := time.Now()
				l, err := loader.NewStreaming(ctx, d, store, plan, opt)
				require.NoError(b, err)
				defer l.Close()
				opened := time.Since(began).Seconds()
				require.NoError(b, l.Next(ctx))
				room = l.Report().Streaming.Slots * l.Report().Streaming.SlotBytes
				before := l.Waits()
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if err := l.Next(ctx); err != nil {
						b.Fatal(err)
					}
				}
				w, s := l.Waits(), b.Elapsed().Seconds()
				b.ReportMetric(float64(w.Bytes-before.Bytes)/s/1e9, "GB/s")
				b.ReportMetric(opened, "s-to-open")
				b.ReportMetric((w.Shards-before.Shards).Seconds()/s, "shards-waited")
				b.ReportMetric((w.Slots-before.Slots).Seconds()/s/float64(workers), "slots-waited")
			})
		}
	}
	state, action, times := data[float32](b, store.Streams[0].Values), data[float32](b, store.Streams[1].Values), data[int64](b, store.Streams[0].Times)
	const rows, shard = 500, 68 // samples of an episode, and a shard's episodes
	for _, goroutines := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("read=copy/goroutines=%d", goroutines), func(b *testing.B) {
			episodes, frames := len(times)/rows, max(room/(2*26*4+8)/rows/goroutines, shard)*rows
			var all sync.WaitGroup
			var copied atomic.Int64
			for g := range goroutines {
				to, also, stamps := make([]float32, frames*26), make([]float32, frames*26), make([]int64, frames)
				all.Go(func() {
					for i := g; i < b.N; i += goroutines {
						n := 0
						for k := range shard {
							from, at := (i*shard+k)%episodes*rows, (i*shard+k)*rows%frames
							n += 4*copy(to[at*26:(at+rows)*26], state[from*26:]) + 4*copy(also[at*26:(at+rows)*26], action[from*26:]) + 8*copy(stamps[at:at+rows], times[from:])
						}
						copied.Add(int64(n))
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(copied.Load())/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}
