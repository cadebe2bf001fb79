package loader_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// called gives the columns of a stream names.
func called(s *dataset.Stream, names ...string) {
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].Name = names[i]
	}
}

// turned are recordings with rotated columns: in each episode another column is first. In every second one state has one more column.
func turned(t *testing.T) (plain, other made) {
	t.Helper()
	plain, other = recordings(t), recordings(t)
	for i := range plain {
		for k, names := range [][]string{{"a", "b", "c", "d", "e"}, {"x", "y", "z"}, {"left", "right"}} {
			s := &plain[i].Streams[k]
			called(s, names...)
			at := make([]int, len(names), len(names)+1)
			for d := range at {
				at[d] = (d + i) % len(at)
			}
			if k == 0 && (i == 2 || i == 6) {
				at = slices.Insert(at, 1, 0)
			}
			o := &other[i].Streams[k]
			*o = *s
			var err error
			o.Values, err = s.Values.Take(1, at)
			require.NoError(t, err)
			o.Columns = nil
			for d, from := range at {
				c := s.Columns[from]
				if len(at) > len(names) && d == 1 {
					c.Name = "more"
				}
				o.Columns = append(o.Columns, c)
			}
		}
	}
	return plain, other
}

// Columns are matched by name. If episodes have other orders or more columns, the windows equal those of uniform recordings, for every
// way to draw.
func TestColumnsAreTakenByTheirNames(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	plain, other := turned(t)
	p := shards()
	p.Streams[1].Columns = []string{"x", "y"}
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, ShardWindows: 30, MixShards: 2, Workers: 2}
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", plain, p, opt), want, 0, 1, 8)
	require.Equal(t, 402, len(want))

	packed := inMemory(t, other)
	dir := t.TempDir()
	for i := range 3 {
		_, err := store.PackShard(ctx, other, t.TempDir(), dir, i, 3, store.BuildOptions{})
		require.NoError(t, err)
	}
	files := opened(t, dir)
	for _, e := range files.Episodes {
		assert.Empty(t, e.Notes.Of(dataset.ClassLeftOut))
	}
	saved := filepath.Join(t.TempDir(), "store.safetensors")
	require.NoError(t, files.Save(saved))
	for what, l := range map[string]*loader.Loader{
		"resident": load(t, "cpu", other, p, opt), "streaming": streamed(t, "cpu", other, p, opt), "store": streamed(t, "cpu", packed, p, opt),
		"files": streamed(t, "cpu", files, p, opt), "saved": streamed(t, "cpu", opened(t, saved), p, opt), "several": mixture(t, "cpu", two(t, other), p, opt),
	} {
		got := map[int64]uint64{}
		digests(t, l, got, 0, 1, 8)
		same(t, want, got, "%s", what)
		r := l.Report()
		assert.Empty(t, r.Notes, what)
		first := func(code dataset.Code, stream string, names ...string) string {
			for _, s := range r.EpisodeNotes {
				if assert.ObjectsAreEqual(dataset.Note{Code: code, Subject: stream, Detail: dataset.Detail{Names: names}}, s.Note) {
					return s.Episode
				}
			}
			return ""
		}
		assert.Equal(t, "e2", first(dataset.CodeColumnsExtra, "state", "more"), what)
		assert.Equal(t, "e1", first(dataset.CodeColumnsReordered, "action", "right", "left"), what)
	}
}

// Columns that are asked for by name are all that an episode needs to have; one without them is left out with the reason.
func TestColumnsThatAreAskedForAreAllThatIsNeeded(t *testing.T) {
	ctx := context.Background()
	plain, other := turned(t)
	for i := range other { // the first lacks d, and the third b
		s := &other[i].Streams[0]
		if i%2 == 0 {
			at := slices.IndexFunc(s.Columns, func(c dataset.Column) bool { return c.Name == []string{"d", "b"}[i/2%2] })
			keep := slices.Delete([]int{0, 1, 2, 3, 4, 5}[:len(s.Columns)], at, at+1)
			var err error
			s.Values, err = s.Values.Take(1, keep)
			require.NoError(t, err)
			s.Columns = slices.Delete(slices.Clone(s.Columns), at, at+1)
		}
	}
	p := align.Plan{Rate: 50, Shuffle: "none", Streams: []align.Stream{{Name: "state", Columns: []string{"e", "d"}}}}
	opt := loader.Options{Batch: 8, Last: ops.LastShort, Workers: 2}
	kept := made{plain[1], plain[2], plain[3], plain[5], plain[6]}
	want := map[int64]uint64{}
	digests(t, load(t, "cpu", kept, p, opt), want, 0, 1, 8)
	packed, err := store.Build(ctx, other, store.BuildOptions{Columns: store.Columns(p.Streams)})
	require.NoError(t, err)
	resident, err := loader.New(ctx, open(t, "cpu"), packed, p, opt)
	require.NoError(t, err)
	defer resident.Close()
	for what, l := range map[string]*loader.Loader{"resident": resident, "streaming": streamed(t, "cpu", other, p, opt)} {
		got := map[int64]uint64{}
		digests(t, l, got, 0, 1, 8)
		assert.Equal(t, len(want), len(got), what)
		same(t, want, got, "%s", what)
		r := l.Report()
		require.Len(t, r.Notes, 2, what)
		assert.Equal(t, "e0", r.Notes[0].Subject)
		assert.Equal(t, `no stream that can be put on a clock, want one with samples and columns: state (`+dataset.CodeColumnsRefused.String()+`: 25, got column "d", want one of a, b, c and 1 more, or a range within 0:4)`, r.Notes[0].Cause.Error(), what)
		assert.Equal(t, dataset.CodeEpisodeRefused, r.Notes[0].Code)
	}
	_, err = store.Build(ctx, other, store.BuildOptions{Streams: []string{"state"}, Columns: map[string][]string{"state": {"f"}}})
	var bad *align.StreamError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, `column "f"`, bad.Got)
	assert.Equal(t, map[string][]string{"a": {"x", "y"}}, store.Columns([]align.Stream{{Name: "a", Columns: []string{"x"}}, {Name: "b"}, {Name: "c", From: "a", Columns: []string{"y"}}, {Name: "d", From: "b", Columns: []string{"z"}}}))
}

// Quaternions with columns x, y, z and w keep these numbers in every order.
func TestQuaternionsByNameHaveAnyOrder(t *testing.T) {
	var m made
	for i, order := range []string{"xyzw", "wxyz"} {
		var columns []dataset.Column
		var values []float32
		for _, c := range order {
			columns = append(columns, dataset.Column{Name: "q." + string(c), Rotation: []dataset.Rotation{dataset.RotationXYZW, dataset.RotationWXYZ}[i]})
			values = append(values, float32(c-'w'))
		}
		s, err := dataset.NewStream("q", []int64{0, 1e9}, tensor.Must(tensor.Of(append(values, values...), 2, 4)), columns)
		require.NoError(t, err)
		m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{s}})
	}
	packed := inMemory(t, m)
	assert.Equal(t, []float32{1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}, data[float32](t, packed.Stream("q").Values))
}

// The first episode decides whether a column is an integer, unless the plan sets its kind.
func TestAColumnHasTheKindOfTheFirstEpisode(t *testing.T) {
	ctx := context.Background()
	for _, first := range []bool{true, false} {
		var m made
		for i := range 2 {
			values := tensor.Must(tensor.Of([]float32{0, 1, 0, 1}, 4, 1))
			s, err := dataset.NewStream("grip", []int64{0, 1e9, 2e9, 3e9}, values, []dataset.Column{{Name: "width", Integer: (i == 0) == first}})
			require.NoError(t, err)
			m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{s}})
		}
		for _, kind := range []string{"", "linear"} {
			p := align.Plan{Rate: 4, Shuffle: "none", Streams: []align.Stream{{Name: "grip", Sampling: align.Sampling{Kind: kind}}}}
			opt := loader.Options{Batch: 26, Last: ops.LastShort}
			for what, l := range map[string]*loader.Loader{"resident": load(t, "cpu", m, p, opt), "streaming": streamed(t, "cpu", m, p, opt)} {
				require.NoError(t, l.Next(ctx))
				got := data[float32](t, l.Batch().Streams[0].Values)
				half := float32(.5)
				if first && kind == "" {
					half = 0
				}
				assert.Equal(t, []float32{0, half, half, 0}, []float32{got[0], got[2], got[15], got[13]}, "%v %s %s", first, kind, what)
				require.Len(t, l.Report().EpisodeNotes, 1, what)
				code := dataset.CodeColumnsWhole
				if first {
					code = dataset.CodeColumnsFractional
				}
				assert.Equal(t, code, l.Report().EpisodeNotes[0].Note.Code)
			}
		}
	}
}

// Quaternions in another order are different numbers under the same names. Columns without names are matched by their count.
func TestColumnsThatAreNotTheSameLeaveAStreamOut(t *testing.T) {
	for reason, have := range map[string][]dataset.Column{
		dataset.CodeQuaternionOrder.String() + ": 2, q[0], q[1]":      {{Name: "q[0]", Rotation: dataset.RotationWXYZ}, {Name: "q[1]", Rotation: dataset.RotationWXYZ}},
		dataset.CodeColumnsLacking.String() + ": 2, got [q[0]], q[1]": nil,
	} {
		m := made{}
		for i := range 2 {
			columns := []dataset.Column{{Name: "q[0]", Rotation: dataset.RotationXYZW}, {Name: "q[1]", Rotation: dataset.RotationXYZW}}
			if i == 1 && have != nil {
				columns = have
			} else if i == 1 {
				columns = columns[:1]
			}
			s, err := dataset.NewStream("q", []int64{0, 1e9}, tensor.Must(tensor.Of(make([]float32, 2*len(columns)), 2, len(columns))), columns)
			require.NoError(t, err)
			m = append(m, &dataset.Episode{Name: fmt.Sprint("e", i), Streams: []dataset.Stream{s}})
		}
		packed := inMemory(t, m)
		assert.Empty(t, packed.Episodes[0].Notes)
		assert.Equal(t, reason, packed.Episodes[1].Notes.LeftOut("q").Reason())
	}
}
