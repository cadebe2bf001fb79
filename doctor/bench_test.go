package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/settest"
)

// BenchmarkExamine tells how fast examining is beside reading the same alone, every column of it decoded: the two take turns, so that what else the
// machine does slows both, and the medians of both are told.
func BenchmarkExamine(b *testing.B) {
	many := filepath.Join(b.TempDir(), "many")
	writeMany(b, many, 300)
	for _, path := range []string{many, "../examples/data/turtles.bag", "../examples/data/flight.ulg", os.Getenv("ROBOCACHE_BENCH_RECORDING")} {
		if path == "" {
			continue
		}
		d := settest.Open(b, path)
		b.Run(filepath.Base(path), func(b *testing.B) {
			var read, examine []float64
			for b.Loop() {
				begin := time.Now()
				for _, err := range dataset.ParallelWithin(context.Background(), d, runtime.GOMAXPROCS(0), room) {
					require.NoError(b, err)
				}
				between := time.Now()
				_, err := Examine(context.Background(), d, Options{})
				require.NoError(b, err)
				read, examine = append(read, between.Sub(begin).Seconds()), append(examine, time.Since(between).Seconds())
			}
			slices.Sort(read)
			slices.Sort(examine)
			r, e := read[len(read)/2], examine[len(examine)/2]
			b.ReportMetric(r*1e3, "read-ms")
			b.ReportMetric(e*1e3, "examine-ms")
			b.ReportMetric(100*r/e, "%speed")
		})
	}
}

// writeMany writes a dataset of the example's episodes, over and over.
func writeMany(tb testing.TB, path string, n int) {
	d := settest.Open(tb, g1)
	w, err := write.Create(path, write.Options{FPS: 30})
	require.NoError(tb, err)
	defer w.Close()
	for i := range n {
		e := settest.Episode(tb, d, i%d.Len())
		require.NoError(tb, w.Add(context.Background(), e))
	}
	require.NoError(tb, w.Commit(context.Background()))
}
