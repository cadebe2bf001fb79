package convert

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// noise are frames of so many bytes.
type noise []byte

func (n noise) ReadFrame(_ context.Context, i int) ([]byte, error) {
	b := append([]byte{}, n...)
	b[i%len(b)]++
	return b, nil
}

// ROBOCACHE_BIG=5e9 converts recordings of so many bytes, which are links to one of some megabytes, to each format. TMPDIR is where they lie. That takes
// as much memory as a few of them, however many there are.
func TestABigConversionTakesLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	size := memuse.Bytes(t)
	e := recorded(t, 1, 20_000, true)
	pixels := make([]byte, 64*64)
	for i := range pixels {
		pixels[i] = byte(rand.Uint32())
	}
	e.Media[0].Width, e.Media[0].Height, e.Media[0].Source = 64, 64, noise(pixels)
	numbers, times := make([]float32, 100_000*20), make([]int64, 100_000)
	for i := range numbers {
		numbers[i] = rand.Float32()
	}
	for i := range times {
		times[i] = int64(1e9) + int64(i)*6_000_000
	}
	s, err := dataset.NewStream("wide", times, tensor.Must(tensor.Of(numbers, len(times), 20)), nil)
	require.NoError(t, err)
	e.Streams = append(e.Streams, s)
	in := write(t, e)
	first := filepath.Join(in, e.Name+".mcap")
	st, err := os.Stat(first)
	require.NoError(t, err)
	n := int(size) / int(st.Size())
	for i := range n - 1 {
		require.NoError(t, os.Link(first, filepath.Join(in, fmt.Sprintf("more%06d.mcap", i))))
	}
	for _, to := range []Target{Safetensors(), MCAP(mcap.Protobuf), WebDataset(), leRobot(t, LeRobotOptions{})} {
		opt := Options{}
		if to.Traits().Rows {
			opt = Options{Plan: &align.Plan{Rate: 5}, Device: cpu(t)}
		}
		if to.Name() == "lerobot" {
			opt.Media = []string{""} // no frames, which ffmpeg would encode for minutes
		}
		memuse.Peak(t)
		before := memuse.Peak(t)
		out := filepath.Join(t.TempDir(), "out")
		r := converts(t, out, to, opt, in)
		require.Equal(t, n, r.Converted)
		peak, most := memuse.Peak(t), before+200e6+int64(2*runtime.GOMAXPROCS(0))*2*e.Bytes()
		t.Logf("%s: %d recordings of %.0f MB: memory %.0f MB before, at most %.0f MB", to.Name(), n, float64(st.Size())/1e6, float64(before)/1e6, float64(peak)/1e6)
		assert.LessOrEqual(t, peak, most, to.Name())
		require.NoError(t, os.RemoveAll(out))
	}
}
