package align_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// integers makes a stream of whole numbers, n samples of a step in milliseconds.
func integers(t *testing.T, name string, from, step, n int) dataset.Stream {
	t.Helper()
	s := stream(t, name, from, step, make([]float32, n)...)
	s.Columns = []dataset.Column{{Name: "mode", Integer: true}}
	return s
}

// recorded is 100 s of a stream at 10 Hz, a topic that speaks when something changes, and a stream that begins late.
func recorded(t *testing.T) *dataset.Episode {
	return &dataset.Episode{Streams: []dataset.Stream{
		stream(t, "fast", 0, 100, make([]float32, 1000)...), integers(t, "mode", 20_000, 5000, 13), stream(t, "late", 50_000, 100, make([]float32, 100)...),
	}}
}

func named(names ...string) (list []align.Stream) {
	for _, n := range names {
		list = append(list, align.Stream{Name: n})
	}
	return list
}

func TestARangeCountsFromTheRecordingsStartWhicheverStreamsAreTaken(t *testing.T) {
	for _, names := range [][]string{{"fast"}, {"late"}, {"fast", "late"}, nil} {
		got, err := align.Resample(ctx, cpu(t), recorded(t), align.Plan{Rate: 1, Range: align.Between(0, 10*time.Second), Streams: named(names...)})
		require.NoError(t, err)
		assert.Equal(t, []any{int64(0), int64(10e9)}, []any{got.Report.Clock.First, got.Report.Clock.Last}, names)
		outside := got.Report.Notes.Find(dataset.CodeRangeEmpty)
		assert.Equal(t, len(names) == 1 && names[0] == "late", outside != nil, "%v", got.Report.Notes)
		if outside != nil {
			assert.Equal(t, dataset.Detail{Got: "50.000", Want: "59.900"}, outside.Detail)
		}
		if slices.Contains(names, "late") || names == nil {
			assert.Contains(t, got.Report.Notes, dataset.Note{Code: dataset.CodeNeverValid, Subject: "late", Count: 11})
		} else {
			assert.Nil(t, got.Report.Notes.Find(dataset.CodeNeverValid))
		}
	}
}

func TestATopicOnChangeNeverNarrowsTheRangeWhateverItsEdge(t *testing.T) {
	for _, edge := range []string{"", "clamp", "hold", "fill"} {
		plan := align.Plan{Rate: 1, Streams: named("fast", "mode"), Defaults: align.Sampling{Edge: edge}}
		got, err := align.Resample(ctx, cpu(t), recorded(t), plan)
		require.NoError(t, err)
		assert.Equal(t, 100, got.Report.Clock.Targets, edge)
	}
	for _, names := range [][]string{{"mode"}, {"fast", "mode"}} {
		got, err := align.Resample(ctx, cpu(t), recorded(t), align.Plan{Rate: 1, Range: align.Range{Mode: align.RangeUnion}, Streams: named(names...)})
		require.NoError(t, err)
		assert.Equal(t, "hold", got.Report.Streams[len(names)-1].Edge, "alone or not")
	}
}

// A stray timestamp, far before the others, makes no recording longer.
func TestAStrayTimestampDoesNotMakeTheRecordingLong(t *testing.T) {
	e := recorded(t)
	e.Streams = append(e.Streams, stream(t, "rtl", -1_000_000_000, 1_000_050_000, 0, 0))
	got, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 1})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(0), int64(50e9)}, []any{got.Report.Clock.First, got.Report.Clock.Last}, "it ends with the stray stream, and begins with the recording")
	_, err = align.Resample(ctx, cpu(t), e, align.Plan{Rate: 2000, Range: align.Range{Mode: align.RangeUnion}})
	var span *clocks.RangeError
	require.ErrorAs(t, err, &span)
	assert.Equal(t, "rtl", span.Streams[0].Name)
}

func TestARotationIsTakenWholeOrNotAtAll(t *testing.T) {
	cols := make([]dataset.Column, 8)
	for i := range cols {
		cols[i] = dataset.Column{Name: fmt.Sprintf("%c[%d]", "qp"[i/4], i%4), Rotation: dataset.RotationXYZW}
	}
	values := make([]float32, 24)
	for i := range 6 {
		values[4*i+3] = 1
	}
	s, err := dataset.NewStream("pose", []int64{0, 1e9, 2e9}, tensor.Must(tensor.Of(values, 3, 8)), cols)
	require.NoError(t, err)
	for _, c := range []struct {
		kinds []align.ColumnKind
		want  map[string]int
	}{
		{nil, map[string]int{"slerp": 8}},
		{[]align.ColumnKind{{"0:2", "previous"}, {"6:8", "previous"}}, map[string]int{"previous": 4, "linear": 4}},
		{[]align.ColumnKind{{"q[0]", "previous"}}, map[string]int{"previous": 1, "linear": 3, "slerp": 4}},
	} {
		plan := align.Plan{Rate: 2, Streams: []align.Stream{{Name: "pose", Sampling: align.Sampling{Kinds: c.kinds}}}}
		got, err := align.Resample(ctx, cpu(t), &dataset.Episode{Streams: []dataset.Stream{s}}, plan)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Report.Streams[0].Kinds)
	}
}

func TestATopicWithoutSamplesIsFilledInARow(t *testing.T) {
	e := recorded(t)
	e.Notes = dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "silent"}}
	e.Empty = []dataset.EmptyStream{{Name: "silent", Columns: []dataset.Column{{Name: "a"}, {Name: "b"}}}}
	got, err := align.Fuse(ctx, cpu(t), e, align.Plan{Rate: 1, Streams: named("fast", "silent")})
	require.NoError(t, err)
	assert.Equal(t, []int{100, 3}, got.Values.Shape())
	assert.Equal(t, []int{100, 0}, []int{got.Report.Streams[0].Valid, got.Report.Streams[1].Valid})
	assert.Empty(t, got.Report.Notes.Of(dataset.ClassLeftOut))
	apart, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 1, Streams: named("fast", "silent")})
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "silent"}}, apart.Report.Notes)
}

func TestColumnsOfOneNameAreAllTaken(t *testing.T) {
	e := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 1, 2)}}
	e.Streams[0].Values = tensor.Must(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	e.Streams[0].Columns = []dataset.Column{{Name: "x"}, {Name: "y"}, {Name: "x"}}
	got, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: []align.Stream{{Name: "a", Columns: []string{"x"}}}})
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 3, 4, 6}, values(t, got.Streams[0].Values))
}

func TestWhatStreamsCannotBeTogetherIsSaid(t *testing.T) {
	twice := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 1, 2), stream(t, "a", 0, 100, 1, 2, 3)}}
	clocks := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 1, 2), stream(t, "b", 0, 100, 1, 2)}}
	clocks.Streams[1].Times = tensor.Must(tensor.Of([]float64{0, .1}, 2))
	collapsed := &dataset.Episode{Streams: []dataset.Stream{stream(t, "a", 0, 100, 1, 2)}}
	collapsed.Streams[0].Times = tensor.Must(tensor.Of([]float32{1.7e9, 1.7e9}, 2))
	for _, c := range []struct {
		e    *dataset.Episode
		want string
	}{
		{twice, "stream a: got two streams with this name, want each name once"},
		{clocks, "stream b: got timestamps of f64, want i64, as in a: streams with one clock dtype"},
		{collapsed, "stream a: got float32 seconds that lie 128 s apart"},
	} {
		_, err := align.Resample(ctx, cpu(t), c.e, align.Plan{Rate: 10})
		var bad *align.StreamError
		require.ErrorAs(t, err, &bad)
		assert.ErrorContains(t, err, c.want)
	}
	for _, plan := range []align.Plan{
		{Targets: tensor.Must(tensor.Of([]int64{5}))}, {Targets: tensor.Must(tensor.Of([]float32{5}, 1))}, {Rate: 2e9}, {Rate: 1, Snap: ops.Within(-1)},
		{Rate: 1, Streams: []align.Stream{{Name: "fast", Sampling: align.Sampling{Offset: 1}}}},
	} {
		_, err := align.Resample(ctx, cpu(t), recorded(t), plan)
		var bad *align.PlanError
		require.ErrorAs(t, err, &bad)
	}
	_, err := align.Fuse(ctx, cpu(t), recorded(t), align.Plan{Rate: 1, Streams: []align.Stream{
		{Name: "fast", Sampling: align.Sampling{DType: tensor.F32}}, {Name: "late", Sampling: align.Sampling{DType: tensor.F64}}}})
	assert.ErrorContains(t, err, "streams[1].dtype: got f64, want f32, that of all streams of a Fuse")
}

func TestAFileCanSwitchADefaultOff(t *testing.T) {
	plan, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 1e1\ndefaults: {offset: 5s, fill_gaps: true}\nstreams:\n- name: fast\n  offset: 0s\n  fill_gaps: false\n- name: late\n"))
	require.NoError(t, err)
	assert.Equal(t, 10., plan.Rate)
	got, err := align.Fuse(ctx, cpu(t), recorded(t), plan)
	require.NoError(t, err)
	assert.Equal(t, []any{time.Duration(0), false, 5 * time.Second, true},
		[]any{got.Streams[0].How.Offset, got.Streams[0].How.FillGaps, got.Streams[1].How.Offset, got.Streams[1].How.FillGaps})
	_, err = align.Resample(ctx, cpu(t), recorded(t), plan)
	assert.ErrorContains(t, err, "p.yaml: line 3, column 20: defaults.offset: got 5s")
	for text, want := range map[string]string{
		"streams: []":                        "line 3, column 10: streams: got an empty list",
		"streams:\n- name: a\n  columns: []": "streams[0].columns: got an empty list",
		"streams:\n- &x {name: a}":           "got an anchor or alias, which plans do not have",
		`snap: "1e2"`:                        `got "1e2", want a length of time`,
	} {
		_, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 1\n"+text+"\n"))
		assert.ErrorContains(t, err, want)
	}
}

// Who names streams hears of these alone, and of one that is out of order how to have it.
func TestRemarksAreOfTheStreamsThatWereNamed(t *testing.T) {
	e := recorded(t)
	wild := stream(t, "wild", 0, 100, make([]float32, 50)...)
	times, err := tensor.Data[int64](wild.Times)
	require.NoError(t, err)
	times[7], times[8] = times[8], times[7]
	e.Streams = append(e.Streams, wild)
	e.Notes = dataset.Notes{{Code: dataset.CodeLogClock, Subject: "late"}, {Code: dataset.CodeLogClock, Subject: "fast"}, {Code: dataset.CodeHeaderTimeNone, Subject: "mode"}}
	got, err := align.Fuse(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: named("fast", "wild")})
	require.NoError(t, err)
	require.Len(t, got.Report.Notes, 3)
	assert.Equal(t, dataset.Notes{e.Notes[1], {Code: dataset.CodeNeverValid, Subject: "wild", Count: 1000}}, got.Report.Notes[1:])
	left := got.Report.Notes[0]
	assert.Equal(t, []any{dataset.CodeDisorder, "wild"}, []any{left.Code, left.Subject})
	assert.EqualError(t, left.Cause, "time goes backwards at sample 8; sorted it can be taken: --unordered sort")
	all, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10})
	require.NoError(t, err)
	assert.Subset(t, all.Report.Notes, e.Notes)
}

// A name that several streams begin with is told them.
func TestANameOfSeveralSetsIsToldThem(t *testing.T) {
	e := recorded(t)
	e.Streams[0].Name, e.Streams[2].Name = "/j.position (a, b)", "/j.position (c)"
	_, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 1, Streams: named("/j.position")})
	var missing *clocks.MissingError
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, "/j.position (a, b) or /j.position (c)", missing.Near)
}

// A stream of one timestamp, such as a static transform, is taken where it is named: its value holds from there on unless the plan says otherwise, and an
// edge that has no value there is an error that names it.
func TestAStreamOfOneTimestampHoldsItsValue(t *testing.T) {
	e := recorded(t)
	e.Streams = append(e.Streams, stream(t, "static", 0, 1, 7))
	valid := func(streams []align.Stream) (list []uint8) {
		got, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: streams})
		require.NoError(t, err)
		row, err := align.Fuse(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: streams})
		require.NoError(t, err)
		require.Len(t, got.Streams, 2)
		one, err := tensor.Data[uint8](got.Streams[1].Valid)
		require.NoError(t, err)
		both, err := row.Streams[1].Valid.Contiguous()
		require.NoError(t, err)
		two, err := tensor.Data[uint8](both)
		require.NoError(t, err)
		assert.Equal(t, one, two)
		prepared, err := (&align.Preparer{Plan: align.Plan{Rate: 10, Streams: streams}}).Prepare(e)
		require.NoError(t, err)
		assert.Equal(t, got.Streams[1].How.Edge, prepared.Streams[1].Options.Edge.String())
		return one
	}
	streams := named("fast", "static")
	assert.NotContains(t, valid(streams), uint8(0))
	streams[1].Edge = "clamp"
	assert.Contains(t, valid(streams), uint8(0), "the value is there, and not valid")
	streams[1].Edge = "fill"
	for _, do := range []func() error{
		func() error {
			_, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: streams})
			return err
		},
		func() error { _, err := align.Fuse(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: streams}); return err },
		func() error {
			_, err := (&align.Preparer{Plan: align.Plan{Rate: 10, Streams: streams}}).Prepare(e)
			return err
		},
	} {
		var bad *align.StreamError
		require.ErrorAs(t, do(), &bad)
		assert.Equal(t, []string{"static", "a single timestamp and the edge fill"}, []string{bad.Stream, bad.Got})
	}
	_, err := align.Resample(ctx, cpu(t), e, align.Plan{Rate: 10, Streams: named("static")})
	assert.ErrorContains(t, err, "static (too-few-times: 1)")
}
