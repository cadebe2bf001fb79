package zarr

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// BenchmarkPushT opens the shared dataset, and reads its 206 episodes.
func BenchmarkPushT(b *testing.B) {
	if _, err := os.Stat(shared); err != nil {
		b.Skipf("no shared recordings: %v", err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			d, err := dataset.Open(context.Background(), shared, dataset.Options{})
			if err != nil {
				b.Fatal(err)
			}
			d.Close()
		}
	})
	b.Run("episodes", func(b *testing.B) {
		d := opens(b, shared, dataset.Options{})
		b.SetBytes(25650 * 26 * 4)
		for b.Loop() {
			for i := range d.Len() {
				episode(b, d, i)
			}
		}
	})
}

// BenchmarkLarge reads 16 episodes, with 4 MiB of float32 in 32 columns each, from chunks of 512 KiB.
func BenchmarkLarge(b *testing.B) {
	path := filepath.Join(b.TempDir(), "large.zarr")
	w, err := Create(path)
	require.NoError(b, err)
	w.Rate = 10
	defer w.Close()
	require.NoError(b, w.Declare(Array{Name: "state", DType: "<f4", Shape: []int{32}}))
	rows := make([]byte, 4<<20)
	for i := range len(rows) / 4 {
		binary.LittleEndian.PutUint32(rows[4*i:], math.Float32bits(float32(math.Sin(float64(i/32)*0.01+float64(i%32)))))
	}
	for range 16 {
		require.NoError(b, w.Append("state", rows))
		require.NoError(b, w.EndEpisode("", "", nil))
	}
	require.NoError(b, w.Commit(context.Background()))
	d := opens(b, path, dataset.Options{})
	b.SetBytes(64 << 20)
	for b.Loop() {
		for i := range d.Len() {
			episode(b, d, i)
		}
	}
}
