package align_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// robot is a recording of ten streams of 10 to 250 Hz, and what a Live is told of them.
func robot(t testing.TB, seconds float64) (*dataset.Episode, []align.LiveStream, align.Plan) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	e := &dataset.Episode{}
	var live []align.LiveStream
	plan := align.Plan{Rate: 50, Windows: map[string]align.Window{}}
	kinds := []string{"previous", "window-mean", "window-max", "linear", "nearest", "previous", "window-last", "pchip", "previous", "linear"}
	for i, kind := range kinds {
		hz, width := []float64{100, 250, 30, 10}[i%4], 1+i
		n := int(hz * seconds)
		times, values := make([]int64, n), make([]float32, n*width)
		for k := range times {
			times[k] = 7e18/2 + int64((float64(k)+0.4*r.Float64())/hz*1e9)
		}
		for k := range values {
			values[k] = float32(math.Sin(float64(k)))
		}
		s, err := dataset.NewStream(fmt.Sprint("s", i), times, tensor.Must(tensor.Of(values, n, width)), nil)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
		live = append(live, align.LiveStream{Name: s.Name, Columns: s.Columns, Hz: hz})
		p := align.Stream{Name: s.Name, Sampling: align.Sampling{Kind: kind, MaxGap: ops.Within(time.Second)}}
		if i == 5 {
			p.Columns = []string{"4", "1:3"}
		}
		if i == 8 {
			p.Offset = 3 * time.Millisecond
		}
		p.Window = ops.Within(100 * time.Millisecond)
		plan.Streams = append(plan.Streams, p)
		plan.Windows[s.Name] = align.Window{From: -time.Duration(1+i%3) * 200 * time.Millisecond}
		if i > 7 {
			plan.Windows[s.Name] = align.Window{At: []time.Duration{0, -500 * time.Millisecond, -13 * time.Millisecond, 0}}
		}
	}
	return e, live, plan
}

// arrival is a sample on its way.
type arrival struct {
	stream, sample int
	at             int64
}

func arrivals(e *dataset.Episode) []arrival {
	var list []arrival
	for i := range e.Streams {
		for k, at := range e.Streams[i].Nanoseconds() {
			list = append(list, arrival{i, k, at})
		}
	}
	slices.SortStableFunc(list, func(a, b arrival) int { return int(a.at - b.at) })
	return list
}

func (a arrival) values(t testing.TB, e *dataset.Episode, into []float64) []float64 {
	s := &e.Streams[a.stream]
	data, err := tensor.Data[float32](s.Values)
	require.NoError(t, err)
	into = into[:0]
	for _, v := range data[a.sample*len(s.Columns) : (a.sample+1)*len(s.Columns)] {
		into = append(into, float64(v))
	}
	return into
}

// What a policy sees at run time has the bits of what the recording gives: at once for kinds that look back, and after a delay for the others. Samples
// that come late are put where they belong.
func TestLiveWindowsAreThoseOfTheRecording(t *testing.T) {
	ctx := context.Background()
	e, streams, plan := robot(t, 4)
	const delay = 300e6
	l, err := align.NewLive(plan, streams, 200*time.Millisecond)
	require.NoError(t, err)
	defer l.Close()
	r := rand.New(rand.NewPCG(5, 6))
	list := arrivals(e)
	for i := range list { // on the way some take longer
		if r.IntN(20) == 0 && i+8 < len(list) {
			list[i], list[i+5] = list[i+5], list[i]
		}
	}
	host := cpu(t)
	next, compared := 0, 0
	var row []float64
	for anchor := list[0].at + 1e9; anchor < list[len(list)-1].at-delay; anchor += 20e6 * int64(1+r.IntN(9)) {
		for next < len(list) && list[next].at <= anchor+delay {
			a := list[next]
			row = a.values(t, e, row)
			require.NoError(t, l.Push(e.Streams[a.stream].Name, a.at, row))
			next++
		}
		parts, err := l.Window(ctx, anchor)
		require.NoError(t, err)
		for i, part := range parts {
			targets := plan.Windows[part.Name].Ticks(plan.Rate)
			for k := range targets {
				targets[k] += anchor
			}
			want, err := align.Fuse(ctx, host, e, align.Plan{Targets: tensor.Must(tensor.Of(targets, len(targets))), Snap: ops.Within(clocks.Snap), Streams: plan.Streams[i : i+1]})
			require.NoError(t, err)
			got, err := tensor.Floats(part.Values)
			require.NoError(t, err)
			made, err := tensor.Floats(want.Values)
			require.NoError(t, err)
			require.Equal(t, made, got, "%s at %d", part.Name, anchor)
			valid, err := tensor.Data[uint8](part.Valid)
			require.NoError(t, err)
			flags, err := tensor.Data[uint8](want.Valid)
			require.NoError(t, err)
			require.Equal(t, flags, valid, part.Name)
			compared++
		}
	}
	assert.Greater(t, compared, 200)
	for _, part := range l.Parts() {
		assert.Zero(t, part.Late, part.Name)
		assert.Positive(t, part.Taken)
	}
}

// Kinds that look back need no later sample: their windows are those of the recording at once, however old the last sample is.
func TestLiveWindowsThatLookBackWaitForNothing(t *testing.T) {
	ctx := context.Background()
	host := cpu(t)
	for _, kind := range []string{"previous", "window-mean", "window-min", "window-max", "window-last"} {
		for _, hz := range []float64{3, 30, 250} {
			t.Run(fmt.Sprint(kind, " of ", hz, " Hz"), func(t *testing.T) {
				n := int(4 * hz)
				times, values := make([]int64, n), make([]float32, 2*n)
				for k := range times {
					times[k] = int64(float64(k) / hz * 1e9)
				}
				for k := range values {
					values[k] = float32(math.Sin(float64(k)))
				}
				s, err := dataset.NewStream("s", times, tensor.Must(tensor.Of(values, n, 2)), nil)
				require.NoError(t, err)
				e := &dataset.Episode{Streams: []dataset.Stream{s}}
				plan := align.Plan{Rate: 50, Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{Kind: kind, Window: ops.Within(700 * time.Millisecond)}}},
					Windows: map[string]align.Window{"s": {From: -500 * time.Millisecond}}}
				l, err := align.NewLive(plan, []align.LiveStream{{Name: "s", Columns: s.Columns, Hz: hz}}, 0)
				require.NoError(t, err)
				defer l.Close()
				next := 0
				for anchor := int64(1e9); anchor < times[n-1]; anchor += 20e6 {
					for ; times[next] <= anchor; next++ {
						require.NoError(t, l.Push("s", times[next], []float64{float64(values[2*next]), float64(values[2*next+1])}))
					}
					parts, err := l.Window(ctx, anchor)
					require.NoError(t, err)
					targets := plan.Windows["s"].Ticks(plan.Rate)
					for k := range targets {
						targets[k] += anchor
					}
					want, err := align.Fuse(ctx, host, e, align.Plan{Targets: tensor.Must(tensor.Of(targets, len(targets))), Snap: ops.Within(clocks.Snap), Streams: plan.Streams})
					require.NoError(t, err)
					got, err := tensor.Floats(parts[0].Values)
					require.NoError(t, err)
					made, err := tensor.Floats(want.Values)
					require.NoError(t, err)
					require.Equal(t, made, got, "at %d", anchor)
					valid, err := tensor.Data[uint8](parts[0].Valid)
					require.NoError(t, err)
					flags, err := tensor.Data[uint8](want.Valid)
					require.NoError(t, err)
					require.Equal(t, flags, valid, "at %d", anchor)
				}
			})
		}
	}
}

func TestLiveCountsWhatIsLateAndRefusesWhatCannotBe(t *testing.T) {
	ctx := context.Background()
	_, streams, plan := robot(t, 1)
	l, err := align.NewLive(plan, streams, 100*time.Millisecond)
	require.NoError(t, err)
	parts, err := l.Window(ctx, 0)
	require.NoError(t, err, "before any sample")
	valid, err := tensor.Data[uint8](parts[0].Valid)
	require.NoError(t, err)
	assert.NotContains(t, valid, uint8(1))
	require.NoError(t, l.Push("s0", 1e9, []float64{1}))
	require.NoError(t, l.Push("s0", 0.95e9, []float64{1}))
	require.NoError(t, l.Push("s0", 0.5e9, []float64{1}))
	p := l.Parts()[0]
	assert.Equal(t, [3]int{2, 1, 1}, [3]int{p.Taken, p.Unordered, p.Late})
	var bad *align.StreamError
	assert.ErrorAs(t, l.Push("s0", 1e9, []float64{1, 2}), &bad)
	assert.ErrorAs(t, l.Push("s0", 1<<63-1, []float64{1}), &bad)
	var missing *clocks.MissingError
	assert.ErrorAs(t, l.Push("other", 1e9, []float64{1}), &missing)
	for i := 0; err == nil && i < 10000; i++ { // ten times as fast as was said
		err = l.Push("s0", 1e9+int64(i)*1e5, []float64{1})
	}
	assert.ErrorAs(t, err, &bad)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err = l.Window(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	plan.Rate = 0
	_, err = align.NewLive(plan, streams, 0)
	assert.Error(t, err)
}

func TestLiveAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	e, streams, plan := robot(t, 30)
	l, err := align.NewLive(plan, streams, 0)
	require.NoError(t, err)
	defer l.Close()
	list := arrivals(e)
	rows := make([][]float64, len(list))
	for i, a := range list {
		rows[i] = a.values(t, e, nil)
	}
	next := 0
	push := func(n int) {
		for range n {
			if err := l.Push(streams[list[next].stream].Name, list[next].at, rows[next]); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	push(2000)
	allocated := testing.AllocsPerRun(100, func() {
		push(40)
		if _, err := l.Window(ctx, list[next-1].at-1e8); err != nil {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocated)
}

// BenchmarkLive makes windows of ten streams of 10 to 40 targets.
func BenchmarkLive(b *testing.B) {
	ctx := context.Background()
	e, streams, plan := robot(b, 3)
	l, err := align.NewLive(plan, streams, 0)
	require.NoError(b, err)
	defer l.Close()
	list := arrivals(e)
	var row []float64
	for _, a := range list {
		row = a.values(b, e, row)
		require.NoError(b, l.Push(streams[a.stream].Name, a.at, row))
	}
	anchor := list[len(list)-1].at - 2e8
	for b.Loop() {
		if _, err := l.Window(ctx, anchor); err != nil {
			b.Fatal(err)
		}
	}
}
