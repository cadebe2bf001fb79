package dataset_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/tensor"
)

const flight = "ulog/testdata/sample_log_small.ulg"

func TestAFlightLogIsADatasetOfOneEpisode(t *testing.T) {
	ctx := context.Background()
	d, err := dataset.Open(ctx, flight, dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, "ulog", d.Format())
	assert.Equal(t, "sample_log_small", d.Name())
	require.Equal(t, 1, d.Len())
	n := 0
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		assert.Equal(t, "sample_log_small", e.Name)
		assert.Equal(t, flight, e.Attributes.Source)
		require.NotNil(t, e.Stream("vehicle_attitude"))
		assert.Equal(t, dataset.RotationWXYZ, e.Stream("vehicle_attitude").Columns[0].Rotation)
		for i := range e.Streams {
			require.NoError(t, e.Streams[i].Check())
		}
		n++
	}
	assert.Equal(t, 1, n)
	_, err = d.Episode(ctx, 1)
	var index *dataset.RangeError
	require.ErrorAs(t, err, &index)
	assert.Equal(t, "dataset: episode: got 1, want 0 to 0", err.Error())
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = d.Episode(ended, 0)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
}

func TestFilesAreRecognisedByWhatTheyHold(t *testing.T) {
	dir := t.TempDir()
	log, err := os.ReadFile(flight)
	require.NoError(t, err)
	path := filepath.Join(dir, "flight.npz") // a wrong name
	require.NoError(t, os.WriteFile(path, log, 0o600))
	f, err := dataset.Recognise(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, "ulog", f.Name)

	path = filepath.Join(dir, "notes.ulg")
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600))
	_, err = dataset.Open(context.Background(), path, dataset.Options{})
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "ulog (.ulg)")
	_, err = dataset.Recognise(t.Context(), dir)
	assert.ErrorContains(t, err, "is a folder")
	_, err = dataset.Open(context.Background(), os.DevNull, dataset.Options{})
	assert.ErrorContains(t, err, "which can be read once only")
	_, err = dataset.Recognise(t.Context(), filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)

	// A cut log is an error or has a gap, as asked; either way it is told when the episode is read.
	path = filepath.Join(dir, "cut.ulg")
	require.NoError(t, os.WriteFile(path, log[:len(log)-3], 0o600))
	d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
	require.NoError(t, err)
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	d, err = dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err)
	assert.Positive(t, e.Notes.LostBytes())
}

// broken is a dataset whose third episode cannot be read.
type broken struct{ dataset.Dataset }

var errDisk = errors.New("disk")

func (broken) Len() int { return 4 }
func (broken) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if i == 2 {
		return nil, errDisk
	}
	return &dataset.Episode{Name: string(rune('a' + i))}, nil
}

func TestOneEpisodeThatCannotBeReadCostsItself(t *testing.T) {
	var names []string
	var failed error
	for e, err := range dataset.Episodes(context.Background(), broken{}) {
		if err != nil {
			failed = err
			continue
		}
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"a", "b", "d"}, names)
	assert.ErrorIs(t, failed, errDisk)
	var at *dataset.EpisodeError
	require.ErrorAs(t, failed, &at)
	assert.Equal(t, 2, at.Episode)
	for range dataset.Episodes(context.Background(), broken{}) {
		break // asks for no more
	}
}

func TestStreamsSayWhatDoesNotGoTogether(t *testing.T) {
	good, err := dataset.NewStream("s", []int64{1, 2}, tensor.Must(tensor.New(tensor.F32, 2, 3)), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1", "2"}, good.ColumnNames())
	for arg, change := range map[string]func(s *dataset.Stream){
		"Times":   func(s *dataset.Stream) { s.Times = tensor.Must(tensor.New(tensor.I32, 2)) },
		"Values":  func(s *dataset.Stream) { s.Values = tensor.Must(tensor.New(tensor.F32, 3, 3)) },
		"Columns": func(s *dataset.Stream) { s.Columns = s.Columns[:2] },
	} {
		s := good
		change(&s)
		var bad *dataset.StreamError
		require.ErrorAs(t, s.Check(), &bad, arg)
		assert.Equal(t, arg, bad.Arg)
	}
	_, err = dataset.NewStream("s", nil, nil, nil)
	assert.Error(t, err)
}

func TestSecondsBecomeNanoseconds(t *testing.T) {
	s := dataset.Stream{Times: tensor.Must(tensor.Of([]float64{0.1, -2, 1e300, math.NaN(), math.Inf(-1)}, 5))}
	assert.Equal(t, []int64{1e8, -2e9, math.MaxInt64, 0, math.MinInt64}, s.Nanoseconds())
	s.Times = tensor.Must(tensor.Of([]float32{0.5, 3}, 2))
	assert.Equal(t, []int64{5e8, 3e9}, s.Nanoseconds())
	assert.Nil(t, (&dataset.Stream{}).Nanoseconds())
}

type frames struct{}

func (frames) ReadFrame(_ context.Context, i int) ([]byte, error) { return []byte{byte(i)}, nil }

func TestFramesAreReadWhenTheyAreAskedFor(t *testing.T) {
	e := dataset.Episode{Media: []dataset.Media{{Name: "front", Times: []int64{0, 33e6, 66e6}, Encoding: "jpeg", Source: frames{}}}}
	m := e.MediaStream("front")
	require.NotNil(t, m)
	assert.Nil(t, e.MediaStream("rear"))
	assert.Equal(t, int64(33e6), m.Stats().Median)
	b, err := m.Frame(context.Background(), 2)
	require.NoError(t, err)
	assert.Equal(t, []byte{2}, b)
	for _, i := range []int{-1, 3} {
		var index *dataset.RangeError
		_, err = m.Frame(context.Background(), i)
		assert.ErrorAs(t, err, &index)
	}
}

func TestStepsThatAreLeftKeepTheirTimes(t *testing.T) {
	all, err := dataset.StepTimes(5, 30)
	require.NoError(t, err)
	some, err := dataset.StepTimesOf([]int{0, 3, 4}, 30)
	require.NoError(t, err)
	assert.Equal(t, []int64{all[0], all[3], all[4]}, some)
	_, err = dataset.StepTimesOf([]int{1 << 40}, 30)
	assert.ErrorIs(t, err, dataset.ErrOption, "a thousand years")
}

func TestATextHoldsUntilTheNext(t *testing.T) {
	s := dataset.TextStream{Times: []int64{10, 20}, Values: []string{"a", "b"}}
	for time, want := range map[int64]string{0: "a", 10: "a", 19: "a", 20: "b", 99: "b"} {
		assert.Equal(t, want, s.At(time), time)
	}
}
