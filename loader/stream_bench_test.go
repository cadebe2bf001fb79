package loader_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkStreaming reads shards of the store of BenchmarkBatches: windows of one target, so that reading is what is measured, beside a copy of as many
// bytes. On the CPU a shard is read into its slot itself.
func BenchmarkStreaming(b *testing.B) {
	ctx := context.Background()
	store := large(b, 2000)
	d, err := ops.Open("cpu")
	require.NoError(b, err)
	defer d.Close()
	b.Run("copy", func(b *testing.B) {
		values := make([]byte, 0)
		_ = values
		src := tensor.Must(tensor.New(tensor.F32, store.Streams[0].Values.Shape()...))
		from, to := data[float32](b, store.Streams[0].Values), data[float32](b, src)
		b.SetBytes(int64(4 * len(to)))
		for range b.N {
			copy(to, from)
		}
	})
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l, err := loader.NewStreaming(ctx, d, store, align.Plan{Rate: 1, Streams: []align.Stream{{Name: "state"}, {Name: "action"}}}, loader.Options{Batch: 64, ShardWindows: 320, MixShards: 4, Workers: workers})
			require.NoError(b, err)
			defer l.Close()
			require.NoError(b, l.Next(ctx))
			before := l.Waits()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := l.Next(ctx); err != nil {
					b.Fatal(err)
				}
			}
			w := l.Waits()
			s := b.Elapsed().Seconds()
			b.ReportMetric(float64(w.Bytes-before.Bytes)/s/1e9, "GB/s")
			b.ReportMetric((w.Shards-before.Shards).Seconds()/s, "waiting/s")
			b.ReportMetric((w.Slots-before.Slots).Seconds()/s, "free/s")
		})
	}
}

var _ = time.Second
