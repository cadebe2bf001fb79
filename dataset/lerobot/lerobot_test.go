package lerobot_test

import (
	"bytes"
	"context"
	"fmt"
	img "image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

func problems(s *lerobot.Set) (list []string) {
	for _, n := range s.Info().Notes {
		list = append(list, n.String())
	}
	return list
}

// hasProblem checks the note of a code about a subject, whose cause has some parts.
func hasProblem(t testing.TB, s *lerobot.Set, want dataset.Note, cause ...string) {
	t.Helper()
	for _, n := range s.Info().Notes {
		if n.Code != want.Code || n.Subject != want.Subject {
			continue
		}
		for _, part := range cause {
			require.ErrorContains(t, n.Cause, part)
			n.Cause = nil
		}
		assert.Equal(t, want, n)
		return
	}
	assert.Fail(t, "no "+want.String(), "%v", s.Info().Notes)
}

func TestAWholeDatasetHasNoProblems(t *testing.T) {
	for name, write := range map[string]func(m *made) string{"v3": (*made).write, "v2": (*made).write2} {
		s := open(t, write(make3(t)), lerobot.Options{Strict: true})
		assert.Empty(t, problems(s), name)
		require.Equal(t, 2, s.Len())
		e := episode(t, s, 1)
		assert.Equal(t, "000001", e.Name)
		assert.Equal(t, "lift the cup", e.Attributes.Task)
		assert.Equal(t, []string{"action"}, e.Names())
		assert.Equal(t, []int64{0, 1e8}, e.Streams[0].Nanoseconds())
		assert.Equal(t, []float64{3, -1.5, 4, -2}, floats(t, &e.Streams[0]))
		assert.Empty(t, e.Notes)
	}
}

func TestZerosSurviveAndNullsAreNaNAndCounted(t *testing.T) {
	m := make3(t)
	m.list("action", 2, func(row int) any { return [][]any{{0.0, nil}, {0.0, 0.0}, nil, {1.0, 2.0}, {nil, nil}}[row] })
	m.column("next.reward", "float64", f64, nil, func(row int) any { return []any{0.0, nil, 0.5, 0.0, 0.0}[row] })
	m.column("count", "int64", i64, nil, func(row int) any { return []any{0, nil, 7, 0, 0}[row] })
	m.column("next.done", "bool", flag, nil, func(row int) any { return []any{false, true, nil, false, true}[row] })
	m.column("said", "string", utf8, nil, func(row int) any { return []any{"a", nil, "a", "a", "a"}[row] })
	s := open(t, m.write(), lerobot.Options{})
	nan := math.NaN()
	same := func(want []float64, st *dataset.Stream) {
		t.Helper()
		require.NotNil(t, st)
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(floats(t, st)), st.Name)
	}
	e := episode(t, s, 0)
	same([]float64{0, nan, 0, 0, nan, nan}, e.Stream("action"))
	same([]float64{0, nan, 0.5}, e.Stream("next.reward"))
	same([]float64{0, nan, 7}, e.Stream("count"))
	same([]float64{0, 1, nan}, e.Stream("next.done"))
	counts := map[string]int{}
	for _, l := range e.Notes {
		counts[l.Subject+" "+string(l.Code)] = l.Count
	}
	assert.Equal(t, map[string]int{
		"action " + string(dataset.CodeNullValues): 1, "action " + string(dataset.CodeNullRows): 1, "next.reward " + string(dataset.CodeNullValues): 1,
		"count " + string(dataset.CodeNullValues): 1, "next.done " + string(dataset.CodeNullValues): 1, "said " + string(dataset.CodeNullTexts): 1,
	}, counts)
	assert.Nil(t, e.Notes.Damage())
	same([]float64{1, 2, nan, nan}, episode(t, s, 1).Stream("action"))
}

func TestWholeNumbersBeyondFloatsAreCounted(t *testing.T) {
	m := make3(t)
	m.column("stamp", "int64", i64, nil, func(row int) any { return 1<<60 + row })
	m.column("small", "int8", i8, nil, func(row int) any { return -row })
	e := episode(t, open(t, m.write(), lerobot.Options{Strict: true}), 0)
	assert.Equal(t, 2, e.Stream("stamp").Inexact)
	assert.True(t, e.Stream("stamp").AllInteger())
	assert.Equal(t, "f32", e.Stream("small").Values.DType().String())
	assert.Equal(t, []float64{0, -1, -2}, floats(t, e.Stream("small")))
}

func TestNamesOfEveryForm(t *testing.T) {
	for _, c := range []struct {
		names any
		want  []string
	}{
		{nil, []string{"0", "1"}},
		{[]string{"x", "y"}, []string{"x", "y"}},
		{[][]string{{"x", "y"}}, []string{"x", "y"}},
		{map[string]any{"motors": []string{"x", "y"}}, []string{"x", "y"}},
		{map[string]any{"left": []string{"x"}, "right": []string{"x"}}, []string{"left.x", "right.x"}},
		{map[string]int{"y": 1, "x": 0}, []string{"x", "y"}},
		{[]string{"x"}, []string{"0", "1"}},
	} {
		m := make3(t)
		m.features["action"] = map[string]any{"dtype": "float32", "shape": []int{2}, "names": c.names}
		s := open(t, m.write(), lerobot.Options{})
		assert.Equal(t, c.want, episode(t, s, 0).Streams[0].ColumnNames(), "%v", c.names)
		if one, ok := c.names.([]string); ok && len(one) == 1 {
			assert.Equal(t, []string{"declaration feature action: 1, 1 names for 2 values"}, problems(s))
		}
	}
}

func TestNestedListsAreFlattened(t *testing.T) {
	m := make3(t)
	m.add(column{"keypoints", f32, 2, func(row int) any { return [][]float64{{float64(row), 1, 2}, {3, 0, 5}} }},
		map[string]any{"dtype": "float32", "shape": []int{2, 3}, "names": []string{"points", "axes"}})
	e := episode(t, open(t, m.write(), lerobot.Options{Strict: true}), 0)
	s := e.Stream("keypoints")
	assert.Equal(t, []int{3, 6}, s.Values.Shape())
	assert.Equal(t, []string{"[0][0]", "[0][1]", "[0][2]", "[1][0]", "[1][1]", "[1][2]"}, s.ColumnNames())
	assert.Equal(t, []float64{0, 1, 2, 3, 0, 5, 1, 1, 2, 3, 0, 5, 2, 1, 2, 3, 0, 5}, floats(t, s))
}

func TestScalarsInListsAreScalars(t *testing.T) {
	m := make3(t)
	for i, c := range m.columns {
		if c.deep == 0 {
			at := c.at
			m.columns[i].deep, m.columns[i].at = 1, func(row int) any { return []any{at(row)} }
		}
	}
	s := open(t, m.write(), lerobot.Options{})
	assert.Empty(t, problems(s))
	require.Equal(t, 2, s.Len())
	e := episode(t, s, 1)
	assert.Equal(t, []int64{0, 1e8}, e.Streams[0].Nanoseconds())
	assert.Nil(t, e.Notes.Damage())
}

func TestTasks(t *testing.T) {
	m := make3(t)
	m.tasks = []string{"lift", "hold", "put down"}
	m.column("task_index", "int64", i64, nil, func(row int) any { return []int{1, 1, 2, 0, 9}[row] })
	s := open(t, m.write(), lerobot.Options{})
	e := episode(t, s, 0)
	assert.Equal(t, "hold; put down", e.Attributes.Task)
	assert.Equal(t, []float64{1, 1, 2}, floats(t, e.Stream("task_index")))
	assert.True(t, e.Stream("task_index").AllInteger())
	assert.Equal(t, "lift", e.Attributes.Other["tasks"])
	e = episode(t, s, 1)
	assert.Equal(t, "lift", e.Attributes.Task)
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, dataset.CodeTaskUnlisted, e.Notes.Damage()[0].Code)
}

func TestTextsAreAttributes(t *testing.T) {
	m := make3(t)
	m.column("operator", "string", utf8, nil, func(int) any { return "Ada" })
	m.column("subtask", "string", utf8, nil, func(row int) any { return []string{"reach", "reach", "lift", "", ""}[row] })
	m.column("long", "string", utf8, nil, func(row int) any { return strings.Repeat("x", 40000+row) })
	m.add(column{"labels", utf8, 1, func(int) any { return []string{"a", "b"} }}, map[string]any{"dtype": "string", "shape": []int{2}, "names": nil})
	e := episode(t, open(t, m.write(), lerobot.Options{Strict: true}), 0)
	assert.Equal(t, "Ada", e.Attributes.Other["operator"])
	assert.Equal(t, "0: reach\n2: lift", e.Attributes.Other["subtask"])
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeLongTexts, Subject: "long", Count: 3}, {Code: dataset.CodeTextLists, Subject: "labels", Count: 3}}, e.Notes)
}

func TestClocks(t *testing.T) {
	times := func(t *testing.T, m *made, opt lerobot.Options) (*dataset.Episode, []int64) {
		e := episode(t, open(t, m.write(), opt), 0)
		return e, e.Streams[0].Nanoseconds()
	}
	t.Run("frame_index is exact", func(t *testing.T) {
		m := make3(t)
		m.info["fps"] = 30
		m.column("timestamp", "float32", f32, nil, func(row int) any { _, f := m.where(row); return float32(f) / 30 })
		e, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{0, 33333333, 66666667}, got)
		assert.Nil(t, e.Notes.Damage())
	})
	t.Run("timestamps that depart are the clock, and told", func(t *testing.T) {
		m := make3(t)
		m.column("timestamp", "float32", f32, nil, func(row int) any { return []float64{0.5, 0.75, 1, 0, 0.1}[row] })
		e, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{5e8, 75e7, 1e9}, got)
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeFrameTimeOwn, Count: 3, Row: dataset.At(0),
			Detail: dataset.Detail{Got: "0.5", Want: "0", Unit: "s", Names: []string{"frame_index", "timestamp"}}}}, e.Notes)
		e, got = times(t, m, lerobot.Options{Clock: "timestamp"})
		assert.Equal(t, []int64{5e8, 75e7, 1e9}, got)
		assert.Nil(t, e.Notes)
	})
	t.Run("timestamps that do not ascend are not used, and told", func(t *testing.T) {
		m := make3(t)
		m.column("timestamp", "float32", f32, nil, func(row int) any { return 1.7e9 })
		e, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{0, 1e8, 2e8}, got)
		require.Len(t, e.Notes, 1)
		assert.Equal(t, dataset.CodeFrameTimeUnsorted, e.Notes[0].Code)
	})
	t.Run("float32 rounds more than 0.1 ms after an hour", func(t *testing.T) {
		m := make3(t)
		m.column("frame_index", "int64", i64, nil, func(row int) any { return 100_001 + row })
		m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(100_001+row) / 10 })
		e, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{10_000_100_000_000, 10_000_200_000_000, 10_000_300_000_000}, got)
		require.Len(t, e.Notes.Damage(), 1)
		assert.Equal(t, dataset.CodeFrameIndex, e.Notes.Damage()[0].Code)
	})
	t.Run("a rate of the caller's goes first", func(t *testing.T) {
		e, got := times(t, make3(t), lerobot.Options{Rate: 5})
		assert.Equal(t, []int64{0, 2e8, 4e8}, got)
		assert.Nil(t, e.Notes.Damage())
	})
	t.Run("without frame_index rows are counted", func(t *testing.T) {
		m := make3(t)
		m.drop("frame_index")
		_, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{0, 1e8, 2e8}, got)
	})
	t.Run("without a rate and timestamps steps are counted", func(t *testing.T) {
		m := make3(t)
		m.info["fps"] = "fast"
		m.drop("timestamp")
		e, got := times(t, m, lerobot.Options{})
		assert.Equal(t, []int64{0, 1e9, 2e9}, got)
		assert.True(t, e.Steps)
	})
	_, err := lerobot.Open(context.Background(), make3(t).write(), lerobot.Options{Clock: "wall"})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

func pictures(t *testing.T, n int) (list [][]byte) {
	for i := range n {
		m := img.NewGray(img.Rect(0, 0, 4, 3))
		m.Pix[0] = byte(i + 1)
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		list = append(list, b.Bytes())
	}
	return list
}

func TestImagesAreMedia(t *testing.T) {
	list := pictures(t, 5)
	m := make3(t)
	m.add(column{"observation.images.top", nil, 0, func(row int) any {
		return []any{image{bytes: list[0]}, nil, image{path: "images/frame_2.png"}, image{path: "../../etc/passwd"}, image{bytes: list[4],
			path: "frame_4.png"}}[row]
	}}, map[string]any{"dtype": "image", "shape": []int{3, 4, 3}, "names": []string{"height", "width", "channels"}})
	m.groups = []int{5}
	dir := m.write()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "images"), 0o755))
	filetest.Write(t, filepath.Join(dir, "images/frame_2.png"), list[2])
	s := open(t, dir, lerobot.Options{})
	e := episode(t, s, 0)
	require.Len(t, e.Media, 1)
	media := &e.Media[0]
	assert.Equal(t, []int64{0, 2e8}, media.Times)
	assert.Equal(t, "png", media.Encoding)
	assert.Equal(t, []int{3, 4}, []int{media.Height, media.Width})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmptyImages, Subject: media.Name, Count: 1}}, e.Notes)
	for i, want := range [][]byte{list[0], list[2]} {
		got, err := media.Frame(context.Background(), i)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	e = episode(t, s, 1)
	left := e.Notes.Of(dataset.ClassLeftOut)
	require.Len(t, left, 1) // the first image is none
	assert.Contains(t, left[0].Reason(), "../../etc/passwd")
	require.NoError(t, s.Close())
	_, err := media.Frame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = s.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestManyImagesInAPageAreReadInOrderInTimeThatGrowsWithThem(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const n = 200
	picture := append(pictures(t, 1)[0], make([]byte, 200_000)...)
	m := make3(t)
	m.lengths = []int{n}
	m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row) / 10 })
	m.add(column{"top", nil, 0, func(row int) any {
		b := bytes.Clone(picture)
		b[len(b)-2], b[len(b)-1] = byte(row>>8), byte(row)
		return image{bytes: b}
	}}, map[string]any{"dtype": "image", "shape": []int{3, 4, 3}, "names": nil})
	m.options = []parquet.WriterOption{parquet.PageBufferSize(1 << 28), parquet.Compression(&parquet.Uncompressed)}
	e := episode(t, open(t, m.write(), lerobot.Options{}), 0)
	thorough.InProportion(t, n, func(n int) func() {
		return func() {
			for i := range n {
				b, err := e.Media[0].Frame(context.Background(), i)
				require.NoError(t, err)
				require.Equal(t, []byte{byte(i >> 8), byte(i)}, b[len(b)-2:])
			}
		}
	})
}

// However rows are cut into groups and pages, and wherever an episode begins in them.
func TestRowGroupsAndPagesMakeNoDifference(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	lengths := []int{300, 1, 500, 199}
	for _, groups := range [][]int{nil, {1000}, {100, 400, 1, 499}} {
		for _, pages := range []int{64, 1000, 1 << 20} {
			for version := 1; version <= 2; version++ {
				codecs := []compress.Codec{&parquet.Snappy}
				if pages == 1000 && groups == nil {
					codecs = append(codecs, &parquet.Uncompressed, &parquet.Gzip, &parquet.Zstd)
				}
				for _, codec := range codecs {
					m := make3(t)
					m.lengths, m.groups = lengths, groups
					m.info["splits"] = map[string]string{"train": "0:4"}
					m.options = []parquet.WriterOption{parquet.PageBufferSize(pages), parquet.DataPageVersion(version), parquet.Compression(codec)}
					s := open(t, m.write(), lerobot.Options{Strict: true})
					require.Equal(t, len(lengths), s.Len())
					for _, i := range []int{2, 0, 3, 1, 2} { // out of order too
						first := 0
						for _, n := range lengths[:i] {
							first += n
						}
						var want []float64
						for row := first; row < first+lengths[i]; row++ {
							want = append(want, float64(row), -float64(row)/2)
						}
						require.Equal(t, want, floats(t, &episode(t, s, i).Streams[0]))
					}
				}
			}
		}
	}
}

func TestRowsOfVeryDifferentLengthsAreLeftOut(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := make3(t)
	m.lengths = []int{40}
	m.add(column{"wide", f32, 1, func(row int) any { return make([]float32, max(1, (1-row)<<20)) }}, map[string]any{"dtype": "float32", "shape": []int{1 << 20}, "names": nil})
	e := episode(t, open(t, m.write(), lerobot.Options{}), 0)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeRaggedRows, Subject: "wide", Count: 40, Detail: dataset.Detail{Got: "1048576"}}}, e.Notes.Of(dataset.ClassLeftOut))
}
