package calvin_test

import (
	"cmp"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/calvin"
	"github.com/robocache/robocache/internal/test/settest"
)

// BenchmarkNumbers reads the numbers of the first episode of the dataset that ROBOCACHE_CALVIN names, else of the small one.
func BenchmarkNumbers(b *testing.B) {
	ctx := context.Background()
	d, err := calvin.Open(ctx, cmp.Or(os.Getenv("ROBOCACHE_CALVIN"), "testdata/small"), dataset.Options{})
	require.NoError(b, err)
	frames := 0
	for b.Loop() {
		e := settest.Episode(b, d, 0)
		frames += e.Frames
	}
	b.ReportAllocs()
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkOpen opens the dataset: it lists the frames.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		_, err := calvin.Open(context.Background(), cmp.Or(os.Getenv("ROBOCACHE_CALVIN"), "testdata/small"), dataset.Options{})
		require.NoError(b, err)
	}
}
