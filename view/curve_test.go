package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

func TestExtremesAreThoseOfEveryRow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 15, 16, 17, 255, 256, 257, 4097, 10000} {
		data := make([]float32, rows*3)
		for i := range data {
			switch r.IntN(12) {
			case 0:
				data[i] = float32(math.NaN())
			case 1:
				data[i] = float32(math.Inf(1 - 2*r.IntN(2)))
			default:
				data[i] = r.Float32() - 0.5
			}
		}
		v, err := tensor.Of(data, rows, 3)
		require.NoError(t, err)
		b, err := newBlocks[float32](v)
		require.NoError(t, err)
		for range 200 {
			from := r.IntN(rows + 1)
			to := from + r.IntN(rows-from+1)
			low, high := make([]float64, 3), make([]float64, 3)
			b.extremes(from, to, low, high)
			for k := range 3 {
				lo, hi := math.Inf(1), math.Inf(-1)
				for i := from; i < to; i++ {
					if v := float64(data[3*i+k]); finite(v) {
						lo, hi = min(lo, v), max(hi, v)
					}
				}
				require.Equal(t, [2]float64{lo, hi}, [2]float64{low[k], high[k]}, "%d rows, %d to %d, column %d", rows, from, to, k)
			}
		}
	}
}

// Whatever is zoomed to, each sample lies within what is drawn of its pixel, and nothing is drawn that is not there.
func TestEverySampleIsDrawn(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	r := rand.New(rand.NewPCG(3, 4))
	s := stream(t, "s", epoch, 1000, 20, []string{"a", "b"}, func(s float64, k int) float32 { return r.Float32() + float32(k) })
	c, err := newCurve(&s, true)
	require.NoError(t, err)
	values, err := c.values()
	require.NoError(t, err)
	for range 50 {
		from := epoch + r.Int64N(19e9)
		to := from + 1 + r.Int64N(20e9)
		pixels := 1 + r.IntN(700)
		p, err := c.draw(from, to, pixels, []int{1})
		require.NoError(t, err)
		in := 0
		for i, at := range c.times {
			if at < from || at > to {
				continue
			}
			in++
			v := values.at(i, 1)
			if p.each {
				assert.Contains(t, p.values[0], v)
				continue
			}
			width := (float64(to) - float64(from)) / float64(pixels)
			covered := false
			for j := 0; j+1 < len(p.times) && !covered; j += 2 {
				covered = math.Abs(float64(at-p.times[j])) <= width+1 && p.values[0][j] <= v && v <= p.values[0][j+1]
			}
			require.True(t, covered, "sample %d of %d to %d in %d pixels", i, from, to, pixels)
		}
		assert.Equal(t, in, p.rows)
		assert.Equal(t, in <= 2*pixels, p.each)
		assert.LessOrEqual(t, len(p.times), 2*pixels+2)
		for _, v := range p.values[0] {
			assert.True(t, v >= 1 && v < 2, "%g is of another column", v)
		}
	}
}

func TestALineIsBrokenInAGap(t *testing.T) {
	s := robot(t, 0).Streams[0]
	c, err := newCurve(&s, true)
	require.NoError(t, err)
	require.Equal(t, []dataset.Span{{From: epoch + 4e9, To: epoch + 45e8}}, c.gaps)
	for _, pixels := range []int{100, 1000, 8192} { // extremes, and samples
		p, err := c.draw(epoch, epoch+10e9, pixels, []int{0})
		require.NoError(t, err)
		breaks := 0
		for i, v := range p.values[0] {
			if v != v {
				breaks++
				assert.LessOrEqual(t, p.times[i], epoch+int64(45e8))
				assert.GreaterOrEqual(t, p.times[i], epoch+int64(4e9))
			}
		}
		assert.Equal(t, 1, breaks, "in %d pixels", pixels)
	}
	// Zoomed into the gap, the samples on both sides are there, so that the line's ends are seen.
	p, err := c.draw(epoch+41e8, epoch+42e8, 500, []int{0})
	require.NoError(t, err)
	assert.Equal(t, 0, p.rows)
	assert.Equal(t, []int64{epoch + 4e9, epoch + 4e9, epoch + 45e8}, p.times)
}

func TestSamplesOutOfOrderAreSortedAndCounted(t *testing.T) {
	v, err := tensor.Of([]float64{0, 2, 1, 3}, 4, 1)
	require.NoError(t, err)
	s, err := dataset.NewStream("s", []int64{0, 2e9, 1e9, 3e9}, v, nil)
	require.NoError(t, err)
	c, err := newCurve(&s, true)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 1e9, 2e9, 3e9}, c.times)
	assert.Equal(t, 1, c.back)
	p, err := c.draw(0, 3e9, 10, []int{0})
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 1, 2, 3}, p.values[0])
}

func TestGapsAPixelApartAreOne(t *testing.T) {
	gaps := []dataset.Span{{From: 10, To: 20}, {From: 21, To: 30}, {From: 500, To: 600}, {From: 900, To: 990}}
	assert.Equal(t, []dataset.Span{{From: 10, To: 30}, {From: 500, To: 600}, {From: 900, To: 990}}, spans(gaps, 0, 1000, 100))
	assert.Equal(t, gaps, spans(gaps, 0, 1000, 1000))
	assert.Equal(t, gaps[2:3], spans(gaps, 550, 560, 1000), "one around what is shown")
	assert.Empty(t, spans(gaps, 601, 899, 10))
}

// A topic of few messages that another clock stamped does not make an episode of seconds one of minutes; one of many does, since it may be so.
func TestAStrayTopicMakesNoEpisodeLonger(t *testing.T) {
	busy := stream(t, "imu", 20e9, 100, 7, []string{"a"}, func(float64, int) float32 { return 0 })
	for _, tt := range []struct {
		name     string
		other    dataset.Stream
		from, to int64
	}{
		{"one message, far", stream(t, "mission", 1194e9, 1, 0, []string{"a"}, func(float64, int) float32 { return 0 }), 20e9, 27e9},
		{"one message, near", stream(t, "arm", 18e9, 1, 0, []string{"a"}, func(float64, int) float32 { return 0 }), 18e9, 27e9},
		{"a slow stream all along", stream(t, "gps", 0, 1, 3600, []string{"a"}, func(float64, int) float32 { return 0 }), 0, 3600e9},
	} {
		e, err := newEntry(0, &dataset.Episode{Streams: []dataset.Stream{busy, tt.other}})
		require.NoError(t, err)
		assert.Equal(t, [2]int64{tt.from, tt.to}, [2]int64{e.start, e.end}, tt.name)
	}
}

// An hour at 1 kHz is zoomed within 50 ms.
func BenchmarkZoom(b *testing.B) {
	s := stream(b, "imu", epoch, 1000, 3600, []string{"a", "b", "c", "d", "e", "f", "g"}, func(s float64, k int) float32 { return float32(math.Sin(s * float64(k+1))) })
	m := &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) {
		return &dataset.Episode{Name: "hour", Streams: []dataset.Stream{s}}, nil
	}}}
	for _, seconds := range []float64{3600, 600, 60, 1} {
		b.Run(fmt.Sprintf("seconds=%g", seconds), func(b *testing.B) {
			v := serve(b, m, Options{})
			path := fmt.Sprintf("/api/episodes/0/series?stream=imu&from=0&to=%g&width=1000", seconds)
			get(v, path) // the first time the blocks are made
			for b.Loop() {
				get(v, path)
			}
		})
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			c, err := newCurve(&s, true)
			require.NoError(b, err)
			_, err = c.values()
			require.NoError(b, err)
		}
	})
}
