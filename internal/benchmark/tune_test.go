package benchmark

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
)

// tuning tunes jobs on the simulated device, whose times come from a function of the policy, 0 being the heuristic's, and the number of the measurement.
type tuning struct {
	dev    *ops.Device
	device tuned.Device
	told   func(done int)
	ctx    context.Context
}

func newTuning(t *testing.T) *tuning {
	t.Helper()
	t.Setenv("ROBOCACHE_TUNED", "")
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return &tuning{dev, dev.Queue().Backend().(tuned.Device), func(int) {}, context.Background()}
}

func (x *tuning) run(jobs []Job, took func(choice, n int) float64) (*TuneReport, *tuned.Table, error) {
	n, opt := 0, quick
	opt.clock = func(w *work) (Stats, error) {
		key, list, err := w.plan.Backend().(tuned.Plan).Candidates()
		if err != nil {
			return Stats{}, err
		}
		now, _ := x.device.Tuned()
		c, _ := now.Lookup(key)
		n++
		us := took(slices.Index(list, c), n)
		return newStats([]float64{us, us, us, us, us}, 1), nil
	}
	return Tune(x.ctx, x.dev, jobs, opt, func(done, _ int, _ *Tuning) { x.told(done) })
}

// tunedJobs are small jobs of several kernels: plain rows, odd ones, poses, fusions.
func tunedJobs() []Job {
	return []Job{
		&ResampleJob{B: 2, S: 64, T: 300, D: 8},
		&ResampleJob{B: 2, S: 64, T: 300, D: 7, Form: Form{Values: "f64", Valid: true, Age: true, Clock: "gapped", MaxGap: 100}},
		&ResampleJob{B: 2, S: 64, T: 100, D: 7, Form: Form{Values: "f32"}, Channels: []ChannelShape{{"linear", 3}, {"slerp", 4}}},
		&FuseJob{B: 2, T: 60, Streams: []FuseShape{{30, 8}, {40, 4}}},
		&FuseJob{B: 2, T: 60, Streams: []FuseShape{{30, 7}, {40, 5}}},
	}
}

// fast is what makes the second policy, if there is one, the best.
func fast(choice, _ int) float64 { return []float64{10, 8}[min(choice, 1)] + float64(choice)/100 }

func TestTuneKeepsWhatIsFaster(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	x := newTuning(t)
	report, table, err := x.run(append(tunedJobs(), &CopyJob{"d2d", 100}), fast)
	require.NoError(t, err)
	require.Len(t, report.Rows, len(tunedJobs()))
	assert.Equal(t, []Skip{{"copies", "d2d 100 B", "what it launches is fixed"}}, report.Skipped)
	for _, row := range report.Rows {
		assert.Greater(t, row.Candidates, 1, row.Job)
		assert.True(t, row.Kept, row.Why)
		c, _ := table.Lookup(row.Key)
		assert.Equal(t, row.Best, c)
		assert.NotEqual(t, row.Heuristic, c)
	}
	require.Len(t, table.Entries(), len(tunedJobs()))
	assert.Equal(t, len(tunedJobs()), report.Keys)
	assert.Equal(t, [2]float64{10, 8.01}, [2]float64{table.Entries()[0].Heuristic, table.Entries()[0].Tuned})
	now, _ := x.device.Tuned()
	assert.Empty(t, now.Entries(), "what the device used before it uses after")
	var out bytes.Buffer
	require.NoError(t, report.WriteTable(&out))
	assert.Regexp(t, `(?m)^resample 2x64->300x8 +\d+ +resample_small check \d+ +10.00 +resample_fast items \d.* 8.01 +1.248 +yes$`, out.String())
	assert.Contains(t, out.String(), "not measured:\n  copies d2d")
}

func TestTuneKeepsNothingWithinTheNoise(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	job := tunedJobs()[:1]
	for what, took := range map[string]func(choice, n int) float64{
		"a gain below 1 %": func(choice, _ int) float64 { return 10 - min(.09, float64(choice)) },
		"rounds that overlap": func(choice, n int) float64 {
			if choice == 0 {
				return []float64{10, 9.5, 10, 10, 7.5}[n/2%5] // in one of five rounds
			}
			return 8
		},
	} {
		report, table, err := newTuning(t).run(job, took)
		require.NoError(t, err)
		row := report.Rows[0]
		assert.NotEqual(t, row.Heuristic, row.Best, what)
		assert.Contains(t, row.Why, "faster by less than the noise", what)
		assert.False(t, row.Kept, what)
		assert.Empty(t, table.Entries(), what)
	}
}

// What is measured anew takes the place of what the table had for its key, and leaves the rest.
func TestTuneReplacesTheKeysItMeasured(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	x := newTuning(t)
	_, both, err := x.run([]Job{tunedJobs()[0], tunedJobs()[4]}, fast)
	require.NoError(t, err)
	require.Len(t, both.Entries(), 2)
	require.NoError(t, x.device.Tune(both))
	report, left, err := x.run(tunedJobs()[:1], func(choice, _ int) float64 { return float64(choice) })
	require.NoError(t, err)
	assert.Equal(t, "the heuristic's policy was the fastest", report.Rows[0].Why)
	require.Len(t, left.Entries(), 1)
	assert.True(t, strings.HasPrefix(left.Entries()[0].Key.Variant, "fuse"))
}

func TestAKeyKeepsWhatSlowsNoneOfItsJobs(t *testing.T) {
	heuristic, other, third := tuned.Policy{ItemsPerThread: 1}, tuned.Policy{ItemsPerThread: 2}, tuned.Policy{ItemsPerThread: 4}
	row := func(best tuned.Policy, shortOther, shortThird, took float64) Tuning {
		return Tuning{Heuristic: heuristic, Best: best, better: best != heuristic, HeuristicTime: &Stats{Median: 10}, BestTime: &Stats{Median: took},
			short: map[tuned.Policy]float64{heuristic: 10, other: shortOther, third: shortThird}}
	}
	for what, c := range map[string]struct {
		rows []Tuning
		want tuned.Policy
	}{
		"one job":                    {[]Tuning{row(other, 8, 9, 8)}, other},
		"as good elsewhere":          {[]Tuning{row(other, 8, 9, 8), row(heuristic, 10, 12, 10)}, other},
		"slower elsewhere":           {[]Tuning{row(other, 8, 9, 8), row(heuristic, 11, 12, 10)}, tuned.Policy{}},
		"the larger gain":            {[]Tuning{row(other, 8, 9, 8), row(third, 9, 7, 7)}, third},
		"the one that slows nothing": {[]Tuning{row(other, 8, 12, 8), row(third, 9, 7, 7)}, other},
	} {
		table := tuned.New(tuned.Identity{})
		keep(c.rows, table)
		got, _ := table.Lookup(tuned.Key{})
		assert.Equal(t, c.want, got, what)
		for _, r := range c.rows {
			assert.Equal(t, r.Best == c.want, r.Kept, "%s: %s", what, r.Why)
		}
	}
}

// straying is a job that writes something else once its plans are made anew, as by a launch shape that changes results.
type straying struct{ ResampleJob }

func (j *straying) prepare(r *rig) (*work, error) {
	w, err := j.ResampleJob.prepare(r)
	if err == nil {
		w.again = func() error {
			w.run = func(int) error {
				place, _ := w.outputs[0].Addr()
				return r.queue.Memset8(cudadrv.DevicePtr(place), 1, 1)
			}
			return nil
		}
	}
	return w, err
}

func TestTuneRefusesAPolicyThatChangesBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	_, _, err := newTuning(t).run([]Job{&straying{ResampleJob{B: 2, S: 64, T: 300, D: 8}}}, func(_, _ int) float64 {
		t.Error("a time was taken")
		return 1
	})
	assert.ErrorContains(t, err, "gives other bits than")
}

func TestTuneIsCutBetweenJobs(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	x := newTuning(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	x.ctx, x.told = ctx, func(int) { cancel(errors.New("enough")) }
	report, table, err := x.run(tunedJobs(), fast)
	require.NoError(t, err)
	assert.Len(t, report.Rows, 1)
	assert.Equal(t, "after 1 of 5 jobs: enough", report.Cut)
	assert.Len(t, table.Entries(), 1, "the jobs before that count")
}

func TestTuneMeasures(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	onDevices(t, func(t *testing.T, dev *ops.Device) {
		jobs := tunedJobs()
		if dev.Info().Backend == "sim" && !thorough.Long {
			jobs = jobs[2:4] // one of each operation; TestTuneKeepsWhatIsFaster has them all
		}
		report, _, err := Tune(context.Background(), dev, jobs, quick, func(int, int, *Tuning) {})
		require.NoError(t, err)
		require.Len(t, report.Rows, len(jobs))
		for _, row := range report.Rows {
			assert.Positive(t, row.HeuristicTime.Median, row.Job)
		}
	})
}

// What the device's table had is kept: tuning does not begin from a table that the system did not read.
func TestTuningDoesNotReplaceATableThatWasNotRead(t *testing.T) {
	x := newTuning(t)
	table, _ := x.device.Tuned()
	table.Unread = syscall.EIO
	require.NoError(t, x.device.Tune(table))
	_, got, err := x.run(tunedJobs(), func(int, int) float64 { return 1 })
	assert.ErrorIs(t, err, syscall.EIO)
	assert.Nil(t, got)
}
