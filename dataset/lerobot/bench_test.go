package lerobot_test

import (
	"context"
	"os"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/lerobot"
)

// large writes a dataset of so many rows of 26 float32 as state and as action, in episodes of 1000, a row group each. ROBOCACHE_BENCH_DATA names a
// folder where it stays, for others to read the same.
func large(t testing.TB, rows, group int) string {
	m := make3(t)
	if dir := os.Getenv("ROBOCACHE_BENCH_DATA"); dir != "" {
		m.dir = dir
		if _, err := os.Stat(m.path(dataFile)); err == nil {
			return dir
		}
	}
	m.lengths, m.groups = nil, nil
	for range rows / 1000 {
		m.lengths = append(m.lengths, 1000)
	}
	for range rows / group {
		m.groups = append(m.groups, group)
	}
	m.info["fps"] = 10
	m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row%1000) / 10 })
	m.column("frame_index", "int64", i64, nil, func(row int) any { return row % 1000 })
	m.column("episode_index", "int64", i64, nil, func(row int) any { return row / 1000 })
	values := func(row int) any {
		out := make([]any, 26)
		for i := range out {
			out[i] = float32(row*31+i*17) * 0.001
		}
		return out
	}
	m.list("action", 26, values)
	m.list("observation.state", 26, values)
	m.options = []parquet.WriterOption{parquet.PageBufferSize(1 << 20), parquet.DictionaryMaxBytes(1 << 20)} // as pyarrow
	return m.write()
}

func benchmarkRead(b *testing.B, group int) {
	const rows = 1_000_000
	dir := large(b, rows, group)
	b.SetBytes(rows * (26 + 26) * 4)
	b.ResetTimer()
	for range b.N {
		s, err := lerobot.Open(context.Background(), dir, lerobot.Options{})
		require.NoError(b, err)
		for i := range s.Len() {
			if _, err := s.Episode(context.Background(), i); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, s.Close())
	}
}

func BenchmarkRead(b *testing.B) {
	b.Run("rows=1000000/columns=52/group=1000", func(b *testing.B) { benchmarkRead(b, 1000) })
}

func BenchmarkReadLargeGroups(b *testing.B) {
	b.Run("rows=1000000/columns=52/group=250000", func(b *testing.B) { benchmarkRead(b, 250_000) })
}
