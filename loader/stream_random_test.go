package loader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// odd makes recordings that are not alike: of one sample and of many, without a stream, with other columns, with timestamps out of order or far off, doubles.
func odd(t *testing.T, r *rand.Rand) made {
	t.Helper()
	var m made
	for i := range 1 + r.IntN(12) {
		e := &dataset.Episode{Name: fmt.Sprint("e", i)}
		for k, name := range []string{"a", "b", "c"} {
			if r.IntN(8) == 0 {
				continue
			}
			s := stream(t, r, name, i, []float64{20, 20, 70}[k], []float64{0, 0.3, 1, 2.5}[r.IntN(4)], 2+k)
			times := slices.Clone(data[int64](t, s.Times))
			switch n := len(times); {
			case r.IntN(10) == 0 && n > 3:
				times[1], times[2] = times[2], times[1]
			case r.IntN(10) == 0 && n > 3:
				times[n-1] += 1e15
			case k == 1 && len(e.Streams) > 0 && e.Streams[0].Len() == n:
				copy(times, data[int64](t, e.Streams[0].Times))
			}
			values := s.Values
			if r.IntN(6) == 0 {
				values = tensor.Must(tensor.Of(mustFloats(t, values), n(values), values.Dim(1)))
			}
			columns := s.Columns
			if k > 0 && r.IntN(10) == 0 {
				columns = slices.Clone(columns)
				columns[0].Name = "other"
			}
			s, err := dataset.NewStream(name, times, values, columns)
			require.NoError(t, err)
			e.Streams = append(e.Streams, s)
		}
		for c, name := range []string{"front", "wrist"} {
			if len(e.Streams) == 0 || r.IntN(4) == 0 {
				continue
			}
			list := data[int64](t, e.Streams[0].Times)
			var times []int64
			for at, k := list[0]-3e7, r.IntN(40); k >= 0; k-- {
				times = append(times, at)
				at += int64(r.IntN(6)) * 1e7 // some at the same time
			}
			if r.IntN(10) == 0 && len(times) > 3 {
				times[1], times[3] = times[3], times[1]
			}
			e.Media = append(e.Media, dataset.Media{Name: name, Times: times, Encoding: "png", Width: 8, Height: 6, Source: pictures{i, 100 * c, 30}})
		}
		m = append(m, e)
		if r.IntN(9) == 0 {
			m[i] = nil
		}
	}
	return m
}

func n(t *tensor.Tensor) int { return t.Dim(0) }

func mustFloats(t *testing.T, v *tensor.Tensor) []float64 {
	list, err := tensor.Floats(v)
	require.NoError(t, err)
	return list
}

// With any recordings, plans and options, a streaming loader draws the windows of a resident store, or both fail.
func TestStreamingIsResidentWhateverTheRecordings(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(11, 12))
	drawn, withFrames := 0, 0
	cases := thorough.Of(30, 150)
	if thorough.Raced {
		cases = 30
	}
	for k := range cases {
		m := odd(t, r)
		p := align.Plan{Rate: []float64{10, 50, 33.3}[r.IntN(3)], Shuffle: []string{"shards", "shards", "none"}[r.IntN(3)], Unordered: []string{"", "sort"}[r.IntN(2)]}
		if r.IntN(2) == 0 {
			p.Streams = []align.Stream{{Name: "b"}, {Name: "x", From: "c", Columns: []string{"1:3"}}}
			p.Streams[r.IntN(2)].Normalise = []string{"", "min-max", "gr00t"}[r.IntN(3)]
		}
		opt := loader.Options{Batch: 1 + r.IntN(6), Seed: r.Uint64(), Ranks: 1 + r.IntN(3), Last: ops.LastBatch(r.IntN(2)), ShardWindows: 1 + r.IntN(40), MixShards: 1 + r.IntN(5), Workers: 1 + r.IntN(5)}
		opt.Rank = r.IntN(opt.Ranks)
		build := store.BuildOptions{}
		if opt.Cameras = twoCameras[:r.IntN(3)]; len(opt.Cameras) > 0 {
			opt.Age = r.IntN(2) == 0
			build.Media = []string{store.AllMedia}
			p.Windows = map[string]align.Window{"front": {From: -40 * time.Millisecond, To: 150 * time.Millisecond}}
			if len(p.Streams) > 0 {
				p.Streams = append(p.Streams, align.Stream{Name: "front"})
			}
		}
		what := fmt.Sprintf("case %d: %+v, %+v", k, p, opt)
		store, err := store.Build(ctx, m, build)
		if err != nil {
			require.ErrorContains(t, err, "no episode has", what)
			continue
		}
		device := open(t, "cpu")
		resident, failed := loader.New(ctx, device, store, p, opt)
		for _, d := range []dataset.Dataset{store, m} {
			l, err := loader.NewStreaming(ctx, device, d, p, opt)
			if failed != nil {
				require.Error(t, err, what)
				continue
			}
			if err != nil {
				require.ErrorContains(t, err, "in a batch of all ranks", what)
				continue
			}
			want, got := resident.Report(), l.Report()
			require.Equal(t, want.Windows, got.Windows, what)
			if d == dataset.Dataset(store) { // its samples are not counted
				for i := range got.Streams {
					require.Nil(t, got.Streams[i].NotFinite, what)
					got.Streams[i].NotFinite = want.Streams[i].NotFinite
				}
			}
			require.Equal(t, want.Streams, got.Streams, what)
			require.NoError(t, resident.Resume(ctx, loader.State{Version: 1, Seed: opt.Seed, Windows: want.Windows, ShardWindows: want.ShardWindows, MixShards: want.MixShards}), what)
			for range min(2*want.Batches+1, 60) {
				if r.IntN(8) == 0 {
					at, err := resident.State(ctx)
					require.NoError(t, err)
					require.NoError(t, l.Resume(ctx, at))
				}
				require.NoError(t, resident.Next(ctx))
				require.NoError(t, l.Next(ctx))
				one, err := resident.Batch().Host(ctx)
				require.NoError(t, err)
				other, err := l.Batch().Host(ctx)
				require.NoError(t, err)
				require.Equal(t, data[int64](t, one.Ticks), data[int64](t, other.Ticks), what)
				for row := range opt.Batch {
					a, err := one.Digest(row)
					require.NoError(t, err)
					b, err := other.Digest(row)
					require.NoError(t, err)
					require.Equal(t, a, b, what)
				}
				drawn++
				if len(opt.Cameras) > 0 {
					withFrames++
				}
			}
			require.NoError(t, l.Close())
		}
		if failed == nil {
			require.NoError(t, resident.Close())
		}
	}
	require.Greater(t, drawn, 1000)
	require.Greater(t, withFrames, 500)
}
