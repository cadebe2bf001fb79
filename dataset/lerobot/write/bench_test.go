package write

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkWrite writes, reads back and compares datasets of episodes of 500 rows of two streams of float32.
func BenchmarkWrite(b *testing.B) {
	for _, width := range []int{14, 26} {
		e := randomEpisode(b, 500, width)
		for _, episodes := range []int{1, 200} {
			b.Run(fmt.Sprintf("columns=%d/episodes=%d", 2*width, episodes), func(b *testing.B) {
				rows := episodes * 500
				b.SetBytes(int64(rows * width * 2 * 4))
				b.ReportAllocs()
				dir := b.TempDir()
				for i := 0; b.Loop(); i++ {
					w, err := Create(filepath.Join(dir, fmt.Sprint(i)), Options{FPS: 30})
					require.NoError(b, err)
					for range episodes {
						require.NoError(b, w.Add(context.Background(), e))
					}
					require.NoError(b, w.Commit(context.Background()))
				}
				b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// randomEpisode returns rows of two streams of as many columns.
func randomEpisode(b *testing.B, rows, width int) *dataset.Episode {
	times, err := dataset.StepTimes(rows, 30)
	require.NoError(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	e := &dataset.Episode{}
	for _, name := range []string{"observation.state", "action"} {
		values := make([]float32, rows*width)
		for i := range values {
			values[i] = rng.Float32()
		}
		columns := make([]dataset.Column, width)
		for i := range columns {
			columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: "float32"}
		}
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, rows, width)), columns)
		require.NoError(b, err)
		e.Streams = append(e.Streams, s)
	}
	return e
}
