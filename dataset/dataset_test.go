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
		want := dataset.Stats{Samples: n, First: 5e9, Last: 5e9 + int64(n-1)*10e6, Median: 10e6, Rate: 100}
		assert.Equal(t, want, dataset.StatsOf(even(n)), n)
	}
	assert.Equal(t, dataset.Stats{Samples: 3, First: 7, Last: 7, Duplicates: 2}, dataset.StatsOf([]int64{7, 7, 7}))
	assert.Equal(t, dataset.Stats{Samples: 4, First: 0, Last: 15, Median: 10, Rate: 1e8, BackSteps: 1}, dataset.StatsOf([]int64{0, 10, 5, 15}))
}

func TestAGapIsAStepAboveThreeMedians(t *testing.T) {
	times := []int64{0, 10, 20, 30, 60, 70, 101, 111, 211, 221, 231}
	st := dataset.StatsOf(times)
	assert.Equal(t, int64(10), st.Median)
	assert.Equal(t, 2, st.Gaps, "30 is not above 3*10; 31 and 100 are")
	assert.Equal(t, int64(100), st.LongestGap)
	s := dataset.Stream{Times: tensor.Must(tensor.Of(times, len(times)))}
	assert.Equal(t, []dataset.Span{{From: 70, To: 101}, {From: 111, To: 211}}, s.Gaps())
	assert.Equal(t, []dataset.Span{{From: 111, To: 211}}, dataset.Gaps(times, 99))
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
	values := tensor.Must(tensor.New(tensor.F32, 6, 3))
	s, err := dataset.NewStream("imu", []int64{0, 10e6, 20e6, 30e6, 95e6, 105e6}, values, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	st := s.Stats()
	fmt.Printf("%s: %d samples at %.0f Hz, %d gap, the longest %d ms\n", s.Name, st.Samples, st.Rate, st.Gaps, st.LongestGap/1e6)
	// Output: imu: 6 samples at 100 Hz, 1 gap, the longest 65 ms
}

func TestNamesAreOrderedAsPeopleDo(t *testing.T) {
	names := []string{"demo_10", "demo_2", "demo_1", "demo", "demo_02b", "a", "demo_2a", "demo_1000000000000000000000"}
	slices.SortFunc(names, dataset.CompareNames)
	assert.Equal(t, []string{"a", "demo", "demo_1", "demo_2", "demo_2a", "demo_02b", "demo_10", "demo_1000000000000000000000"}, names)
}
