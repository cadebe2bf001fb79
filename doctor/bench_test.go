package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
)

// BenchmarkExamine has, beside examining, what reading the same alone takes.
func BenchmarkExamine(b *testing.B) {
	many := filepath.Join(b.TempDir(), "many")
	writeMany(b, many, 300)
	for _, path := range []string{many, "../examples/data/turtles.bag", "../examples/data/flight.ulg"} {
		d, err := dataset.Open(context.Background(), path, dataset.Options{})
		require.NoError(b, err)
		defer d.Close()
		b.Run(fmt.Sprintf("%s/read", filepath.Base(path)), func(b *testing.B) {
			for b.Loop() {
				for _, err := range dataset.ParallelWithin(context.Background(), d, runtime.GOMAXPROCS(0), room) {
					require.NoError(b, err)
				}
			}
		})
		b.Run(fmt.Sprintf("%s/examine", filepath.Base(path)), func(b *testing.B) {
			for b.Loop() {
				_, err := Examine(context.Background(), d, Options{})
				require.NoError(b, err)
			}
		})
	}
}

// writeMany writes a dataset of the example's episodes, over and over.
func writeMany(tb testing.TB, path string, n int) {
	d, err := dataset.Open(context.Background(), g1, dataset.Options{})
	require.NoError(tb, err)
	defer d.Close()
	w, err := lerobot.Create(path, lerobot.WriteOptions{FPS: 30})
	require.NoError(tb, err)
	defer w.Close()
	for i := range n {
		e, err := d.Episode(context.Background(), i%d.Len())
		require.NoError(tb, err)
		require.NoError(tb, w.Add(context.Background(), e))
	}
	require.NoError(tb, w.Commit(context.Background()))
}
