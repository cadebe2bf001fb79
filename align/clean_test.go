package align_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/test/streamtest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// stream makes one of a column with the samples' numbers.
func numbered(t *testing.T, name string, times *tensor.Tensor) dataset.Stream {
	t.Helper()
	v := make([]float32, times.Len())
	for i := range v {
		v[i] = float32(i)
	}
	return dataset.Stream{Name: name, Times: times, Values: tensor.Must(tensor.Of(v, len(v), 1)), Columns: []dataset.Column{{Name: "v"}}}
}

func every(n int, at func(i int) int64) *tensor.Tensor {
	t := make([]int64, n)
	for i := range t {
		t[i] = at(i)
	}
	return tensor.Must(tensor.Of(t, n))
}

func episode(list ...dataset.Stream) *dataset.Episode { return &dataset.Episode{Streams: list} }

const ms = int64(time.Millisecond)

// One step back costs its stream, which is listed with the reason, and not the recording; on request it is sorted, or an error.
func TestDisorderCostsItsStream(t *testing.T) {
	good := numbered(t, "good", every(50, func(i int) int64 { return int64(i) * 100 * ms }))
	back := numbered(t, "back", every(50, func(i int) int64 {
		if i == 7 {
			return 550 * ms
		}
		return int64(i) * 100 * ms
	}))
	ctx, plan := context.Background(), align.Plan{Rate: 10}
	got, err := align.Resample(ctx, cpu(t), episode(good, back), plan)
	require.NoError(t, err)
	require.Len(t, got.Streams, 1)
	assert.Equal(t, "good", got.Streams[0].Name)
	require.Len(t, got.Report.Notes, 1)
	assert.Equal(t, "back", got.Report.Notes[0].Subject)
	assert.Contains(t, got.Report.Notes[0].Reason(), "time goes backwards at sample 7")

	plan.Unordered = "sort"
	got, err = align.Resample(ctx, cpu(t), episode(good, back), plan)
	require.NoError(t, err)
	require.Len(t, got.Streams, 2)
	assert.Equal(t, 1, got.Report.Streams[1].BackSteps)
	assert.Equal(t, 50, got.Report.Streams[1].Samples)
	v := tensor.Must(got.Streams[1].Values.Contiguous())
	list, err := tensor.Data[float32](v)
	require.NoError(t, err)
	assert.Equal(t, []float32{5, 6, 8}, []float32{list[5], list[6], list[8]})
	assert.Equal(t, float32(7), list[7]-0, "between sample 6 at 0.6 s and 8 at 0.8 s: 7 moved to 0.55 s")

	plan.Unordered = "error"
	_, err = align.Resample(ctx, cpu(t), episode(good, back), plan)
	var stream *align.StreamError
	require.ErrorAs(t, err, &stream)
	assert.Equal(t, "back", stream.Stream)
	require.ErrorIs(t, err, ops.ErrUnsorted)

	// Where nothing else remains it is the error.
	plan.Unordered = ""
	_, err = align.Resample(ctx, cpu(t), episode(back), plan)
	require.ErrorIs(t, err, ops.ErrUnsorted)

	// A fused row keeps the place of a stream that was named, filled.
	plan.Streams = []align.Stream{{Name: "back"}, {Name: "good"}}
	fused, err := align.Fuse(ctx, cpu(t), episode(good, back), plan)
	require.NoError(t, err)
	assert.Equal(t, []int{50, 2}, fused.Values.Shape())
	assert.Zero(t, fused.Report.Streams[0].Valid)
	assert.Equal(t, 50, fused.Report.Streams[1].Valid)
	assert.Len(t, fused.Report.Notes.Of(dataset.ClassLeftOut), 1)

	// One of doubles leaves a row of doubles behind.
	wide := back
	wide.Values = tensor.Must(tensor.New(tensor.F64, 50, 1))
	fused, err = align.Fuse(ctx, cpu(t), episode(good, wide), plan)
	require.NoError(t, err)
	assert.Equal(t, tensor.F64, fused.Values.DType(), "as with any other episode of its dataset")

	plan.Unordered = "maybe"
	_, err = align.Fuse(ctx, cpu(t), episode(good, back), plan)
	assert.ErrorContains(t, err, `unordered: got "maybe", want drop, sort, error`)
}

// A timestamp that is no time costs its stream too, and its sample where the others are sorted.
func TestTimestampsThatAreNoTimes(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e10} {
		times := make([]float64, 20)
		for i := range times {
			times[i] = float64(i) / 10
		}
		good := numbered(t, "good", tensor.Must(tensor.Of(append([]float64{}, times...), 20)))
		times[3] = bad
		wrong := numbered(t, "wrong", tensor.Must(tensor.Of(times, 20)))
		got, err := align.Resample(context.Background(), cpu(t), episode(good, wrong), align.Plan{Rate: 10})
		require.NoError(t, err)
		assert.Len(t, got.Streams, 1)
		assert.Contains(t, got.Report.Notes[0].Reason(), "at sample 3")
		got, err = align.Resample(context.Background(), cpu(t), episode(good, wrong), align.Plan{Rate: 10, Unordered: "sort"})
		require.NoError(t, err)
		assert.Equal(t, [3]int{0, 1, 19}, [3]int{got.Report.Streams[1].BackSteps, got.Report.Streams[1].Timeless, got.Report.Streams[1].Samples})
	}
}

// A zero from before the clock was set, or a wild number, is named and does not make the clock longer.
func TestAStrayTimestampIsNamedAndNotObeyed(t *testing.T) {
	const start = 1_700_000_000_000
	at := func(i int) int64 { return (start + int64(i)*100) * ms }
	for name, wrong := range map[string]func(i int) int64{
		"one zero":    func(i int) int64 { return map[bool]int64{true: 0, false: at(i)}[i == 0] },
		"many zeros":  func(i int) int64 { return map[bool]int64{true: 0, false: at(i)}[i < 9] },
		"boot time":   func(i int) int64 { return map[bool]int64{true: (5200 + int64(i)*20) * ms, false: at(i)}[i < 2] },
		"a wild last": func(i int) int64 { return map[bool]int64{true: 4 * start * ms / 2, false: at(i)}[i == 29] },
	} {
		s := numbered(t, "rtl", every(30, wrong))
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10})
		require.NoError(t, err, name)
		assert.LessOrEqual(t, got.Report.Clock.Targets, 30, name)
		line := got.Report.Streams[0]
		require.NotEmpty(t, got.Report.Notes, name)
		n := got.Report.Notes[0]
		assert.Equal(t, []any{dataset.CodeStrayLeftOut, "rtl", line.Stray}, []any{n.Code, n.Subject, n.Count}, name)
		assert.Equal(t, 30, line.Samples+line.Stray, "each is counted")
		assert.Positive(t, line.Stray, name)
		assert.Equal(t, line.Targets, line.Valid, "no value comes from between a stray sample and the others")
		_, err = align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Range: align.Range{Mode: align.RangeUnion}})
		var span *clocks.RangeError
		require.ErrorAs(t, err, &span, "asked for all of it, there is too much of it")
		assert.Equal(t, "rtl", span.Streams[0].Name)
	}
	// A clock that was set in the midst of a recording is named: no sample is stray then.
	jump := numbered(t, "a", every(300, func(i int) int64 { return int64(i)*100*ms + map[bool]int64{true: 0, false: start * ms}[i < 100] }))
	whole := numbered(t, "b", every(300, func(i int) int64 { return int64(i) * 100 * ms }))
	set, err := align.Resample(context.Background(), cpu(t), episode(jump, whole), align.Plan{Rate: 10})
	require.NoError(t, err)
	require.Len(t, set.Report.Notes, 1)
	n := set.Report.Notes[0]
	assert.Equal(t, []any{dataset.CodeClockJump, "a", dataset.At(99)}, []any{n.Code, n.Subject, n.Row})
	assert.Contains(t, n.Got, "1700000000.1")
	// What lies where others have samples is not stray, though it be far from its own.
	for name, at := range map[string]func(i int) int64{
		"a first event": func(i int) int64 { return map[bool]int64{true: 0, false: 20_000*ms + int64(i)*10*ms}[i == 0] },
		"a last event":  func(i int) int64 { return map[bool]int64{true: 29_000 * ms, false: int64(i) * ms / 10}[i == 19] },
	} {
		got, err := align.Resample(context.Background(), cpu(t), episode(numbered(t, "events", every(20, at)), whole), align.Plan{Rate: 10})
		require.NoError(t, err)
		assert.Equal(t, 20, got.Report.Streams[0].Samples, name)
		assert.Empty(t, got.Report.Notes, name)
	}
	// A zero that fits in is obeyed where the whole is asked for, and named.
	s := numbered(t, "rtl", every(20, func(i int) int64 { return map[bool]int64{true: 0, false: 20_000*ms + int64(i)*100*ms}[i == 0] }))
	got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Range: align.Range{Mode: align.RangeUnion}})
	require.NoError(t, err)
	assert.Greater(t, got.Report.Clock.Targets, 200)
	assert.Equal(t, dataset.Note{Code: dataset.CodeStrayFollowed, Subject: "rtl", Detail: dataset.Detail{Got: "0.000", Want: "20.100"}}, got.Report.Notes[0])
	// A pause is none, nor is a topic of few samples.
	for _, s := range []dataset.Stream{
		numbered(t, "pause", every(40, func(i int) int64 { return int64(i)*100*ms + int64(i/20)*3_600_000*ms })),
		numbered(t, "late", every(40, func(i int) int64 { return int64(i)*100*ms + map[bool]int64{true: 0, false: 600_000 * ms}[i < 3] })),
		numbered(t, "few", every(3, func(i int) int64 { return int64(i/2) * 60_000 * ms })),
		numbered(t, "zero", every(40, func(i int) int64 { return int64(i) * 100 * ms })),
	} {
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 1})
		require.NoError(t, err)
		assert.Empty(t, got.Report.Notes, s.Name)
	}
}

// How long a recording is, is asked of each stream on the common clock.
func TestOffsetsCountForTheWholeOfARecording(t *testing.T) {
	epoch := int64(1_700_000_000) * 1_000_000_000
	mode := numbered(t, "mode", every(500, func(i int) int64 { return epoch + int64(i)*20*ms }))
	mode.Columns = []dataset.Column{{Name: "v", Integer: true}}
	e := episode(numbered(t, "a", every(100, func(i int) int64 { return int64(i) * 100 * ms })), numbered(t, "b", every(100, func(i int) int64 { return epoch + int64(i)*100*ms })), mode)
	got, err := align.Fuse(context.Background(), cpu(t), e, align.Plan{Rate: 10, Streams: []align.Stream{
		{Name: "a", Sampling: align.Sampling{Offset: time.Duration(epoch)}}, {Name: "b"}, {Name: "mode"}}})
	require.NoError(t, err)
	assert.Empty(t, got.Report.Notes)
	assert.Equal(t, 100, got.Report.Clock.Targets)
	assert.Equal(t, "clamp", got.Report.Streams[2].Edge, "50 messages a second are no topic on change")
}

// Frames whose times were rounded to milliseconds are named, with the snap that puts each on its tick.
func TestMillisecondTimestampsAreNamed(t *testing.T) {
	rounded := func(unit int64) *tensor.Tensor {
		return every(60, func(i int) int64 { return (int64(i)*1_000_000_000/30 + unit/2) / unit * unit })
	}
	plan := align.Plan{Rate: 30, Defaults: align.Sampling{Kind: "previous"}}
	got, err := align.Resample(context.Background(), cpu(t), episode(numbered(t, "camera", rounded(ms))), plan)
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeTimesCoarse, Subject: "camera", Count: 40, Detail: dataset.Detail{Of: 60, Unit: "1ms", Got: "333.333µs", Want: "501µs"}}}, got.Report.Notes)
	plan.Snap = ops.Within(501 * time.Microsecond)
	got, err = align.Resample(context.Background(), cpu(t), episode(numbered(t, "camera", rounded(ms))), plan)
	require.NoError(t, err)
	assert.Empty(t, got.Report.Notes)
	list, err := tensor.Data[float32](got.Streams[0].Values)
	require.NoError(t, err)
	for i, v := range list {
		require.Equal(t, float32(i), v, "row i is frame i")
	}
	// Cut ones too, whatever the camera's phase, and coarser clocks: the snap that is named makes row i frame i.
	for name, c := range map[string]struct {
		rate float64
		at   func(i int) int64
	}{
		"cut, early":      {30, func(i int) int64 { return (300_000 + int64(i)*1_000_000_000/30) / ms * ms }},
		"cut, late":       {30, func(i int) int64 { return (900_000 + int64(i)*1_000_000_000/30) / ms * ms }},
		"hundredths":      {30, func(i int) int64 { return (int64(i)*1_000_000_000/30 + 5*ms) / (10 * ms) * (10 * ms) }},
		"a tick of 4 ms":  {60, func(i int) int64 { return (int64(i)*1_000_000_000/60 + 2*ms) / (4 * ms) * (4 * ms) }},
		"tenths of these": {24, func(i int) int64 { return (int64(i)*1_000_000_000/24 + 50_000) / 100_000 * 100_000 }},
	} {
		s := numbered(t, "camera", every(300, c.at))
		plan := align.Plan{Rate: c.rate, Defaults: align.Sampling{Kind: "previous"}}
		got, err := align.Resample(context.Background(), cpu(t), episode(s), plan)
		require.NoError(t, err)
		require.Len(t, got.Report.Notes, 1, name)
		within, err := time.ParseDuration(got.Report.Notes[0].Want)
		require.NoError(t, err)
		plan.Snap = ops.Within(within)
		got, err = align.Resample(context.Background(), cpu(t), episode(s), plan)
		require.NoError(t, err)
		list, err := tensor.Data[float32](got.Streams[0].Values)
		require.NoError(t, err)
		require.Len(t, list, 300, name)
		for i, v := range list {
			require.Equal(t, float32(i), v, "%s: row i is frame i", name)
		}
		assert.Empty(t, got.Report.Notes)
	}
	// Nothing is said of what the default snap takes, of other rates, and of clocks that are much faster than the unit.
	plan.Snap = ops.Limit{}
	for name, s := range map[string]dataset.Stream{
		"microseconds": numbered(t, "s", rounded(1000)), "100 Hz": numbered(t, "s", every(300, func(i int) int64 { return int64(i) * 10 * ms })),
		"1 kHz": numbered(t, "s", every(2000, func(i int) int64 { return int64(i) * ms })),
	} {
		got, err := align.Resample(context.Background(), cpu(t), episode(s), plan)
		require.NoError(t, err)
		assert.Empty(t, got.Report.Notes, name)
	}
	// Seconds of an epoch in float64 are a fraction of a microsecond off.
	sec := make([]float64, 60)
	for i := range sec {
		sec[i] = 1.7e9 + math.Round(float64(i)*1000/30)/1000
	}
	got, err = align.Resample(context.Background(), cpu(t), episode(numbered(t, "camera", tensor.Must(tensor.Of(sec, 60)))), plan)
	require.NoError(t, err)
	assert.Equal(t, "1ms", got.Report.Notes.Find(dataset.CodeTimesCoarse).Unit)
}

// A kind of several columns is not taken where neither names nor types say which belong together, and whole numbers are another reason.
func TestAKindOfSeveralColumnsSaysWhyNoneTakesIt(t *testing.T) {
	for columns, want := range map[string]dataset.Note{
		"x y z w":  {Code: dataset.CodeKindGroups, Detail: dataset.Detail{Got: "slerp", Want: "4"}},
		"a# b# c#": {Code: dataset.CodeKindUnused, Detail: dataset.Detail{Got: "slerp"}},
	} {
		s := streamtest.Sampled(t, "s", 10, 20, columns, streamtest.Wave)
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Defaults: align.Sampling{Kind: "slerp"}})
		require.NoError(t, err)
		assert.Equal(t, want, got.Report.Notes[0], columns)
	}
}

// What has no effect is told: of the defaults on all streams together, of a stream on that one.
func TestOptionsWithoutEffectAreTold(t *testing.T) {
	s := numbered(t, "s", every(20, func(i int) int64 { return int64(i) * 100 * ms }))
	near := ops.Within(time.Millisecond)
	for want, how := range map[dataset.Code]align.Sampling{
		dataset.CodeToleranceUnused:   {Tolerance: near},
		dataset.CodePeriodUnused:      {Period: 360},
		dataset.CodeQuatUnused:        {Quat: "wxyz"},
		dataset.CodeWindowUnused:      {Window: near},
		dataset.CodeExtrapolateUnused: {Kind: "previous", Edge: "extrapolate"},
		dataset.CodeFillGapsUnused:    {FillGaps: true},
		dataset.CodeFillUnused:        {Fill: ops.FillWith(3)},
		dataset.CodeKindUnused:        {Kind: "pchip", Kinds: []align.ColumnKind{{Columns: "v", Kind: "linear"}}},
	} {
		n := dataset.Note{Code: want}
		if want == dataset.CodeKindUnused {
			n.Got = "pchip"
		}
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Defaults: how})
		require.NoError(t, err, want)
		assert.Equal(t, n, got.Report.Notes[0], want)
		got, err = align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Streams: []align.Stream{{Name: "s", Sampling: how}}})
		require.NoError(t, err, want)
		n.Subject = "s"
		assert.Equal(t, n, got.Report.Notes[0], want)
	}
	for _, how := range []align.Sampling{
		{Kind: "previous", Tolerance: near, FillGaps: true}, {Kind: "angle", Period: 360}, {Kind: "window-mean", Window: near, FillGaps: true, Fill: ops.FillWith(1)},
		{Edge: "extrapolate"}, {MaxGap: near, FillGaps: true}, {Edge: "fill", Fill: ops.FillWith(3)}, {Kind: "nearest", MaxGap: near},
	} {
		got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10, Defaults: how})
		require.NoError(t, err)
		assert.Empty(t, got.Report.Notes, "%+v", how)
	}
	// Options of a stream and defaults work together.
	for _, plan := range []align.Plan{
		{Rate: 10, Defaults: align.Sampling{FillGaps: true}, Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{MaxGap: near}}}},
		{Rate: 10, Defaults: align.Sampling{MaxGap: near}, Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{FillGaps: true}}}},
		{Rate: 10, Defaults: align.Sampling{Edge: "fill"}, Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{Fill: ops.FillWith(1)}}}},
		{Rate: 10, Defaults: align.Sampling{Kind: "nearest"}, Streams: []align.Stream{{Name: "s", Sampling: align.Sampling{Tolerance: near}}}},
	} {
		got, err := align.Resample(context.Background(), cpu(t), episode(s), plan)
		require.NoError(t, err)
		assert.Empty(t, got.Report.Notes, "%+v", plan)
	}
	// One stream that takes it is enough for the defaults.
	whole := numbered(t, "mode", every(20, func(i int) int64 { return int64(i) * 100 * ms }))
	whole.Columns = []dataset.Column{{Name: "v", Integer: true}}
	got, err := align.Resample(context.Background(), cpu(t), episode(s, whole), align.Plan{Rate: 10, Defaults: align.Sampling{Tolerance: near}})
	require.NoError(t, err)
	assert.Empty(t, got.Report.Notes)
}

// Fuse keeps doubles, and counts them where it was told not to.
func TestFuseKeepsDoubles(t *testing.T) {
	lat := make([]float64, 50)
	for i := range lat {
		lat[i] = 47.3977 + float64(i)*1e-7
	}
	times := every(50, func(i int) int64 { return int64(i) * 100 * ms })
	gps := dataset.Stream{Name: "gps", Times: times, Values: tensor.Must(tensor.Of(lat, 50, 1)), Columns: []dataset.Column{{Name: "lat"}}}
	other := numbered(t, "imu", times)
	got, err := align.Fuse(context.Background(), cpu(t), episode(gps, other), align.Plan{Rate: 10})
	require.NoError(t, err)
	assert.Equal(t, tensor.F64, got.Values.DType())
	list, err := tensor.Data[float64](got.Values)
	require.NoError(t, err)
	for i := range lat {
		require.Equal(t, lat[i], list[2*i])
	}
	assert.Zero(t, got.Report.Streams[0].Loss)
	got, err = align.Fuse(context.Background(), cpu(t), episode(other), align.Plan{Rate: 10})
	require.NoError(t, err)
	assert.Equal(t, tensor.F32, got.Values.DType())

	narrow := align.Sampling{DType: tensor.F32}
	got, err = align.Fuse(context.Background(), cpu(t), episode(gps, other), align.Plan{Rate: 10, Defaults: narrow})
	require.NoError(t, err)
	n := got.Report.Streams[0].Loss
	assert.Greater(t, n.Doubles, 45)
	assert.InDelta(t, 1.9e-6, n.By, 1e-7, "half of what float32 tells apart at 47")
	assert.Zero(t, got.Report.Streams[1].Loss)
	assert.Contains(t, got.Report.String(), "gps, in f32: ")
	assert.Contains(t, got.Report.String(), "doubles were rounded, by up to 1.9e-06")
	apart, err := align.Resample(context.Background(), cpu(t), episode(gps), align.Plan{Rate: 10, Streams: []align.Stream{{Name: "gps", Sampling: narrow}}})
	require.NoError(t, err)
	assert.Equal(t, n, apart.Report.Streams[0].Loss)

	// Floats that only share f64 with others are no doubles.
	wide := dataset.Stream{Name: "w", Times: times, Values: tensor.Must(tensor.Of(append(make([]float64, 98), .5, 1<<60+1), 50, 2)), Columns: []dataset.Column{{Name: "f"}, {Name: "t", Integer: true}}}
	got, err = align.Fuse(context.Background(), cpu(t), episode(wide), align.Plan{Rate: 7, Defaults: narrow})
	require.NoError(t, err)
	assert.Zero(t, got.Report.Streams[0].Doubles)
}

// full takes so many bytes and then no more.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// A disk that is full is told once, whichever array met it.
func TestAFailureToWriteIsToldOnce(t *testing.T) {
	s := numbered(t, "s", every(2000, func(i int) int64 { return int64(i) * 100 * ms }))
	apart, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10})
	require.NoError(t, err)
	fused, err := align.Fuse(context.Background(), cpu(t), episode(s), align.Plan{Rate: 10})
	require.NoError(t, err)
	for _, write := range []func(arrayfile.Writer) error{apart.WriteArrays, fused.WriteArrays} {
		for room := 0; room < 36_000; room += 4000 {
			assert.EqualError(t, write(npz.NewWriter(&full{room}, npz.Options{})), "no space left", room)
		}
	}
}

// The last frame of a float32 clock may have been rounded down by more than the snap.
func TestFloat32ClocksKeepTheirLastFrame(t *testing.T) {
	for _, from := range []float64{0, 100, 3000, 40_000} {
		sec := make([]float32, 300)
		for i := range sec {
			sec[i] = float32(from + float64(i)/30)
		}
		got, err := align.Resample(context.Background(), cpu(t), episode(numbered(t, "s", tensor.Must(tensor.Of(sec, 300)))), align.Plan{Rate: 30})
		require.NoError(t, err)
		assert.Equal(t, 300, got.Report.Clock.Targets, from)
		assert.Equal(t, 300, got.Report.Streams[0].Valid, from)
	}
}

// Two targets must not be one sample.
func TestASnapIsNoLongerThanHalfAStep(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	s := numbered(t, "s", every(300, func(i int) int64 { return int64(i) * 33 * ms }))
	_, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 30, Snap: ops.Within(time.Hour)})
	var plan *align.PlanError
	require.ErrorAs(t, err, &plan)
	assert.Equal(t, "plan: snap: got 1h0m0s, want at most 16.666666ms, half a step of 30 Hz", err.Error())
	_, err = planfile.Parse("p.yaml", []byte("version: 1\nrate: 30\nsnap: 50ms\n"))
	assert.ErrorContains(t, err, "p.yaml: line 3, column 7: snap: got 50ms")
	got, err := align.Resample(context.Background(), cpu(t), episode(s), align.Plan{Rate: 1e6})
	require.NoError(t, err)
	assert.Equal(t, 299*33_000+1, got.Report.Clock.Targets, "the default is no longer either")
}
