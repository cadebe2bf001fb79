package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

// quick measures so briefly that only the form of the figures can be checked.
var quick = Options{Samples: minSamples, Time: time.Microsecond, Batch: time.Microsecond, Rotate: 1}

// small is a job of each suite that the CPU does in no time.
func small() []Job {
	return []Job{
		&ResampleJob{B: 2, S: 9, T: 5, D: 3}, &ResampleJob{B: 1, S: 4, T: 3, D: 2, Form: Form{Values: "f64", Times: "i64"}, Kind: "previous"},
		&ResampleJob{suite: "forms", B: 2, S: 9, T: 5, D: 7, Channels: []ChannelShape{{"linear", 3}, {"slerp", 4}}},
		&FuseJob{B: 2, T: 4, Streams: []FuseShape{{5, 2}, {7, 3}}},
		&BackwardJob{B: 2, S: 9, T: 5, D: 3, Times: "i64"},
		&VoxelizeJob{Points: 100, Cells: 4, Reduce: "count", Cloud: "uniform"},
		&VoxelizeJob{Points: 100, Cells: 4, Features: 2, Reduce: "mean", Cloud: "lidar"},
		&DrawJob{Windows: 5, Episodes: 10, Streams: 2}, &TallyJob{Rows: 40, Columns: 3, Values: "robot"}, &TallyJob{Rows: 40, Columns: 3, Known: 11, Values: "normal"}, &WindowsJob{Windows: 5, Episodes: 3, Ticks: 4, D: 2},
		&FramesJob{Frames: 2, Format: "nv12", Height: 6, Width: 8, To: 3, Out: "u8"}, &FramesJob{Frames: 1, Format: "rgb", Height: 6, Width: 8, To: 3, Out: "bf16", Crop: true, Jitter: true},
		&CopyJob{"d2d", 100}, &LaunchJob{Form: "plan"}, &PipelineJob{1, 4, 3, 2, 2}, &LaunchJob{Form: "shared", Goroutines: 64},
		&LaunchJob{Form: "each", Plans: 5}, &LaunchJob{Form: "batch", Plans: 5}, &LaunchJob{Form: "chain", Plans: 4}, &LaunchJob{Form: "replay", Plans: 4},
		&TrainJob{B: 2, S: 5, T: 3, D: 32, Layers: 1, Heads: 1, FFN: 16, Out: 2},
	}
}

func cpu(t *testing.T) *ops.Device {
	t.Helper()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

func measured(t *testing.T, dev *ops.Device, opt Options, jobs ...Job) *Report {
	t.Helper()
	r, err := Run(context.Background(), dev, jobs, opt)
	require.NoError(t, err)
	r.Program = "robocache test"
	return r
}

func TestEverySuiteIsMeasured(t *testing.T) {
	var seen []string
	opt := quick
	opt.Progress = func(done, all int, j Job) { seen = append(seen, fmt.Sprintf("%d/%d %s", done, all, j.Suite())) }
	r := measured(t, cpu(t), opt, small()...)
	assert.Len(t, r.Rows, len(small()))
	assert.Empty(t, r.Skipped)
	assert.Len(t, seen, len(small()))
	assert.Equal(t, fmt.Sprintf("0/%d resample", len(small())), seen[0])
	for _, row := range r.Rows {
		name := row.Suite + " " + row.Job
		assert.GreaterOrEqual(t, row.Time.Samples, minSamples, name)
		assert.Positive(t, row.Time.Min, name)
		assert.LessOrEqual(t, row.Time.Min, row.Time.P10, name)
		assert.LessOrEqual(t, row.Time.P10, row.Time.Median, name)
		assert.LessOrEqual(t, row.Time.Median, row.Time.P90, name)
		assert.Equal(t, "wall", row.Clock, name)
		if row.Suite == "launch" || row.Suite == "train" {
			assert.Nil(t, row.Limit, name)
			continue
		}
		require.NotNil(t, row.Limit, name)
		assert.InDelta(t, row.Time.Median/row.Limit.Median, row.Ratio, 1e-9, name)
		assert.InDelta(t, float64(row.Read+row.Written)/row.Time.Median/1e3, row.GBs, 1e-9, name)
	}
	for _, s := range suites {
		assert.True(t, strings.Contains(strings.Join(seen, " "), s.name), "suite %s", s.name)
	}
}

func TestTheLeastBytesAreCounted(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	// By hand. Resample: two rows a target where that is less than all rows, all timestamps and targets, the output once.
	for _, x := range []struct {
		job           Job
		read, written int64
	}{
		{&ResampleJob{B: 8, S: 250, T: 128, D: 128}, 8*250*128*2 + 4*8*(250+128), 8 * 128 * 128 * 2},
		{&ResampleJob{B: 2, S: 400, T: 10, D: 3}, 2*2*10*3*2 + 4*2*410, 2 * 10 * 3 * 2},
		{&ResampleJob{B: 2, S: 400, T: 10, D: 3, Form: Form{Values: "f32", Times: "i64"}}, 2*2*10*3*4 + 8*2*410, 2 * 10 * 3 * 4},
		{&FuseJob{B: 2, T: 10, Streams: []FuseShape{{400, 3}, {5, 4}}}, (2*2*10*3+2*5*4)*2 + 4*2*(400+5+10), 2 * 10 * 7 * 2},
		{&VoxelizeJob{Points: 10, Cells: 4, Reduce: "occupancy", Cloud: "uniform"}, 120, 64},
		{&VoxelizeJob{Points: 10, Cells: 4, Features: 2, Reduce: "max", Cloud: "uniform"}, 10 * 4 * 5, 64 * 2 * 4},
		{&DrawJob{Windows: 5, Episodes: 10, Streams: 2}, 16 + 8*(11+10+2*11), 16 + 5*8*7},
		{&DrawJob{Windows: 5, Episodes: 10, Streams: 2, Trusted: true}, 16 + 5*8*7, 16 + 5*8*7},
		{&TallyJob{Rows: 40, Columns: 3, Values: "robot"}, 4*40*3 + 3*8*(2048+1536), 3 * 8 * (2048 + 1536)},
		{&TallyJob{Rows: 40, Columns: 3, Known: 22, Values: "normal"}, 4*40*3 + 3*8*12*2049, 3 * 8 * 12 * 2048},
		{&FramesJob{Frames: 2, Format: "nv12", Height: 6, Width: 8, To: 3, Out: "u8"}, 2 * 48 * 3 / 2, 2 * 3 * 9},
		{&FramesJob{Frames: 3, Format: "rgb", Height: 6, Width: 8, To: 3, Out: "bf16", Crop: true}, 3 * 3 * 9, 3 * 3 * 9 * 2},
		{&CopyJob{"d2d", 77}, 77, 77},
		{&PipelineJob{1, 4, 3, 2, 2}, 4*2*2 + 4*4 + 4*3, 3 * 2 * 2},
	} {
		read, written, err := Runs(cpu(t), x.job, 2)
		require.NoError(t, err)
		assert.Equal(t, []int64{x.read, x.written}, []int64{read, written}, "%s %s", x.job.Suite(), x.job.Name())
	}
}

func TestSetsExceedTheRotation(t *testing.T) {
	opt := quick
	opt.Rotate = 100_000
	r := measured(t, cpu(t), opt, &CopyJob{"d2d", 1000}, &CopyJob{"d2d", 1 << 20}, &CopyJob{"d2d", 1})
	assert.Equal(t, []int{50, 1, maxSets}, []int{r.Rows[0].Sets, r.Rows[1].Sets, r.Rows[2].Sets})
	assert.EqualValues(t, 300e6, must(Options{}.withDefaults(true)).Rotate)
}

func must(o Options, err error) Options {
	if err != nil {
		panic(err)
	}
	return o
}

func TestOptionsHaveFloors(t *testing.T) {
	for _, o := range []Options{{Samples: 4}, {Samples: -1}, {Samples: maxSamples + 1}, {Time: -1}, {Batch: -1}, {Rotate: -1}} {
		_, err := Run(context.Background(), cpu(t), small(), o)
		var e *InputError
		assert.ErrorAs(t, err, &e, "%+v", o)
	}
	r := measured(t, cpu(t), Options{Samples: 5, Time: 20 * time.Millisecond, Batch: 100 * time.Microsecond, Rotate: 1}, &ResampleJob{B: 1, S: 2, T: 1, D: 1})
	assert.Greater(t, r.Rows[0].Time.Samples, minSamples, "the samples go on until they took the time asked for")
}

func TestPlannedCallsAllocateNothing(t *testing.T) {
	opt := quick
	opt.Batch = time.Millisecond
	for _, row := range measured(t, cpu(t), opt, &ResampleJob{B: 2, S: 9, T: 5, D: 3}, &LaunchJob{Form: "plan"}, &LaunchJob{Form: "batch", Plans: 9}, &LaunchJob{Form: "replay", Plans: 9},
		&FuseJob{B: 2, T: 4, Streams: []FuseShape{{5, 2}}},
		&VoxelizeJob{Points: 100, Cells: 4, Reduce: "count", Cloud: "uniform"}, &DrawJob{Windows: 5, Episodes: 10, Streams: 2}).Rows {
		assert.Zero(t, row.HostAllocs, "%s %s", row.Suite, row.Job)
	}
}

func TestWhatTheBackendLacksIsListed(t *testing.T) {
	r := measured(t, cpu(t), quick, &CopyJob{"h2d", 10}, &CopyJob{"d2d", 10}, &LaunchJob{Form: "graph"})
	require.Len(t, r.Rows, 1)
	require.Len(t, r.Skipped, 2)
	assert.Equal(t, Skip{"copies", "h2d 10 B", "the CPU is its own host"}, r.Skipped[0])
	var out bytes.Buffer
	require.NoError(t, r.WriteTable(&out))
	assert.Contains(t, out.String(), "not measured:\n  copies h2d 10 B: the CPU is its own host\n")
}

func TestACutRunHasWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	opt := quick
	var told []string
	opt.Measured = func(done, all int, row *Row) { told = append(told, fmt.Sprintf("%d/%d %s", done, all, row.Job)) }
	opt.Progress = func(done, _ int, _ Job) {
		if done == 2 {
			cancel(errors.New("enough")) // the job that has begun is not measured to its end
		}
	}
	r, err := Run(ctx, cpu(t), small(), opt)
	require.NoError(t, err)
	assert.Len(t, r.Rows, 2)
	assert.Equal(t, fmt.Sprintf("after 2 of %d jobs: enough", len(small())), r.Cut)
	assert.Equal(t, []string{fmt.Sprintf("1/%d %s", len(small()), small()[0].Name()), fmt.Sprintf("2/%d %s", len(small()), small()[1].Name())}, told)
	var out bytes.Buffer
	require.NoError(t, r.WriteTable(&out))
	assert.Contains(t, out.String(), "\ncut short "+r.Cut+"\n")
}

func TestNamesAreUniqueAndChecked(t *testing.T) {
	all, err := Jobs()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, j := range all {
		require.NoError(t, j.check(), "%s %s", j.Suite(), j.Name())
		name := j.Suite() + " " + j.Name()
		assert.False(t, seen[name], name)
		seen[name] = true
		for _, k := range j.Keys() {
			assert.NotRegexp(t, `[ /=]`, k.Name+k.Value, "%s: benchstat splits there", name)
		}
	}
	some, err := Jobs("copies", "launch")
	require.NoError(t, err)
	assert.Len(t, some, 26)
	_, err = Jobs("copys")
	assert.EqualError(t, err, `benchmark: suite: got "copys", want resample, forms, fuse, backward, voxelize, draw, tally, frames, windows, copies, launch, pipeline, train`)
}

func TestShapesComeFromAFile(t *testing.T) {
	jobs, err := ReadShapes(strings.NewReader(`{"jobs": [{"suite": "resample", "B": 1, "S": 2, "T": 3, "D": 4, "kind": "nearest"},
		{"suite": "fuse", "B": 1, "T": 3, "streams": [{"S": 5, "D": 6}]}, {"suite": "voxelize", "points": 7, "cells": 8, "reduce": "count", "cloud": "lidar"}]}`))
	require.NoError(t, err)
	var names []string
	for _, j := range jobs {
		names = append(names, j.Suite()+" "+j.Name())
	}
	assert.Equal(t, []string{"resample 1x2->3x4 nearest", "fuse 1x(5x6)->3", "voxelize count 7->8^3 lidar"}, names)
	for text, want := range map[string]string{
		`{`:                          "the shapes: got unexpected EOF",
		`{"jobs": []}`:               "no jobs",
		`{"jobs": [], "more": 1}`:    `unknown field "more"`,
		`{"jobs": [{"suite": "x"}]}`: `shape 0: benchmark: suite: got "x"`,
		`{"jobs": [{"suite": "resample", "E": 1}]}`:                                                                                  `shape 0: got json: unknown field "E"`,
		`{"jobs": [{"suite": "resample", "B": 1, "S": 1, "T": 3, "D": 4}]}`:                                                          "S: got 1, want 2 to",
		`{"jobs": [{"suite": "resample", "B": 1, "S": 2, "T": 3, "D": 4, "values": "i32"}]}`:                                         `values: got "i32"`,
		`{"jobs": [{"suite": "resample", "B": 1, "S": 2, "T": 3, "D": 4, "kind": "cubic"}]}`:                                         `kind: got "cubic"`,
		`{"jobs": [{"suite": "voxelize", "points": 7, "cells": 8, "reduce": "mean", "cloud": "lidar"}]}`:                             "features: got 0",
		`{"jobs": [{"suite": "draw", "windows": 7, "episodes": 1, "streams": 17}]}`:                                                  "streams: got 17, want 0 to 16",
		`{"jobs": [{"suite": "frames", "frames": 1, "format": "rgb", "height": 2, "width": 2, "to": 3, "out": "u8", "crop": true}]}`: "height: got 2, want 3 to",
		`{"jobs": [{"suite": "copies", "direction": "up", "bytes": 1}]}`:                                                             `direction: got "up"`,
		`{"jobs": [{"suite": "launch", "form": "shared"}]}`:                                                                          "goroutines: got 0, want 1 to",
		`{"jobs": [{"suite": "launch", "form": "plan", "goroutines": 2}]}`:                                                           "goroutines, but of shared: got 2",
		`{"jobs": [{"suite": "launch", "form": "batch"}]}`:                                                                           "plans: got 0, want 1 to",
		`{"jobs": [{"suite": "launch", "form": "each", "plans": 2, "at_once": 2}]}`:                                                  "at_once, but of batch: got 2",
		`{"jobs": [{"suite": "launch", "form": "up"}]}`:                                                                              `form: got "up"`,
		`{"jobs": []} {}`: "more after",
	} {
		_, err := ReadShapes(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
		var e *InputError
		assert.ErrorAs(t, err, &e, text)
	}
}

func TestSweepsRepeat(t *testing.T) {
	a, err := Sweep(40, 7)
	require.NoError(t, err)
	b, err := Sweep(40, 7)
	require.NoError(t, err)
	assert.Equal(t, a, b)
	c, err := Sweep(40, 8)
	require.NoError(t, err)
	assert.NotEqual(t, a, c)
	for _, j := range append(a, c...) {
		assert.NoError(t, j.check(), j.Name())
	}
	only, err := Sweep(5, 1, "fuse")
	require.NoError(t, err)
	for _, j := range only {
		assert.Equal(t, "fuse", j.Suite())
	}
	_, err = Sweep(5, 1, "launch")
	assert.ErrorContains(t, err, "a suite with shapes")
	_, err = Sweep(5, 1, "nothing")
	assert.ErrorContains(t, err, `got "nothing"`)
}

func TestQuantiles(t *testing.T) {
	s := newStats([]float64{5, 1, 4, 2, 3}, 10)
	assert.Equal(t, []float64{3, 1.4, 4.6, 1}, []float64{s.Median, s.P10, s.P90, s.Min})
	assert.Equal(t, 2.5, newStats([]float64{4, 1}, 1).Median)
}

func TestTheHostsLimitMovesEveryByte(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, threads := range []int{1, 2, 3, 8} {
		for _, n := range [][2]int{{0, 0}, {1, 1}, {33, 7}, {7, 33}, {1000, 1000}, {4096, 100}, {100, 4096}} {
			src, dst := make([]byte, n[0]), bytes.Repeat([]byte{0xee}, n[1])
			for i := range src {
				src[i] = byte(i%200) + 1
			}
			move(dst, src, threads)
			assert.NotContains(t, dst, byte(0xee), "%d threads, %v: a byte was not written", threads, n)
			if n[0] == n[1] {
				assert.Equal(t, src, dst)
			}
		}
	}
	// What is read beyond the copy counts too: it shows in the sum.
	src := make([]byte, 1024)
	before := move(nil, src, 2)
	src[1023] = 1
	assert.NotEqual(t, before, move(nil, src, 2))
}

func TestReportsAreJoined(t *testing.T) {
	r := measured(t, cpu(t), quick, small()...)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	again, err := ReadReport(bytes.NewReader(text), "ours.json")
	require.NoError(t, err)
	require.Len(t, again.Rows, len(r.Rows))
	peers, err := ReadReport(strings.NewReader(`{"program": "PyTorch 2.11", "device": {"product": "H200"}, "rows": [
		{"suite": "resample", "job": "2x9->5x3", "variant": "eager", "time": {"median_us": 1000}},
		{"suite": "resample", "job": "2x9->5x3", "variant": "compiled", "time": {"median_us": 10}},
		{"suite": "resample", "job": "1x1->1x1", "variant": "eager", "time": {"median_us": 1000}}]}`), "peers.json")
	require.NoError(t, err)
	again.Compare(peers)
	assert.Equal(t, []string{"resample 1x1->1x1 by PyTorch 2.11 eager"}, again.Left)
	again.Rows[0].Time.Median = 50
	var out bytes.Buffer
	require.NoError(t, again.WriteTable(&out))
	assert.Regexp(t, regexp.MustCompile(`others, on the same jobs\njob +who +us +ours +theirs / ours\n2x9->5x3 +PyTorch 2.11 eager +1000 +50.00 +20.00\n2x9->5x3 +PyTorch 2.11 compiled +10.00 +50.00 +0.20\n`), out.String())

	for text, want := range map[string]string{
		`{}`:             "no rows",
		`{"rows": [{}]}`: "row 0: got suite",
		`{"rows": [{"suite": "a", "job": "b", "time": {"median_us": 0}}]}`: "median 0",
		`{"rows": [], "x": 1}`: "unknown field",
	} {
		_, err := ReadReport(strings.NewReader(text), "peers.json")
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "peers.json")
	}
}

func TestBenchstatReadsTheLines(t *testing.T) {
	r := measured(t, cpu(t), quick, &ResampleJob{B: 2, S: 9, T: 5, D: 3}, &LaunchJob{Form: "plan"})
	var out bytes.Buffer
	require.NoError(t, r.WriteBenchstat(&out))
	line := regexp.MustCompile(`(?m)^BenchmarkResample/backend=cpu/B=2/S=9/T=5/D=3 \d+ [\d.]+ ns/op [\d.]+ GB/s [\d.]+ x-limit$`)
	assert.Len(t, line.FindAllString(out.String(), -1), r.Rows[0].Time.Samples, "a line for each sample")
	assert.Regexp(t, regexp.MustCompile(`(?m)^BenchmarkLaunch/backend=cpu/form=plan \d+ [\d.]+ ns/op$`), out.String())
}

func TestMarkdownHasATableForEachSuite(t *testing.T) {
	r := &Report{Program: "robocache 1", Device: Device{Product: "H200", Driver: "580"}, Launch: "ready", Skipped: []Skip{{"fuse", "4x(1x1)->1", "no"}}, Cut: "after 3 of 4 jobs: time", Rows: []Row{
		{Suite: "resample", Job: "a", Time: Stats{Median: 5, P10: 4, P90: 6}, Limit: &Stats{Median: 4}, Ratio: 1.25, Peers: []Peer{{"torch", Stats{Median: 10}}}},
		{Suite: "resample", Job: "b|c", Time: Stats{Median: 200, P10: 199, P90: 201}},
		{Suite: "launch", Job: "empty", Time: Stats{Median: 0.5, P10: 0.5, P90: 0.5}},
	}}
	var out bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&out))
	assert.Equal(t, `robocache 1; H200; 580; launch mode ready. Microseconds a call.

| resample | ours | p10..p90 | limit | ratio | torch | that / ours |
|---|---|---|---|---|---|---|
| a | 5.00 | 4.00..6.00 | 4.00 | 1.25 | 10.00 | 2.00 |
| b\|c | 200.0 | 199.0..201.0 |  |  |  |  |

| launch | ours | p10..p90 |
|---|---|---|
| empty | 0.50 | 0.50..0.50 |

Not measured:

- fuse 4x(1x1)->1: no

Cut short after 3 of 4 jobs: time.
`, out.String())
}

// The suites of a sweep come in turn: each has one table all the same, and its median is told before the worst of all.
func TestSuitesInTurnHaveOneTableEach(t *testing.T) {
	row := func(suite, job string, us float64) Row {
		return Row{Suite: suite, Job: job, Time: Stats{Median: us}, Limit: &Stats{Median: 1}, Ratio: us}
	}
	r := &Report{Rows: []Row{row("resample", "a", 2), row("fuse", "b", 7), row("resample", "c", 3), row("fuse", "d", 5), row("resample", "e", 4), {Suite: "launch", Job: "empty"}}}
	var out bytes.Buffer
	for _, write := range []func(io.Writer) error{r.WriteMarkdown, r.WriteTable} {
		out.Reset()
		require.NoError(t, write(&out))
		for _, job := range []string{"a", "b", "c", "d", "e"} {
			assert.Len(t, regexp.MustCompile(`(?m)^[| ]*`+job+` `).FindAllString(out.String(), -1), 1, job)
		}
	}
	out.Reset()
	require.NoError(t, r.WriteWorst(&out, 3, ", seed 1"))
	assert.Equal(t, `
median ratio 4.00: resample 3.00, fuse 5.00
the worst of 5, seed 1:

    7.00  7.00 us  fuse b
    5.00  5.00 us  fuse d
    4.00  4.00 us  resample e
`, out.String())
	out.Reset()
	require.NoError(t, (&Report{Rows: r.Rows[5:]}).WriteWorst(&out, 3, ""))
	assert.Equal(t, "\nno job has a limit\n", out.String())
}

func TestPicturesShowWhatHasALimit(t *testing.T) {
	r := measured(t, cpu(t), quick, small()...)
	r.Rows[0].Peers = []Peer{{"PyTorch eager", Stats{Median: 500}}, {"PyTorch compiled", Stats{Median: 1}}}
	r.Empty = &Stats{Median: 0.5}
	var out bytes.Buffer
	require.NoError(t, r.WritePNG(&out))
	img, err := png.Decode(&out)
	require.NoError(t, err)
	blue := 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if cr, cg, cb, _ := img.At(x, y).RGBA(); cr>>8 == 0 && cg>>8 == 114 && cb>>8 == 178 {
				blue++
			}
		}
	}
	assert.Greater(t, blue, 100, "our bars and dots")
	r = measured(t, cpu(t), quick, &LaunchJob{Form: "plan"})
	var e *InputError
	assert.ErrorAs(t, r.WritePNG(&out), &e)
}
