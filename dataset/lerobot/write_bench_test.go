package lerobot

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkWrite writes, reads back and compares datasets of episodes of 500 rows of 52 float32.
func BenchmarkWrite(b *testing.B) {
	const rows, width = 500, 26
	times, err := dataset.StepTimes(rows, 30)
	require.NoError(b, err)
	e := &dataset.Episode{}
	for k, name := range []string{"observation.state", "action"} {
		values := make([]float32, rows*width)
		for i := range values {
			values[i] = float32(math.Sin(float64(i*(k+1)) / 100))
		}
		columns := make([]dataset.Column, width)
		for i := range columns {
			columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: "float32"}
		}
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, width)), columns)
		require.NoError(b, err)
		e.Streams = append(e.Streams, s)
	}
	for _, episodes := range []int{1, 100} {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			b.SetBytes(int64(episodes * rows * width * 2 * 4))
			b.ReportAllocs()
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				w, err := Create(filepath.Join(dir, fmt.Sprint(i)), WriteOptions{FPS: 30})
				require.NoError(b, err)
				for range episodes {
					require.NoError(b, w.Add(context.Background(), e))
				}
				require.NoError(b, w.Commit(context.Background()))
			}
			b.ReportMetric(float64(episodes*rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
