package align_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

var ctx = context.Background()

func cpu(t *testing.T) *ops.Device {
	t.Helper()
	d, err := ops.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// stream makes a stream of one column, a sample each so many milliseconds.
func stream(t *testing.T, name string, from, step int, values ...float32) dataset.Stream {
	t.Helper()
	times := make([]int64, len(values))
	for i := range times {
		times[i] = int64(from+i*step) * 1e6
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, len(values), 1)), []dataset.Column{{Name: "v"}})
	require.NoError(t, err)
	return s
}

func values(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Floats(x)
	require.NoError(t, err)
	return list
}

func flags(t *testing.T, x *tensor.Tensor) []uint8 {
	t.Helper()
	x, err := x.Contiguous()
	require.NoError(t, err)
	list, err := tensor.Data[uint8](x)
	require.NoError(t, err)
	return list
}

func TestEveryTargetIsCountedOnce(t *testing.T) {
	e := &dataset.Episode{
		Streams:  []dataset.Stream{stream(t, "a", 0, 100, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), stream(t, "b", 200, 250, 1, 2, 3), stream(t, "one", 5, 5, 1)},
		Notes:    dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "quiet"}, {Code: dataset.CodeRecordCut, Detail: dataset.Detail{Bytes: 7, Cause: &dataset.FormatError{Format: "x", Offset: 3}}}},
		Dropouts: []dataset.Dropout{{Time: 5, Duration: 2e6}},
	}
	plan := align.Plan{Rate: 20, Range: align.Range{Mode: align.RangeUnion}, Defaults: align.Sampling{MaxGap: ops.Within(200 * time.Millisecond)}}
	got, err := align.Resample(ctx, cpu(t), e, plan)
	require.NoError(t, err)
	require.Len(t, got.Report.Streams, 2)
	for _, s := range got.Report.Streams {
		assert.Equal(t, 21, s.Targets)
		assert.Equal(t, s.Targets, s.Valid+s.OutOfRange+s.Gapped+s.NotFinite)
	}
	b := got.Report.Streams[1]
	assert.Equal(t, [3]int{3, 10, 8}, [3]int{b.Valid, b.OutOfRange, b.Gapped}, "200, 450 and 700 ms are samples")
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "quiet"}, {Code: dataset.CodeTooFewTimes, Subject: "one", Count: 1}, e.Notes[1]}, got.Report.Notes)
	assert.Equal(t, &align.Dropouts{Count: 1, Seconds: .002}, got.Report.Dropouts)
	assert.EqualValues(t, 7, got.Report.LostBytes)
	assert.Contains(t, got.Report.String(), "clock: 21 timestamps at 20 Hz, 0.000 to 1.000 s (begins with a, ends with a)\n")
	assert.Contains(t, got.Report.String(), "0.200 to 0.700 s")
	assert.Equal(t, 0.5, values(t, got.Streams[0].Values)[1])
}

func TestFuseIsResampleSideBySide(t *testing.T) {
	e := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 0, 1, 2, 3, 4, 5), stream(t, "b", 0, 250, 4, 8, 16), stream(t, "none", 0, 1)}}
	plan := align.Plan{Rate: 10, Streams: []align.Stream{{Name: "none"}, {Name: "second", From: "b", Sampling: align.Sampling{Kind: "previous"}}, {Name: "a"}},
		Defaults: align.Sampling{DType: tensor.F64}}
	got, err := align.Fuse(ctx, cpu(t), e, plan)
	require.NoError(t, err)
	assert.Equal(t, []int{6, 3}, got.Values.Shape())
	assert.Equal(t, []float64{0, 4, 0, 0, 4, 1, 0, 4, 2, 0, 8, 3, 0, 8, 4, 0, 16, 5}, values(t, got.Values))
	assert.Equal(t, []uint8{0, 1, 1}, flags(t, got.Valid)[:3])
	assert.Equal(t, 0, *got.Report.AllValid)
	plan.Streams = plan.Streams[1:]
	apart, err := align.Resample(ctx, cpu(t), e, plan)
	require.NoError(t, err)
	for i, s := range apart.Streams {
		assert.Equal(t, values(t, s.Values), values(t, got.Streams[i+1].Values))
		assert.Equal(t, flags(t, s.Valid), flags(t, got.Streams[i+1].Valid))
		assert.Equal(t, s.Name, got.Streams[i+1].Name)
	}
	assert.Equal(t, "second", apart.Streams[0].Name)

	var file bytes.Buffer
	w := npz.NewWriter(&file, npz.Options{})
	require.NoError(t, got.WriteArrays(w))
	require.NoError(t, w.Close())
	f, err := npz.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	require.NoError(t, err)
	assert.Equal(t, []string{"values", "valid", "age", "times", "streams", "columns"}, f.Names())
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"none.v", "second.v", "a.v"}, columns)
	path := filepath.Join(t.TempDir(), "o.npz")
	require.NoError(t, apart.WriteFile(path))
	f, err = npz.Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, []string{"times", "second.values", "second.valid", "second.age", "second.columns", "a.values", "a.valid", "a.age", "a.columns"}, f.Names())
}

// A stream whose clock is late by 50 ms: its samples are those of the common clock 50 ms earlier, and so is what it covers.
func TestAnOffsetMovesAStream(t *testing.T) {
	for _, seconds := range []bool{false, true} {
		late := stream(t, "late", 50, 100, 0, 1, 2, 3)
		a := stream(t, "a", 0, 100, 0, 1, 2, 3)
		if seconds {
			late.Times = tensor.Must(tensor.Of([]float64{.05, .15, .25, .35}, 4))
			a.Times = tensor.Must(tensor.Of([]float64{0, .1, .2, .3}, 4))
		}
		e := &dataset.Episode{Streams: []dataset.Stream{a, late}}
		plan := align.Plan{Rate: 10, Streams: []align.Stream{{Name: "a"}, {Name: "late", Sampling: align.Sampling{Offset: -50 * time.Millisecond}}}}
		got, err := align.Fuse(ctx, cpu(t), e, plan)
		require.NoError(t, err)
		assert.Equal(t, []float64{0, 0, 1, 1, 2, 2, 3, 3}, values(t, got.Values))
		assert.Equal(t, 4, *got.Report.AllValid)
		assert.Zero(t, got.Report.Streams[1].OutOfRange)
		_, err = align.Resample(ctx, cpu(t), e, plan)
		var bad *align.PlanError
		assert.ErrorAs(t, err, &bad)
	}
}

func TestTargetsInPlaceOfARate(t *testing.T) {
	e := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 0, 1, 2)}}
	got, err := align.Resample(ctx, cpu(t), e, align.Plan{Targets: tensor.Must(tensor.Of([]int64{150e6, 0, 300e6}, 3)), Defaults: align.Sampling{Edge: "fill"}})
	require.NoError(t, err)
	assert.Equal(t, 1.5, values(t, got.Streams[0].Values)[0])
	assert.Equal(t, []uint8{1, 1, 0}, flags(t, got.Streams[0].Valid))
	shown, err := got.Streams[0].Shown()
	require.NoError(t, err)
	last := values(t, shown)[2]
	assert.NotEqual(t, last, last, "a fill value is not drawn")
	n := 0
	for recorded, made := range got.Pairs() {
		assert.Equal(t, 3, recorded.Len())
		assert.Equal(t, 3, made.Len())
		n++
	}
	assert.Equal(t, 1, n)
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	a, back := stream(t, "a", 0, 100, 0, 1, 2), stream(t, "back", 0, -100, 0, 1, 2)
	seconds := a
	seconds.Name, seconds.Times = "seconds", tensor.Must(tensor.Of([]float64{0, 1, 2}, 3))
	broken := a
	broken.Name, broken.Columns = "broken", nil
	e := &dataset.Episode{Streams: []dataset.Stream{a, back, seconds, broken}, Notes: dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "quiet"}},
		Clouds: []dataset.CloudStream{{Name: "lidar", Times: []int64{1, 2}}}}
	many := &dataset.Episode{}
	for i := range 17 {
		s := a
		s.Name = fmt.Sprint("s", i)
		many.Streams = append(many.Streams, s)
	}
	take := func(names ...string) align.Plan {
		p := align.Plan{Rate: 10}
		for _, n := range names {
			p.Streams = append(p.Streams, align.Stream{Name: n})
		}
		return p
	}
	topical := &dataset.Episode{}
	for _, name := range []string{"/joints.position", "/joints.velocity", "/odom", "/jointsandmore"} {
		s := a
		s.Name = name
		topical.Streams = append(topical.Streams, s)
	}
	columns := take("a")
	columns.Streams[0].Columns = []string{"w"}
	long := take("a")
	long.Rate = 9e7
	for _, c := range []struct {
		e    *dataset.Episode
		plan align.Plan
		as   any
		want []string
	}{
		{e, align.Plan{}, new(*align.PlanError), []string{"rate: got 0"}},
		{e, take("b"), new(*clocks.MissingError), []string{`no stream "b"`, "here are a, back, broken and 1 more"}},
		{e, take("secnds"), new(*clocks.MissingError), []string{"did you mean seconds?"}},
		{e, columns, new(*align.StreamError), []string{`stream a: got column "w"`, "one of v"}},
		{e, take("back"), new(*align.StreamError), []string{"stream back", "backwards", "sample 1"}},
		{e, take("broken"), new(*dataset.StreamError), []string{"broken", "0 columns"}},
		{topical, take("joints"), new(*clocks.MissingError), []string{"did you mean /joints.position or /joints.velocity?"}},
		{topical, take("/joints"), new(*clocks.MissingError), []string{"did you mean /joints.position or /joints.velocity?"}},
		{topical, take("odom"), new(*clocks.MissingError), []string{"did you mean /odom?"}},
		{e, take("lidar"), new(*align.StreamError), []string{"stream lidar: got 2 point clouds, want a stream of numbers"}},
		{&dataset.Episode{Clouds: e.Clouds}, align.Plan{Rate: 1}, new(*clocks.NoStreamsError), []string{"lidar (" + dataset.CodeCloudsNotAligned.String()}},
		{e, take("quiet"), new(*clocks.NoStreamsError), []string{"quiet (no-samples)"}},
		{e, take("a", "seconds"), new(*align.StreamError), []string{"stream seconds", "f64", "i64"}},
		{many, align.Plan{Rate: 1, Streams: nil}, nil, nil},
	} {
		_, err := align.Fuse(ctx, cpu(t), c.e, c.plan)
		if c.as == nil {
			var bad *clocks.ManyError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, 17, bad.Got)
			continue
		}
		require.ErrorAs(t, err, c.as, c.want)
		for _, w := range c.want {
			assert.ErrorContains(t, err, w)
		}
	}
	apart := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 10_000, 1, 2)}}
	_, err := align.Resample(ctx, cpu(t), apart, align.Plan{Rate: 1e9})
	var span *clocks.RangeError
	require.ErrorAs(t, err, &span)
	assert.ErrorContains(t, err, "1e+09 Hz")
	normalised := take("a")
	normalised.Streams[0].Normalise = "mean-std"
	got, err := align.Resample(ctx, cpu(t), e, normalised)
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeStatisticsNeeded, Subject: "a", Detail: dataset.Detail{Got: "mean-std"}}}, got.Report.Notes)
}

func ExampleResample() {
	device, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	joints, _ := dataset.NewStream("joints", []int64{0, 10e6, 20e6, 30e6, 40e6}, tensor.Must(tensor.Of([]float32{0, 1, 2, 3, 4}, 5, 1)), nil)
	camera, _ := dataset.NewStream("camera", []int64{0, 33e6, 66e6}, tensor.Must(tensor.Of([]float32{0, 33, 66}, 3, 1)), nil)
	episode := &dataset.Episode{Name: "demo", Streams: []dataset.Stream{joints, camera}}
	got, err := align.Resample(context.Background(), device, episode, align.Plan{
		Rate:    50,
		Streams: []align.Stream{{Name: "joints"}, {Name: "camera", Sampling: align.Sampling{Kind: "previous"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range got.Streams {
		values, _ := tensor.Floats(s.Values)
		fmt.Println(s.Name, values)
	}
	fmt.Print(got.Report)
	// Output:
	// joints [0 2 4]
	// camera [0 0 33]
	// clock: 3 timestamps at 50 Hz, 0.000 to 0.040 s (begins with joints, ends with joints)
	//   stream  samples      rate  gaps             range  timestamps    valid  outside  in gaps  lossy  methods
	//   joints        5  100.0 Hz     0  0.000 to 0.040 s           3  100.0 %        0        0      0  linear
	//   camera        3   30.3 Hz     0  0.000 to 0.066 s           3  100.0 %        0        0      0  previous
}

// Of what float32 does not tell apart at the end of a long recording nothing is seen at its beginning: a tick takes no sample behind it.
func TestFloat32TimesAreAsExactAsTheyAre(t *testing.T) {
	device := cpu(t)
	times := tensor.Must(tensor.Of([]float32{0, 0.5, 0.6001, 7200}, 4))
	s := dataset.Stream{Name: "a", Times: times, Values: tensor.Must(tensor.Of([]float32{0, 5, 6, 7}, 4, 1)), Columns: []dataset.Column{{Name: "x"}}}
	got, err := align.Resample(context.Background(), device, &dataset.Episode{Streams: []dataset.Stream{s}}, align.Plan{Rate: 10, Defaults: align.Sampling{Kind: "previous"}})
	require.NoError(t, err)
	made, err := tensor.Data[float32](got.Streams[0].Values)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 5, 5, 6, 7}, []float32{made[0], made[5], made[6], made[7], made[len(made)-1]})
}

// A clock of float32 tells apart what is more than a microsecond: the last row is on it, and valid, where its time and the first's were rounded apart.
func TestTheLastRowOfFloat32TimesIsKept(t *testing.T) {
	device := cpu(t)
	for _, c := range []struct {
		rate float64
		rows int
	}{{15, 93}, {24, 289}, {50, 709}, {100, 1734}, {30, 40001}} {
		times, values := make([]float32, c.rows), make([]float32, c.rows)
		for i := range times {
			times[i], values[i] = float32(12.3+float64(i)/c.rate), float32(i)
		}
		s := dataset.Stream{Name: "a", Times: tensor.Must(tensor.Of(times, c.rows)), Values: tensor.Must(tensor.Of(values, c.rows, 1)), Columns: []dataset.Column{{Name: "x"}}}
		got, err := align.Resample(context.Background(), device, &dataset.Episode{Streams: []dataset.Stream{s}}, align.Plan{Rate: c.rate})
		require.NoError(t, err)
		assert.Equal(t, []int{c.rows, c.rows}, []int{got.Times.Len(), got.Report.Streams[0].Valid}, "%v", c)
		made, err := tensor.Data[float32](got.Streams[0].Values)
		require.NoError(t, err)
		assert.Equal(t, float32(c.rows-1), made[c.rows-1], "%v", c)
	}
}
