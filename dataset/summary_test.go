package dataset_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func streamOf(t *testing.T, name string, dtype tensor.DType, width int, times ...int64) dataset.Stream {
	t.Helper()
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.New(dtype, len(times), width)), nil)
	require.NoError(t, err)
	return s
}

func TestASummaryAddsEpisodesUp(t *testing.T) {
	var sum dataset.Summary
	add := func(e dataset.Episode) { sum.Add(&e) }
	add(dataset.Episode{Frames: 3, Streams: []dataset.Stream{streamOf(t, "a", tensor.F32, 2, 0, 10, 20), streamOf(t, "none", tensor.F32, 1)}, Attributes: dataset.Attributes{Task: "lift"}})
	add(dataset.Episode{Frames: 4, Streams: []dataset.Stream{streamOf(t, "a", tensor.F32, 2, 5, 15, 15, 100), streamOf(t, "b", tensor.F64, 1, 7)}, Attributes: dataset.Attributes{Task: "lift"},
		Notes: dataset.Notes{{Code: dataset.CodeText, Subject: "text"}, {Code: dataset.CodeText, Subject: "text", Row: dataset.At(1)}, {Code: dataset.CodeNullTexts, Subject: "text"}}, Media: []dataset.Media{{Name: "eye", Times: []int64{0, 30}, Encoding: "png", Width: 4, Height: 3}},
		Clouds: []dataset.CloudStream{{Name: "lidar", Times: []int64{0, 20, 40}}}})
	add(dataset.Episode{Frames: 2, Streams: []dataset.Stream{streamOf(t, "a", tensor.F64, 3, 40, 20)}, Attributes: dataset.Attributes{Task: "drop"}, Notes: dataset.Notes{{Code: dataset.CodeText, Subject: "text"}}})
	assert.Equal(t, [2]int{3, 9}, [2]int{sum.Episodes, sum.Frames})
	assert.Equal(t, []string{"lift", "drop"}, sum.Tasks)
	require.Len(t, sum.Streams, 3)
	a := &sum.Streams[0]
	assert.Equal(t, "a", a.Name)
	assert.Equal(t, [6]int{3, 9, 0, 1, 1, 2}, [6]int{a.Episodes, a.Samples, a.Gaps, a.Duplicates, a.BackSteps, len(a.Columns)})
	assert.Equal(t, [2]int64{0, 100}, [2]int64{a.First, a.Last})
	assert.Equal(t, "f32, f64", a.DType)
	assert.Equal(t, 1e8, a.Rate())
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeColumnsDiffer, Subject: "a", Count: 1, Row: dataset.At(2), Detail: dataset.Detail{Got: "3 columns", Want: "2 columns"}}}, sum.Notes)
	assert.Zero(t, sum.Streams[1].Rate())
	assert.Equal(t, int64(7), sum.Streams[2].First)
	assert.Equal(t, []dataset.LeftOutSummary{{Note: dataset.Note{Code: dataset.CodeText, Subject: "text"}, Episodes: 2}, {Note: dataset.Note{Code: dataset.CodeNullTexts, Subject: "text"}, Episodes: 1}}, sum.LeftOut)
	assert.Equal(t, 2, sum.Media[0].Frames)
	assert.Equal(t, 4, sum.Media[0].Width)
	assert.Equal(t, []any{"lidar", 1, 3, 5e7}, []any{sum.Clouds[0].Name, sum.Clouds[0].Episodes, sum.Clouds[0].Clouds, sum.Clouds[0].Rate()})
}

// slow is a dataset that knows how many of its episodes are being read at a time.
type slow struct {
	dataset.Dataset
	n             int
	reading, most atomic.Int64
}

func (s *slow) Len() int { return s.n }

func (s *slow) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	now := s.reading.Add(1)
	defer s.reading.Add(-1)
	for was := s.most.Load(); now > was && !s.most.CompareAndSwap(was, now); was = s.most.Load() {
	}
	select {
	case <-time.After(time.Duration(i%3) * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if i == 5 {
		return nil, errDisk
	}
	return &dataset.Episode{Name: fmt.Sprint(i)}, nil
}

func TestParallelReadsInOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 4, 100} {
		d := &slow{n: 20}
		var got []string
		for e, err := range dataset.Parallel(context.Background(), d, workers) {
			if err != nil {
				var at *dataset.EpisodeError
				require.ErrorAs(t, err, &at)
				require.ErrorIs(t, err, errDisk)
				got = append(got, fmt.Sprint("no ", at.Episode))
				continue
			}
			got = append(got, e.Name)
		}
		require.Len(t, got, 20)
		for i, name := range got {
			want := fmt.Sprint(i)
			if i == 5 {
				want = "no 5"
			}
			assert.Equal(t, want, name)
		}
		assert.LessOrEqual(t, d.most.Load(), int64(max(workers, 1)))
		for range dataset.Parallel(context.Background(), d, workers) {
			break
		}
		assert.Zero(t, d.reading.Load(), "nobody reads any more")
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		for range dataset.Parallel(ctx, d, workers) {
			if n++; n == 3 {
				cancel()
			}
		}
		assert.Equal(t, 3, n)
		cancel()
	}
	for range dataset.Parallel(context.Background(), &slow{}, 3) {
		t.Fatal("there are none")
	}
}

// large is a dataset of episodes of 800 bytes that knows how many were begun.
type large struct {
	dataset.Dataset
	t     *testing.T
	begun atomic.Int64
}

func (l *large) Len() int { return 12 }

func (l *large) Episode(context.Context, int) (*dataset.Episode, error) {
	l.begun.Add(1)
	return &dataset.Episode{Streams: []dataset.Stream{streamOf(l.t, "a", tensor.F64, 1, make([]int64, 30)...)}, Record: 320}, nil
}

func TestParallelWithinCountsTheEpisodeThatWasHandedOver(t *testing.T) {
	for _, c := range []struct{ room, most int64 }{{1, 1}, {1599, 1}, {1600, 2}, {2500, 3}, {1 << 40, 13}} {
		d := &large{t: t}
		n := int64(0)
		for e, err := range dataset.ParallelWithin(context.Background(), d, 4, c.room) {
			require.NoError(t, err)
			require.Equal(t, int64(800), e.Bytes()+e.Record)
			n++
			time.Sleep(time.Millisecond) // they would begin
			assert.LessOrEqual(t, d.begun.Load(), n-1+c.most, "episode %d of room %d", n, c.room)
		}
		assert.Equal(t, int64(12), n)
	}
}

func TestStepTimesAreRoundedOnce(t *testing.T) {
	times, err := dataset.StepTimes(4, 30)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 33333333, 66666667, 100000000}, times)
	times, err = dataset.StepTimes(2, 0)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 1e9}, times)
	_, err = dataset.StepTimes(1<<40, 1e-6)
	assert.ErrorIs(t, err, dataset.ErrOption)
}

func TestAFileMayBeNamedByItsURL(t *testing.T) {
	full, err := filepath.Abs(flight)
	require.NoError(t, err)
	d, err := dataset.Open(context.Background(), "file://"+full, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, "ulog", d.Format())
	require.NoError(t, d.Close())
	_, err = dataset.Open(context.Background(), "s3://bucket/log.ulg", dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got scheme s3, want a path, or file://")
}

func TestAClockThatADatasetDoesNotHaveIsRefused(t *testing.T) {
	_, err := dataset.Open(context.Background(), flight, dataset.Options{Clock: "log_time"})
	require.ErrorIs(t, err, dataset.ErrOption)
	assert.ErrorContains(t, err, "recordings of ulog have one clock")
}

func TestASummarySaysInWhichColumnEpisodesDiffer(t *testing.T) {
	var sum dataset.Summary
	for _, name := range []string{"x", "y", "z"} {
		s := streamOf(t, "a", tensor.F32, 2, 0)
		s.Columns = []dataset.Column{{Name: "t", Type: "float"}, {Name: name, Type: "float"}}
		sum.Add(&dataset.Episode{Streams: []dataset.Stream{s}})
	}
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeColumnsDiffer, Subject: "a", Count: 1, Row: dataset.At(1),
		Detail: dataset.Detail{Got: `column 1 "y" of type "float"`, Want: `column 1 "x" of type "float"`}}}, sum.Notes, "once")
}

func TestASummaryKnowsTheExtremesOfEpisodes(t *testing.T) {
	var sum dataset.Summary
	sum.Add(&dataset.Episode{Frames: 3, Streams: []dataset.Stream{streamOf(t, "a", tensor.F32, 1, 10, 20, 30)}})
	sum.Add(&dataset.Episode{Frames: 0})
	sum.Add(&dataset.Episode{Frames: 5, Streams: []dataset.Stream{streamOf(t, "a", tensor.F32, 1, 1000, 1005, 1010, 1015, 1020)}})
	assert.Equal(t, [2]int{0, 5}, [2]int{sum.Shortest, sum.Longest})
	a := &sum.Streams[0]
	assert.Equal(t, [2]int64{20, 20}, [2]int64{a.Shortest, a.Longest})
	lowest, highest := a.Rates()
	assert.Equal(t, [2]float64{1e8, 2e8}, [2]float64{lowest, highest})
	var none dataset.StreamSummary
	lowest, highest = none.Rates()
	assert.Zero(t, lowest+highest)
	var wild dataset.Summary
	wild.Add(&dataset.Episode{Streams: []dataset.Stream{streamOf(t, "a", tensor.F32, 1, math.MinInt64, math.MaxInt64)}})
	assert.Equal(t, int64(math.MaxInt64), wild.Streams[0].Longest)
}
