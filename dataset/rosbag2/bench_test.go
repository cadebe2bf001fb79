package rosbag2_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// BenchmarkRead reads databases of small messages, an Imu and a Twist in turn, and of images, which are found and not held.
func BenchmarkRead(b *testing.B) {
	for name, of := range map[string][2]int{"small": {0, 100e6}, "images": {200e6, 0}} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "big_0.db3")
			writeBig(b, path, of[0], of[1])
			info, err := os.Stat(path)
			require.NoError(b, err)
			b.SetBytes(info.Size())
			for b.Loop() {
				d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
				require.NoError(b, err)
				_, err = d.Episode(context.Background(), 0)
				require.NoError(b, err)
				require.NoError(b, d.Close())
			}
		})
	}
}
