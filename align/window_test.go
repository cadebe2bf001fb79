package align_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
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

// Single times keep their order and repetitions. A time within LeRobot's tolerance of a tick is the tick, any other stays as it is.
func TestSingleTimesOfAWindow(t *testing.T) {
	ms := func(list ...float64) (w align.Window) {
		for _, v := range list {
			w.At = append(w.At, time.Duration(v*1e6))
		}
		return w
	}
	assert.Equal(t, []int64{-66666667, 33333333, 0, -66666667, 40e6}, ms(-66.7, 33.3, 0, -66.6, 40).Ticks(30))
	assert.Equal(t, []int64{-66500000}, ms(-66.5).Ticks(30), "0.17 ms from the tick")
	for text, want := range map[string]align.Window{"[-0.5, 0]": {From: -500 * time.Millisecond}, `{"at": [0.1, -0.4, 0.1]}`: ms(100, -400, 100), `{"at": [0]}`: ms(0)} {
		var got align.Window
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"[-0.5]", "[0, 1, 2]", "3", "null", "{}", `{"at": []}`, `{"at": [0], "to": 3}`, `{"at": [9e9]}`, `{"at": ["1s"]}`} {
		var bad *align.PlanError
		assert.ErrorAs(t, json.Unmarshal([]byte(text), new(align.Window)), &bad, text)
	}
	long := align.Window{At: make([]time.Duration, 1<<24+1)}
	for want, w := range map[string]align.Window{"one of them": {To: 1, At: ms(0).At}, "from the anchor": {At: []time.Duration{0, 1<<60 + 1}}, "at most 16777216": long} {
		p := align.Plan{Rate: 1e-9, Windows: map[string]align.Window{"s": w}}
		assert.ErrorContains(t, p.Check(), want)
	}
	after := 20 * time.Millisecond
	p := align.Plan{Rate: 50, Padding: "diffusion_policy", PadAfter: ops.Within(after), Windows: map[string]align.Window{"a": ms(45, -20), "b": ms(0)}}
	require.NoError(t, p.Check())
	assert.Equal(t, 8, p.Anchors(10), "45 ms reach into the third tick, and one may be beyond the end")
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
