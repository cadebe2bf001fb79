package stats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// robots is a dataset of episodes that are made: joints of float32, an action of float64, and from episode 5 on a gripper.
type robots struct {
	episodes int
	broken   int                  // an episode that cannot be read, if it is not 0
	changed  func(int) (more int) // rows more than there were
}

func (d *robots) Name() string   { return "robots" }
func (d *robots) Format() string { return "made" }
func (d *robots) Info() dataset.Info {
	return dataset.Info{Splits: []dataset.Split{{Name: "train", Episodes: []int{0, 2, 4}}}}
}
func (d *robots) Len() int     { return d.episodes }
func (d *robots) Close() error { return nil }

func (d *robots) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if d.broken != 0 && i == d.broken {
		return nil, errors.New("a broken file")
	}
	r := rand.New(rand.NewPCG(uint64(i), 9))
	n := 10 + 7*i
	if d.changed != nil {
		n += d.changed(i)
	}
	joints, action := make([]float32, 3*n), make([]float64, 2*n)
	for k := range joints {
		joints[k] = float32(r.NormFloat64() * float64(1+k%3))
	}
	for k := range action {
		action[k] = r.Float64()
	}
	joints[0] = float32(math.NaN())
	times := make([]int64, n)
	for k := range times {
		times[k] = int64(k) * 20e6
	}
	e := &dataset.Episode{Name: fmt.Sprint("episode ", i), Attributes: dataset.Attributes{Task: []string{"push", "pull"}[i%2]}}
	if i%3 == 1 {
		e.Notes.Add(dataset.Note{Code: dataset.CodeLogClock, Subject: "action"})
	}
	if i >= 2 {
		e.Notes.Add(dataset.Note{Code: dataset.CodeNoSamples, Subject: "lidar", Count: i})
	}
	add := func(name string, values *tensor.Tensor, err error) error {
		if err != nil {
			return err
		}
		s, err := dataset.NewStream(name, times, values, nil)
		e.Streams = append(e.Streams, s)
		return err
	}
	list, err := tensor.Of(joints, n, 3)
	err = add("observation.state", list, err)
	if err == nil {
		list, err = tensor.Of(action, n, 2)
		err = add("action", list, err)
	}
	if err == nil && i >= 5 {
		list, err = tensor.Of(make([]tensor.Float16, n), n, 1)
		err = add("gripper", list, err)
	}
	return e, err
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func TestStatisticsAreThoseOfAllSamples(t *testing.T) {
	d := &robots{episodes: 8}
	r, err := Compute(t.Context(), d, Options{})
	require.NoError(t, err)
	require.True(t, r.Known)
	var joints []float64
	for i := range d.Len() {
		e, err := d.Episode(t.Context(), i)
		require.NoError(t, err)
		list, err := tensor.Floats(e.Streams[0].Values)
		require.NoError(t, err)
		for k := 1; k < len(list); k += 3 {
			joints = append(joints, list[k])
		}
	}
	slices.Sort(joints)
	c := r.Stream("observation.state").Columns[1]
	n := len(joints)
	assert.Equal(t, int64(n), c.Count)
	assert.Equal(t, joints[0], c.Min)
	assert.Equal(t, joints[n-1], c.Max)
	at := .9 * float64(n-1)
	k := int(at)
	assert.InDelta(t, joints[k]+(joints[k+1]-joints[k])*(at-float64(k)), c.Quantiles[3], 1e-15)
	assert.Equal(t, int64(8), r.Stream("observation.state").Columns[0].NotFinite)
	assert.Equal(t, 3, r.Stream("gripper").Episodes)
	assert.Equal(t, []string{"observation.state", "action", "gripper"}, r.names())
}

// far is a dataset of one episode whose extremes are further apart than float32 reaches.
type far struct{ robots }

func (f *far) Episode(context.Context, int) (*dataset.Episode, error) {
	s, err := dataset.NewStream("x", []int64{0, 1, 2}, tensor.Must(tensor.Of([]float32{-3e38, 0, 3e38}, 3, 1)), nil)
	return &dataset.Episode{Name: "far", Streams: []dataset.Stream{s}}, err
}

func TestBinsThatHaveNoWidthAreNone(t *testing.T) {
	d := &far{robots{episodes: 1}}
	r, err := Compute(t.Context(), d, Options{Binned: true})
	require.NoError(t, err)
	assert.Nil(t, r.Stream("x").Columns[0].Binned)
	assert.Equal(t, float64(float32(3e38)), r.Stream("x").Columns[0].Max)
	_ = text(t, r)
}

func TestNoNumberOfWorkersOrShardsChangesABit(t *testing.T) {
	want, err := Compute(t.Context(), &robots{episodes: 9}, Options{Workers: 1, Binned: true})
	require.NoError(t, err)
	for _, workers := range []int{2, 3, 8} {
		got, err := Compute(t.Context(), &robots{episodes: 9}, Options{Workers: workers, Binned: true})
		require.NoError(t, err)
		assert.Equal(t, text(t, want), text(t, got))
	}
	clock, lidar := dataset.Note{Code: dataset.CodeLogClock, Subject: "action"}, dataset.Note{Code: dataset.CodeNoSamples, Subject: "lidar", Count: 35}
	assert.Equal(t, []dataset.EpisodeNote{{Note: clock, Episode: "episode 1", Number: 1, Episodes: 3},
		{Note: lidar, Episode: "episode 2", Number: 2, Episodes: 7}}, want.Notes.List)
	for _, shards := range []int{1, 2, 4, 11} {
		got := inShards(t, &robots{episodes: 9}, shards).Report()
		assert.Equal(t, text(t, want), text(t, got), "%d shards", shards)
		assert.Equal(t, want.Notes.List, got.Notes.List, "%d shards", shards)
	}
}

// Several goroutines add the rows of a long episode, and the statistics are those of one.
func TestWorkersShareTheRowsOfAnEpisode(t *testing.T) {
	shared(t, func(v float64) float64 { return v })
	shared(t, func(v float64) float32 { return float32(v) })
	shared(t, tensor.F16FromF64)
	shared(t, tensor.BF16FromF64)
}

func shared[T tensor.Element](t *testing.T, from func(float64) T) {
	const rows, width = 2*rowsAtOnce + 100, 2
	data := make([]T, rows*width)
	for i := range data {
		data[i] = from(math.Sin(float64(i)) * float64(i%1000))
	}
	values := tensor.Must(tensor.Of(data, rows, width))
	var columns [2][]Column
	for i, workers := range []int{1, 4} {
		a, err := NewAccumulator(width, values.DType(), []float64{.01, .5})
		require.NoError(t, err)
		for more := true; more; {
			require.NoError(t, a.add(values, workers))
			more, err = a.Next()
			require.NoError(t, err)
		}
		columns[i] = a.Columns()
	}
	assert.EqualValues(t, rows, columns[0][0].Count, values.DType())
	assert.Equal(t, columns[0], columns[1], values.DType())
}

// copied writes a state to a file and reads it.
func copied(t *testing.T, s *State) *State {
	t.Helper()
	var b bytes.Buffer
	_, err := s.WriteTo(&b)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "state")
	filetest.Write(t, path, b.Bytes())
	got, err := Read(path)
	require.NoError(t, err)
	return got
}

// inShards makes each pass in shards, by way of files.
func inShards(t *testing.T, d dataset.Dataset, shards int) *State {
	t.Helper()
	begun, err := Begin(d, Options{})
	require.NoError(t, err)
	merged := copied(t, begun)
	for more := true; more; {
		var all *State
		for i := range shards {
			one := copied(t, merged)
			require.NoError(t, one.Pass(t.Context(), d, Options{Shard: i, Shards: shards, Binned: true}))
			one = copied(t, one)
			if all == nil {
				all = one
				continue
			}
			require.NoError(t, all.Merge(one))
		}
		if shards > 1 {
			assert.ErrorIs(t, all.Merge(all), ErrMismatch, "the same shards twice")
		}
		more, err = all.Next()
		require.NoError(t, err)
		merged = copied(t, all)
	}
	return merged
}

func TestAStateKnowsWhatItLacks(t *testing.T) {
	d := &robots{episodes: 4}
	s, err := Begin(d, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Pass(t.Context(), d, Options{Shard: 1, Shards: 2}))
	_, err = s.Next()
	assert.ErrorIs(t, err, ErrMismatch, "a shard is missing")
	assert.ErrorIs(t, s.Pass(t.Context(), d, Options{Shard: 1, Shards: 2}), ErrMismatch, "the shard was added")
	assert.ErrorIs(t, s.Pass(t.Context(), d, Options{Shard: 0, Shards: 3}), ErrMismatch, "other shards")
	assert.ErrorIs(t, s.Pass(t.Context(), d, Options{Shard: 0, Shards: 2, Streams: []string{"action"}}), ErrMismatch, "other streams")
	assert.ErrorIs(t, s.Pass(t.Context(), &robots{episodes: 5}, Options{Shard: 0, Shards: 2}), ErrMismatch, "another dataset")
	assert.False(t, s.Report().Known)
	assert.Nil(t, s.Report().Streams[0].Columns[0].Quantiles)
	require.NoError(t, s.Pass(t.Context(), d, Options{Shard: 0, Shards: 2}))
	more, err := s.Next()
	require.NoError(t, err)
	require.True(t, more)
	d.changed = func(i int) int { return i / 3 }
	require.NoError(t, s.Pass(t.Context(), d, Options{Shard: 0, Shards: 2}))
	require.NoError(t, s.Pass(t.Context(), d, Options{Shard: 1, Shards: 2}))
	_, err = s.Next()
	assert.ErrorIs(t, err, ErrChanged)
}

func TestOneBrokenEpisodeCostsItself(t *testing.T) {
	r, err := Compute(t.Context(), &robots{episodes: 6, broken: 3}, Options{})
	require.NoError(t, err)
	assert.Equal(t, []Skipped{{3, "3", "a broken file"}}, r.Skipped)
	assert.Contains(t, text(t, r.Skipped), `"code":"episode-unread"`)
	assert.Equal(t, 5, r.Read)
	assert.True(t, r.Known)
	_, err = Compute(t.Context(), &robots{episodes: 6, broken: 3}, Options{Strict: true})
	var e *dataset.EpisodeError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 3, e.Episode)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Compute(ctx, &robots{episodes: 6}, Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAPlanChoosesStreamsColumnsAndEpisodes(t *testing.T) {
	plan, err := planfile.Parse("plan.yaml", []byte("version: 1\nrate: 50\nstreams:\n  - {name: state, from: observation.state, columns: [\"2\", \"0\"]}\nfilter: {split: train, task: push}\n"))
	require.NoError(t, err)
	r, err := Compute(t.Context(), &robots{episodes: 6}, Options{Plan: &plan})
	require.NoError(t, err)
	require.Len(t, r.Streams, 1)
	assert.Equal(t, "state", r.Streams[0].Name)
	assert.Equal(t, []string{"2", "0"}, []string{r.Streams[0].Columns[0].Name, r.Streams[0].Columns[1].Name})
	assert.Equal(t, [3]int{6, 3, 3}, [3]int{r.Episodes, r.Read, r.Filtered})
	assert.Equal(t, int64(10+24+38), r.Streams[0].Rows)
	_, err = Compute(t.Context(), &robots{episodes: 6}, Options{Streams: []string{"acton"}})
	var missing *dataset.StreamError
	assert.ErrorAs(t, err, &missing)
}

func TestBadOptionsAreErrors(t *testing.T) {
	for _, q := range [][]float64{{-0.1}, {1.1}, {math.NaN()}, make([]float64, 101)} {
		_, err := Compute(t.Context(), &robots{episodes: 1}, Options{Quantiles: q})
		assert.Error(t, err, "%v", q)
	}
	_, err := Compute(t.Context(), &robots{episodes: 1}, Options{Shard: 2, Shards: 2})
	assert.Error(t, err)
	_, err = NewAccumulator(2, tensor.I64, nil)
	assert.Error(t, err)
	a, err := NewAccumulator(2, tensor.F32, nil)
	require.NoError(t, err)
	wrong, err := tensor.Of(make([]float64, 4), 2, 2)
	require.NoError(t, err)
	assert.Error(t, a.Add(wrong))
}

func TestOnePassIsEnoughWithoutQuantiles(t *testing.T) {
	passes := 0
	r, err := Compute(t.Context(), &robots{episodes: 3}, Options{Quantiles: []float64{}, Progress: func(pass, _, _ int) { passes = pass }})
	require.NoError(t, err)
	assert.True(t, r.Known)
	assert.Equal(t, 1, passes)
	assert.Empty(t, r.Streams[0].Columns[0].Quantiles)
}

func TestBrokenFilesOfStatesAreErrors(t *testing.T) {
	d := &robots{episodes: 3}
	s, err := Begin(d, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Pass(t.Context(), d, Options{}))
	var b bytes.Buffer
	_, err = s.WriteTo(&b)
	require.NoError(t, err)
	whole := b.Bytes()
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/200 {
		_, err := parse(whole[:cut])
		require.ErrorIs(t, err, ErrState)
		c := slices.Clone(whole)
		c[cut] ^= 1
		_, err = parse(c)
		require.ErrorIs(t, err, ErrState)
	}
	for _, have := range [][]int{{0, 0}, {1}, {-1}, {1, 0}} { // whole by its checksum, and of shards that cannot be
		s.Have = have
		b.Reset()
		_, err := s.WriteTo(&b)
		require.NoError(t, err)
		_, err = parse(b.Bytes())
		require.ErrorIs(t, err, ErrState, have)
	}
}
