package align_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/align"
)

// A window that ends at the anchor or before it has the ticks after From up to To; any other those from From to before To.
func TestTicksOfAWindow(t *testing.T) {
	const step = 20 * time.Millisecond // of 50 Hz
	for _, c := range []struct {
		from, to    time.Duration
		first, last int64 // ticks
	}{
		{-time.Second, 0, -49, 0}, {0, time.Second, 0, 49}, {-10 * step, 10 * step, -10, 9}, {-10 * step, -5 * step, -9, -5},
		{-step / 2, 0, 0, 0}, {-step / 2, step / 2, 0, 0}, {step / 2, 3 * step / 2, 1, 1}, {0, 1, 0, 0},
	} {
		var want []int64
		for j := c.first; j <= c.last; j++ {
			want = append(want, j*int64(step))
		}
		assert.Equal(t, want, align.Window{From: c.from, To: c.to}.Ticks(50), "%v to %v", c.from, c.to)
	}
	assert.Empty(t, align.Window{From: step / 4, To: step / 2}.Ticks(50), "between two ticks")
	assert.Len(t, align.Window{To: time.Second / 3}.Ticks(30), 10, "a third of a second is ten steps, though a Duration holds less")
	assert.Len(t, align.Window{To: time.Second/3 + 90*time.Microsecond}.Ticks(30), 10, "within LeRobot's tolerance")
	assert.Len(t, align.Window{To: time.Second/3 + 110*time.Microsecond}.Ticks(30), 11, "and past it")
	rounded := float32(0.7)
	assert.Len(t, align.Window{From: -33 * time.Millisecond}.Ticks(30), 1, "33 ms is no step of 30 Hz")
	assert.Equal(t, []int64{-33333333, 0}, align.Window{From: -66700 * time.Microsecond}.Ticks(30), "66.7 ms is two steps")
	assert.Len(t, align.Window{To: time.Duration(math.Round(float64(rounded) * 1e9))}.Ticks(50), 35, "0.7 s as float32")
	assert.Equal(t, []int64{-66666667, -33333333, 0}, align.Window{From: -100 * time.Millisecond}.Ticks(30), "each is rounded by itself, half up")
}

// A window that is too long, or too far off, is refused before anybody makes room for it.
func TestAWindowHasAnEnd(t *testing.T) {
	for _, c := range []struct {
		from, to time.Duration
		rate     float64
		fine     bool
	}{
		{0, time.Second, 1 << 24, true}, {0, time.Second + 1, 1 << 24, false}, {-time.Second, 0, 1 << 24, true}, {-2 * time.Second, 0, 1 << 24, false},
		{0, math.MaxInt64, 50, false}, {math.MinInt64, 0, 1e-3, false}, {math.MaxInt64 - 1, math.MaxInt64, 1e9, false}, {1e18, 1e18 + 1, 1e9, false},
		{1<<60 - 1, 1 << 60, 1e-9, true}, {1 << 60, 1<<60 + 1, 1e-9, false},
	} {
		p := align.Plan{Rate: c.rate, Windows: map[string]align.Window{"s": {From: c.from, To: c.to}}}
		err := p.Check()
		var bad *align.PlanError
		if c.fine {
			assert.NoError(t, err)
		} else if assert.ErrorAs(t, err, &bad) {
			assert.Equal(t, "windows.s", bad.Key)
		}
	}
}
