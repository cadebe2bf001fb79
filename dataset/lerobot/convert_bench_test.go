package lerobot_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/convert"
)

// BenchmarkConvert makes version 3 of a dataset of version 2.1 of 26 float32 as state and as action, hashes and read-back included.
func BenchmarkConvert(b *testing.B) {
	const episodes, rows, width = 300, 1000, 26
	m := make3(b)
	m.lengths = nil
	for range episodes {
		m.lengths = append(m.lengths, rows)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	swing := func(row int) any { // joints at their own paces, and the noise of their encoders
		out := make([]any, width)
		for i := range out {
			out[i] = float32(math.Sin(float64(row)/50*(1+float64(i)/width)) + 0.001*rng.NormFloat64())
		}
		return out
	}
	m.list("observation.state", width, swing)
	m.list("action", width, swing)
	m.options = []parquet.WriterOption{parquet.PageBufferSize(1 << 20), parquet.DictionaryMaxBytes(1 << 20)} // as pyarrow
	in := ""
	if dir := os.Getenv("ROBOCACHE_BENCH_DATA"); dir == "" {
		in = m.write2()
	} else if m.dir, in = dir, dir; true {
		if _, err := os.Stat(m.path("meta/info.json")); err != nil {
			m.write2()
		}
	}
	b.Run(fmt.Sprintf("rows=%d/columns=%d", episodes*rows, 2*width), func(b *testing.B) {
		b.SetBytes(episodes * rows * 2 * width * 4)
		b.ReportAllocs()
		dir := b.TempDir()
		for i := 0; b.Loop(); i++ {
			target, err := convert.LeRobot(convert.LeRobotOptions{})
			require.NoError(b, err)
			c, err := convert.New(context.Background(), []string{in}, filepath.Join(dir, fmt.Sprint(i)), target, convert.Options{})
			require.NoError(b, err)
			r, err := c.Shard(context.Background(), 0)
			require.NoError(b, err)
			require.Equal(b, episodes, r.Converted)
			require.NoError(b, c.Close())
		}
	})
}
