package rosbag

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// golden is what scripts/gen_rosbag_golden.py says of a bag.
type golden struct {
	Messages int
	Topics   map[string]summed // by topic and type, with a space between
	Frames   map[string]summed // of TF's children, by the names of their streams
}

type summed struct {
	Messages    int
	First, Last int64
	Sums        map[string]float64
}

// bags are those with goldens, by path: the small ones, and the shared recordings where they are.
func bags(t *testing.T) map[string]golden {
	read := func(name string, into any) {
		b := filetest.Read(t, filepath.Join("testdata", name))
		require.NoError(t, json.Unmarshal(b, into))
	}
	var small golden
	read("small.json", &small)
	list := map[string]golden{}
	for _, compression := range []string{"none", "bz2", "lz4"} {
		list["testdata/small-"+compression+".bag"] = small
	}
	shared := map[string]golden{}
	read("shared.json", &shared)
	require.Len(t, shared, 4)
	for name, g := range shared {
		if path := filepath.Join("../../../shared/data/ros1_bag", name); exists(path) {
			list[path] = g
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func episode(t *testing.T, path string, opt dataset.Options) *dataset.Episode {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	require.Equal(t, "rosbag", d.Format())
	require.Equal(t, 1, d.Len())
	return settest.Episode(t, d, 0)
}

func TestEveryMessageIsThereAsROSReadsIt(t *testing.T) {
	for path, want := range bags(t) {
		data := filetest.Read(t, path)
		list, damage := parse(t, data)
		assert.Empty(t, damage, path)
		assert.Len(t, list, want.Messages, path)
		slices.SortStableFunc(list, func(a, b told) int { return cmp.Compare(a.time, b.time) })
		for topic, w := range want.Topics {
			of := slices.DeleteFunc(slices.Clone(list), func(m told) bool { return m.topic+" "+m.kind != topic })
			require.Len(t, of, w.Messages, "%s %s", path, topic)
			assert.Equal(t, w.First, of[0].time)
			assert.Equal(t, w.Last, of[len(of)-1].time)
		}
	}
}

func TestStreamsAddUpToWhatROSReads(t *testing.T) {
	for path, want := range bags(t) {
		e := episode(t, path, dataset.Options{Strict: true})
		used := map[string]int{} // columns of each stream
		every := maps.Clone(want.Topics)
		maps.Copy(every, want.Frames)
		for topic, w := range every {
			topic, _, _ = strings.Cut(topic, " ")
			for field, sum := range w.Sums {
				name, suffix := topic, ""
				if list, rest, ok := strings.Cut(field, "[]"); ok {
					name, suffix = topic+"."+list, rest
				}
				s := e.Stream(name)
				require.NotNil(t, s, "%s %s", path, name)
				require.Equal(t, w.Messages, s.Len(), name)
				assert.Equal(t, w.First, s.Nanoseconds()[0])
				assert.Equal(t, w.Last, s.Nanoseconds()[s.Len()-1])
				got, columns := 0.0, 0
				for i, c := range s.ColumnNames() {
					if c == field || name != topic && strings.HasSuffix(c, suffix) {
						got += total(t, s.Values, i)
						columns++
					}
				}
				assert.Positive(t, columns, "%s %s %s of %v", path, name, field, s.ColumnNames())
				// Some thousand numbers are added in another order.
				assert.InDelta(t, sum, got, 1e-10*max(1, math.Abs(sum))+1e-9, "%s %s %s", path, name, field)
				used[name] += columns
			}
		}
		for i := range e.Streams {
			s := &e.Streams[i]
			assert.Equal(t, len(s.Columns), used[s.Name], "%s %s", path, s.Name)
		}
	}
}

// total adds up a column.
func total(t *testing.T, values *tensor.Tensor, column int) (sum float64) {
	if f32, err := tensor.Data[float32](values); err == nil {
		for i := column; i < len(f32); i += values.Dim(1) {
			sum += float64(f32[i])
		}
		return sum
	}
	f64, err := tensor.Data[float64](values)
	require.NoError(t, err)
	for i := column; i < len(f64); i += values.Dim(1) {
		sum += f64[i]
	}
	return sum
}

func TestCompressionsGiveTheSameStreams(t *testing.T) {
	for _, names := range [][]string{
		{"testdata/small-none.bag", "testdata/small-bz2.bag", "testdata/small-lz4.bag"},
		{"../../../shared/data/ros1_bag/example.bag", "../../../shared/data/ros1_bag/example-bz2.bag", "../../../shared/data/ros1_bag/example-lz4.bag"},
	} {
		if !exists(names[0]) {
			continue // the shared recordings; the small ones are here
		}
		want := episode(t, names[0], dataset.Options{})
		for _, name := range names[1:] {
			got := episode(t, name, dataset.Options{})
			require.Equal(t, want.Names(), got.Names())
			for i := range want.Streams {
				assert.Equal(t, want.Streams[i].Nanoseconds(), got.Streams[i].Nanoseconds(), got.Streams[i].Name)
				assert.Equal(t, want.Streams[i].Columns, got.Streams[i].Columns)
				for c := range want.Streams[i].Columns {
					assert.Equal(t, total(t, want.Streams[i].Values, c), total(t, got.Streams[i].Values, c), "%s %d", got.Streams[i].Name, c)
				}
			}
			assert.Equal(t, want.Notes, got.Notes)
		}
	}
}

func TestABagWithoutMessagesIsAnEpisodeWithoutStreams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.bag")
	filetest.Write(t, path, newBuild().close())
	e := episode(t, path, dataset.Options{Strict: true})
	assert.Empty(t, e.Streams)
	assert.Equal(t, "empty", e.Name)
	assert.Equal(t, path, e.Attributes.Source)
}

func TestTheClockCanBeThatOfTheHeaders(t *testing.T) {
	d, err := dataset.Open(context.Background(), "testdata/small-lz4.bag", dataset.Options{})
	require.NoError(t, err)
	assert.Equal(t, dataset.Info{Version: "2.0", Clock: "log", Clocks: []string{"log", "publish", "header"}}, d.Info())
	require.NoError(t, d.Close())
	e := episode(t, "testdata/small-lz4.bag", dataset.Options{Clock: "header"})
	assert.Equal(t, int64(1700000000000000007), e.Stream("/joint_states.position").Nanoseconds()[0])
	_, err = dataset.Open(context.Background(), "testdata/small-lz4.bag", dataset.Options{Clock: "wall"})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

func TestDamageIsCountedAndAnErrorOfAStrictReader(t *testing.T) {
	w, _ := two("none")
	data := w.b // which is not closed
	data = data[:len(data)-20]
	path := filepath.Join(t.TempDir(), "cut.bag")
	filetest.Write(t, path, data)
	d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorContains(t, err, path)
	e := episode(t, path, dataset.Options{})
	require.NotEmpty(t, e.Notes.Damage())
	for _, k := range e.Notes.Damage() {
		assert.Equal(t, path, k.Cause.(*dataset.FormatError).Path)
	}
}

func TestAClosedBagIsReadNoMore(t *testing.T) {
	d, err := dataset.Open(context.Background(), "testdata/small-none.bag", dataset.Options{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestOpenRefusesAnUnknownClock(t *testing.T) {
	_, err := Open(t.Context(), "testdata/small-lz4.bag", dataset.Options{Clock: "wall"})
	var e *dataset.OptionError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, dataset.OptionError{Arg: "Clock", Got: "wall", Want: "log or publish or header"}, *e)
}
