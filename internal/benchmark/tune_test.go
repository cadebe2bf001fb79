package benchmark

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// faked is a tuner on the simulated device whose times come from a function of the choice, and the number of the measurement.
func faked(t *testing.T, took func(c cuda.Choice, n int) float64) *tuner {
	t.Helper()
	t.Setenv("ROBOCACHE_TUNED", "")
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	r, err := newRig(dev, quick)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, r.close())
		assert.NoError(t, dev.Close())
	})
	n := 0
	return &tuner{rig: r, time: func(w *work, opt Options) (Stats, error) {
		list, err := cuda.Explain(w.plan)
		if err != nil {
			return Stats{}, err
		}
		n++
		us := took(list[0].Choice, n)
		return newStats([]float64{us, us, us, us, us}, 1), nil
	}}
}

// tuned are small jobs of every kernel that has choices.
func tuned() []Job {
	return []Job{
		&ResampleJob{B: 2, S: 64, T: 300, D: 8},
		&ResampleJob{B: 2, S: 64, T: 300, D: 7, Form: Form{Values: "f64", Valid: true, Age: true, Clock: "gapped", MaxGap: 100}},
		&ResampleJob{B: 2, S: 64, T: 100, D: 7, Form: Form{Values: "f32"}, Channels: []ChannelShape{{"linear", 3}, {"slerp", 4}}},
		&FuseJob{B: 2, T: 60, Streams: []FuseShape{{30, 8}, {40, 4}}},
		&FuseJob{B: 2, T: 60, Streams: []FuseShape{{30, 4}, {40, 4}}, Form: Form{Values: "f64"}},
		&ResampleJob{B: 2, S: 64, T: 300, D: 9, Form: Form{MaxGap: 100}},
		&FuseJob{B: 2, T: 60, Streams: []FuseShape{{30, 3}, {40, 65}}},
		&ResampleJob{B: 2, S: 64, T: 100, D: 7, Form: Form{Values: "f32", Clock: "gapped", MaxGap: 100}, Channels: []ChannelShape{{"linear", 3}, {"slerp", 4}}},
	}
}

func TestTuneKeepsWhatIsFaster(t *testing.T) {
	want := map[string]cuda.Choice{}
	tn := faked(t, func(c cuda.Choice, _ int) float64 {
		if c.Each == 4 || c.Tile == 8 || c.Items == 2 && c.Threads == 64 || c.Threads == 32 {
			return 8
		}
		return 10
	})
	var told []string
	report, table, err := tn.run(append(tuned(), &CopyJob{"d2d", 100}), func(_, _ int, row *Tuning) { told = append(told, row.Job) })
	require.NoError(t, err)
	require.Len(t, report.Rows, len(tuned()))
	assert.Len(t, told, len(tuned()))
	assert.Equal(t, []Skip{{"copies", "d2d 100 B", "a call is not the run of a plan"}}, report.Skipped)
	assert.Equal(t, "", report.Path, "a simulated device has no place for a table")
	for _, row := range report.Rows {
		assert.Greater(t, row.Candidates, 1, row.Job)
		if row.Best == row.Model {
			assert.False(t, row.Kept, row.Job)
			assert.Nil(t, row.BestTime)
			assert.Equal(t, "the model's choice was the fastest", row.Why)
			continue
		}
		assert.True(t, row.Kept, "%s: %s", row.Job, row.Why)
		assert.Equal(t, 1.25, row.Gain(), row.Job)
		want[row.Class.Kernel] = row.Best
	}
	assert.Len(t, want, len(tuned()), "one of each kernel")
	got := map[string]cuda.Choice{}
	for _, e := range table.Entries() {
		got[e.Class.Kernel] = e.Choice
		assert.Equal(t, [2]float64{10, 8}, [2]float64{e.Model, e.Tuned})
	}
	assert.Equal(t, want, got)
	now, _, err := cuda.Tuned(tn.rig.stream)
	require.NoError(t, err)
	assert.Empty(t, now.Entries(), "what the device used before it uses after")
	var out bytes.Buffer
	require.NoError(t, report.WriteTable(&out))
	assert.Regexp(t, `(?m)^resample 2x64->300x8 +resample_plain_bf16 +\d+ +each 1, .* +10.00 +.* 8.00 +1.250 +yes$`, out.String())
	assert.Contains(t, out.String(), "not tuned:\n  copies d2d")
}

func TestTuneKeepsNothingWithinTheNoise(t *testing.T) {
	job := tuned()[:1]
	for what, took := range map[string]func(c cuda.Choice, n int) float64{
		"a gain below 1 %": func(c cuda.Choice, _ int) float64 { return 10 - 0.02*float64(c.Each) },
		"rounds that overlap": func(c cuda.Choice, n int) float64 {
			if c.Each == 1 {
				return []float64{10, 9.5, 10, 10, 7.5}[n%5]
			}
			return 8
		},
	} {
		report, table, err := faked(t, took).run(job, nil)
		require.NoError(t, err)
		row := report.Rows[0]
		assert.NotEqual(t, row.Model, row.Best, what)
		assert.False(t, row.Kept || row.Better, "%s: %s", what, row.Why)
		assert.Empty(t, table.Entries(), what)
	}
	report, _, err := faked(t, func(c cuda.Choice, _ int) float64 { return float64(c.Each) }).run(job, nil)
	require.NoError(t, err)
	assert.Equal(t, "the model's choice was the fastest", report.Rows[0].Why)
}

// What is measured anew takes the place of what the table had for its class, and leaves the rest.
func TestTuneReplacesTheClassesItMeasured(t *testing.T) {
	tn := faked(t, func(c cuda.Choice, _ int) float64 { return 10 / float64(c.Each+c.Items) })
	_, both, err := tn.run([]Job{tuned()[0], tuned()[4]}, nil)
	require.NoError(t, err)
	require.Len(t, both.Entries(), 2)
	require.NoError(t, cuda.UseTable(tn.rig.stream, both))
	slower := faked(t, func(c cuda.Choice, _ int) float64 { return float64(c.Each + c.Items) })
	require.NoError(t, cuda.UseTable(slower.rig.stream, both))
	_, left, err := slower.run([]Job{tuned()[0]}, nil)
	require.NoError(t, err)
	require.Len(t, left.Entries(), 1)
	assert.Equal(t, "fuse", left.Entries()[0].Class.Kernel)
}

func TestAClassKeepsWhatSlowsNoneOfItsJobs(t *testing.T) {
	class := cuda.Class{Kernel: "resample_plain_bf16"}
	model, other, third := cuda.Choice{Each: 1, Threads: 128, Check: 1024}, cuda.Choice{Each: 2, Threads: 128, Check: 1024}, cuda.Choice{Each: 4, Threads: 128, Check: 1024}
	row := func(best cuda.Choice, better bool, shortOther, shortThird, took float64) Tuning {
		return Tuning{Class: class, Model: model, Best: best, Better: better, ModelTime: &Stats{Median: 10}, BestTime: &Stats{Median: took},
			short: map[cuda.Choice]float64{model: 10, other: shortOther, third: shortThird}}
	}
	for what, c := range map[string]struct {
		rows []Tuning
		want []cuda.Choice
	}{
		"one job":                    {[]Tuning{row(other, true, 8, 9, 8)}, []cuda.Choice{other}},
		"as good elsewhere":          {[]Tuning{row(other, true, 8, 9, 8), row(model, false, 10, 12, 10)}, []cuda.Choice{other}},
		"slower elsewhere":           {[]Tuning{row(other, true, 8, 9, 8), row(model, false, 11, 12, 10)}, nil},
		"the larger gain":            {[]Tuning{row(other, true, 8, 9, 8), row(third, true, 9, 7, 7)}, []cuda.Choice{third}},
		"the one that slows nothing": {[]Tuning{row(other, true, 8, 12, 8), row(third, true, 9, 7, 7)}, []cuda.Choice{other}},
	} {
		table := cuda.NewTable(cuda.Identity{})
		require.NoError(t, keep(c.rows, table), what)
		var got []cuda.Choice
		for _, e := range table.Entries() {
			got = append(got, e.Choice)
		}
		assert.Equal(t, c.want, got, what)
		for _, r := range c.rows {
			assert.Equal(t, len(c.want) > 0 && r.Best == c.want[0], r.Kept, "%s: %s", what, r.Why)
		}
	}
}

// straying is a job whose values change when its plans are made anew, as a launch shape that changes results would change them.
type straying struct{ ResampleJob }

func (j *straying) prepare(r *rig) (*work, error) {
	w, err := j.ResampleJob.prepare(r)
	if err != nil {
		return nil, err
	}
	again, other := w.again, &ResampleJob{B: j.B, S: j.S, T: j.T, D: j.D, Form: Form{Clock: "even"}}
	w.again = func() error {
		o, err := other.prepare(r)
		if err != nil {
			return err
		}
		w.later(o.close)
		w.run, w.plan = o.run, o.plan
		w.outputs = o.outputs
		return again()
	}
	return w, nil
}

func TestTuneRefusesAChoiceThatChangesBits(t *testing.T) {
	_, _, err := faked(t, func(cuda.Choice, int) float64 { return 1 }).run([]Job{&straying{ResampleJob{B: 2, S: 64, T: 300, D: 8}}}, nil)
	assert.ErrorContains(t, err, "gives other bits than")
}

func TestTuneIsCutBetweenSamples(t *testing.T) {
	tn := faked(t, func(cuda.Choice, int) float64 { return 1 })
	ctx, cancel := context.WithCancelCause(context.Background())
	tn.rig.ctx = ctx
	report, table, err := tn.run(tuned(), func(done, _ int, _ *Tuning) { cancel(errors.New("enough")) })
	require.NoError(t, err)
	assert.Len(t, report.Rows, 1)
	assert.Equal(t, "after 1 of 8 jobs: enough", report.Cut)
	assert.Empty(t, table.Entries())
}

func TestTheCPUIsNotTuned(t *testing.T) {
	_, _, err := Tune(context.Background(), cpu(t), tuned(), quick, nil)
	var e *InputError
	assert.ErrorAs(t, err, &e)
}

func TestTuneMeasures(t *testing.T) {
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		report, table, err := Tune(context.Background(), dev, tuned(), quick, nil)
		require.NoError(t, err)
		require.Len(t, report.Rows, len(tuned()))
		kept := 0
		for _, row := range report.Rows {
			assert.Positive(t, row.ModelTime.Median, row.Job)
			assert.GreaterOrEqual(t, row.ModelTime.Samples, tuneRounds*minSamples)
			if row.Kept {
				kept++
			}
		}
		assert.Equal(t, kept, report.Classes)
		assert.Len(t, table.Entries(), kept)
	})
}
