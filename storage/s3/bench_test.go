package s3

import (
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/storage"
)

// BenchmarkRead reads 1 GiB of a server in this process, over 127.0.0.1: as one sequence, in large pieces, by four readers, and here and there.
func BenchmarkRead(b *testing.B) {
	const size = 1 << 30
	server, s := started(b)
	server.Put(b, "lab", "a", noise(size))
	run := func(name string, bytes int64, read func(b *testing.B, f storage.File)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			server.Count()
			for range b.N {
				f := open(b, s, "s3://lab/a")
				read(b, f)
				require.NoError(b, f.Close())
			}
			requests, got := server.Count()
			b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
			b.ReportMetric(float64(got)/float64(b.N)/float64(bytes), "fetched/read")
		})
	}
	run("sequential/32KiB", size, func(b *testing.B, f storage.File) {
		n, err := io.Copy(struct{ io.Writer }{io.Discard}, io.NewSectionReader(f, 0, size))
		require.NoError(b, err)
		require.EqualValues(b, size, n)
	})
	run("sequential/8MiB", size, func(b *testing.B, f storage.File) {
		piece := make([]byte, 8<<20)
		for at := int64(0); at < size; at += int64(len(piece)) {
			_, err := f.ReadAt(piece, at)
			require.NoError(b, err)
		}
	})
	run("parallel/1MiB", size, func(b *testing.B, f storage.File) {
		var tasks sync.WaitGroup
		for i := range int64(4) {
			tasks.Go(func() {
				piece := make([]byte, 1<<20)
				for at := i << 20; at < size; at += 4 << 20 {
					if _, err := f.ReadAt(piece, at); err != nil {
						b.Error(err)
					}
				}
			})
		}
		tasks.Wait()
	})
	run("random/4KiB", 1000*4096, func(b *testing.B, f storage.File) {
		r, piece := rand.New(rand.NewPCG(1, 2)), make([]byte, 4096)
		for range 1000 {
			_, err := f.ReadAt(piece, r.Int64N(size-4096))
			require.NoError(b, err)
		}
	})
}
