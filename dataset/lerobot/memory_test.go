package lerobot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/thorough"
)

// heap returns what is in use, MB, after what is not was given back.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

func TestMemoryStaysFlatOverALargeDataset(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	values := func() func(row int) any {
		r := rand.New(rand.NewPCG(3, 4))
		return func(int) any {
			out := make([]any, 26)
			for i := range out {
				out[i] = r.Float32()
			}
			return out
		}
	}
	flat := func(t *testing.T, dir string, passes int) {
		s := open(t, dir, lerobot.Options{})
		begin, size, high := heap(), 0.0, 0.0
		for i := range passes * s.Len() {
			e := episode(t, s, i%s.Len())
			for _, st := range e.Streams {
				size += float64(st.Values.Len()*st.Values.DType().Size()) / 1e6
			}
			if i%20 == 19 {
				high = max(high, heap()-begin)
			}
		}
		t.Logf("%.0f MB of values, the heap grew by %.1f MB at most", size, high)
		assert.Greater(t, size, float64(thorough.Of(50, 100)))
		assert.Less(t, high, 24.0)
	}
	t.Run("v2, 100 files", func(t *testing.T) {
		m := make3(t)
		m.lengths = []int{10_000}
		m.list("action", 26, values())
		dir := m.write2()
		for i := 1; i < thorough.Of(60, 100); i++ { // the same file under other names
			require.NoError(t, os.Link(m.path("data/chunk-000/episode_000000.parquet"), m.path(fmt.Sprintf("data/chunk-000/episode_%06d.parquet",
				i))))
		}
		flat(t, dir, 1)
	})
	t.Run("v3, one row group", func(t *testing.T) {
		m := make3(t)
		m.lengths = nil
		for range 100 {
			m.lengths = append(m.lengths, 200)
		}
		m.groups = []int{20_000}
		m.options = []parquet.WriterOption{parquet.PageBufferSize(1 << 18)}
		m.list("action", 26, values())
		flat(t, m.write(), thorough.Of(26, 50))
	})
}
