package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func TestStatsOfAClock(t *testing.T) {
	even := func(n int) []int64 {
		times := make([]int64, n)
		for i := range times {
			times[i] = 5e9 + int64(i)*10e6
		}
		return times
	}
	assert.Equal(t, dataset.Stats{}, dataset.StatsOf(nil))
	assert.Equal(t, dataset.Stats{Samples: 1, First: 5e9, Last: 5e9}, dataset.StatsOf(even(1)))
	for _, n := range []int{2, 31, 32, 33, 127, 128, 129, 1000} {
		want := dataset.Stats{Samples: n, First: 5e9, Last: 5e9 + int64(n-1)*10e6, Median: 10e6, Rate: 100, Steady: true}
		assert.Equal(t, want, dataset.StatsOf(even(n)), n)
	}
	assert.Equal(t, dataset.Stats{Samples: 3, First: 7, Last: 7, Duplicates: 2}, dataset.StatsOf([]int64{7, 7, 7}))
	assert.Equal(t, dataset.Stats{Samples: 4, First: 0, Last: 15, Median: 10, Rate: 1e8, Steady: true, BackSteps: 1}, dataset.StatsOf([]int64{0, 10, 5, 15}))
}

func TestAGapIsAStepAboveThreeMedians(t *testing.T) {
	const ms = 1_000_000
	var times []int64
	for i := range int64(40) {
		times = append(times, 10*i*ms)
	}
	for _, step := range []int64{30, 31, 100} {
		times = append(times, times[len(times)-1]+step*ms)
	}
	st := dataset.StatsOf(times)
	assert.Equal(t, int64(10*ms), st.Median)
	assert.True(t, st.Steady)
	assert.Equal(t, int64(30*ms), st.Limit())
	assert.Equal(t, 2, st.Gaps, "30 ms is not above 3*10; 31 and 100 are")
	assert.Equal(t, int64(100*ms), st.LongestGap)
	s := dataset.Stream{Times: tensor.Must(tensor.Of(times, len(times)))}
	assert.Equal(t, []dataset.Span{{From: 420 * ms, To: 451 * ms}, {From: 451 * ms, To: 551 * ms}}, s.Gaps())
	assert.Equal(t, []dataset.Span{{From: 451 * ms, To: 551 * ms}}, dataset.Gaps(times, 99*ms))
	for i := range times {
		times[i] /= 10
	}
	st = dataset.StatsOf(times)
	assert.Equal(t, int64(20*ms), st.Limit(), "20 ms at least")
	assert.Zero(t, st.Gaps)
	events := []int64{0, 10e9, 11e9, 15e9, 40e9, 41e9, 43e9, 90e9, 91e9, 92e9, 150e9}
	st = dataset.StatsOf(events)
	assert.Equal(t, []int64{0, 0, 0}, []int64{st.Limit(), int64(st.Gaps), st.LongestGap}, "events have no rate")
	assert.Nil(t, (&dataset.Stream{Times: tensor.Must(tensor.Of([]int64{1, 2, 3}, 3))}).Gaps())
}

func TestJitterIsThe95thPercentileOfDeviations(t *testing.T) {
	times := []int64{0}
	for i := range 100 { // deviations: 94 of 0, then 1, 2, ... 6
		d := int64(1000)
		if i >= 94 {
			d -= int64(i - 93)
		}
		times = append(times, times[len(times)-1]+d)
	}
	assert.Equal(t, int64(1), dataset.StatsOf(times).Jitter)
	assert.Zero(t, dataset.StatsOf(times[:99]).Jitter, "of 98 deviations 94 are 0, and 95% of 98 is 93.1: rank 94")
}

func TestStatsSurviveTheEndsOfInt64(t *testing.T) {
	st := dataset.StatsOf([]int64{math.MinInt64, math.MaxInt64, math.MinInt64})
	assert.Equal(t, int64(math.MaxInt64), st.Median)
	assert.Equal(t, 1, st.BackSteps)
	assert.Zero(t, st.Gaps)
}

func TestStreamsAreFoundByName(t *testing.T) {
	r := dataset.Episode{Streams: []dataset.Stream{{Name: "a"}, {Name: "b", Columns: []dataset.Column{{Name: "x", Integer: true}, {Name: "y"}}}}}
	assert.Same(t, &r.Streams[1], r.Stream("b"))
	assert.Nil(t, r.Stream("c"))
	assert.Equal(t, []string{"a", "b"}, r.Names())
	assert.Equal(t, 1, r.Stream("b").Column("y"))
	assert.Equal(t, -1, r.Stream("b").Column("z"))
	assert.False(t, r.Stream("a").AllInteger())
	assert.False(t, r.Stream("b").AllInteger())
	r.Streams[1].Columns[1].Integer = true
	assert.True(t, r.Stream("b").AllInteger())
}

func TestFormatErrorSaysWhereAndWhat(t *testing.T) {
	err := error(&dataset.FormatError{Format: "ulog", Path: "a.ulg", Offset: 7, Kind: dataset.ErrTruncated, Msg: "message", Got: "3 bytes", Want: "5", Err: io.ErrUnexpectedEOF})
	assert.Equal(t, "ulog: a.ulg: byte 7: message: truncated: got 3 bytes, want 5: unexpected EOF", err.Error())
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.NotErrorIs(t, err, dataset.ErrCorrupt)
	var bad *dataset.FormatError
	assert.True(t, errors.As(fmt.Errorf("reading: %w", err), &bad))
	assert.Equal(t, "npz: archive", (&dataset.FormatError{Format: "npz", Offset: -1, Msg: "archive"}).Error())
}

func ExampleStream_Stats() {
	values := tensor.Must(tensor.New(tensor.F32, 12, 3))
	s, err := dataset.NewStream("imu", []int64{0, 10e6, 20e6, 30e6, 40e6, 50e6, 60e6, 70e6, 80e6, 90e6, 155e6, 165e6}, values, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	st := s.Stats()
	fmt.Printf("%s: %d samples at %.0f Hz, %d gap, the longest %d ms\n", s.Name, st.Samples, st.Rate, st.Gaps, st.LongestGap/1e6)
	// Output: imu: 12 samples at 100 Hz, 1 gap, the longest 65 ms
}

func TestNamesAreOrderedAsPeopleDo(t *testing.T) {
	names := []string{"demo_10", "demo_2", "demo_1", "demo", "demo_02b", "a", "demo_2a", "demo_1000000000000000000000"}
	slices.SortFunc(names, dataset.CompareNames)
	assert.Equal(t, []string{"a", "demo", "demo_1", "demo_2", "demo_2a", "demo_02b", "demo_10", "demo_1000000000000000000000"}, names)
}
