package benchmark

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
)

// tuneRounds is how often the model's choice and the best one are measured, in turn, and leastGain the share of the model's time
// below which a gain is none.
const (
	tuneRounds = 5
	leastGain  = 0.01
)

// Tuning is what was found for a job.
type Tuning struct {
	Suite      string       `json:"suite"`
	Job        string       `json:"job"`
	Class      tuned.Class  `json:"class"`
	Candidates int          `json:"candidates"` // that were measured, the model's among them
	Model      tuned.Choice `json:"model"`
	Best       tuned.Choice `json:"best"`                // in the short runs, by which the candidates are ranked
	ModelTime  *Stats       `json:"model_time"`          // in the short run where the model's choice was the best
	BestTime   *Stats       `json:"best_time,omitempty"` // none where the model's choice was the best
	Kept       bool         `json:"kept"`                // for the class
	Why        string       `json:"why"`

	short  map[tuned.Choice]float64 // medians of the short runs
	better bool                     // by more than the noise
}

// TuneReport is what was measured in one run.
type TuneReport struct {
	Report           // without its rows
	Rows    []Tuning `json:"rows"`
	Path    string   `json:"path"`    // of the table
	Classes int      `json:"classes"` // in it
}

// tuner is a run of Tune.
type tuner struct {
	*rig
	device tuned.Device
	before *tuned.Table // that the device used
}

// Tune looks for launch shapes that are faster than the model's for the jobs, and gives a copy of the device's table with those it
// found in place of what it had for their classes.
//
// Of each job all candidates are measured in a short run, each after a check that it gives the bits of the model's. The fastest is then
// measured anew beside the model's, five times in turn. It is better if the slowest of its five medians is below the fastest of the
// model's, and its median by 1 % of the model's. For a class it is kept if it is better for a job, and in no job of the class
// slower than the model's in the short runs. The context ends it between two samples: jobs before that count.
func Tune(ctx context.Context, dev *ops.Device, jobs []Job, opt Options, told func(done, all int, row *Tuning)) (report *TuneReport, table *tuned.Table, err error) {
	device, ok := dev.Stream().(tuned.Device)
	if !ok {
		return nil, nil, &InputError{"tune", dev.Name(), "a GPU: the CPU launches no kernels"}
	}
	t := &tuner{device: device}
	if t.rig, err = newRig(dev, opt); err != nil {
		return nil, nil, err
	}
	t.ctx = ctx
	t.before, _ = device.Tuned()
	defer func() { err = errors.Join(err, device.Tune(t.before), t.close()) }()
	report = &TuneReport{Report: Report{Device: deviceOf(dev), Launch: opt.Launch.String()}}
	report.Skipped, report.Cut, err = t.inTurn(jobs, func(k int, j Job) error {
		row, err := t.tune(j)
		if err == nil {
			report.Rows = append(report.Rows, *row)
			told(k+1, len(jobs), row)
		}
		return err
	})
	table = t.before.Clone()
	keep(report.Rows, table)
	report.Classes = len(table.Entries())
	return report, table, err
}

// tune measures one job's candidates, and the best of them at length.
func (t *tuner) tune(j Job) (row *Tuning, err error) {
	if err := t.device.Tune(nil); err != nil {
		return nil, err
	}
	w, err := j.prepare(t.rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	row = &Tuning{Suite: j.Suite(), Job: j.Name(), short: map[tuned.Choice]float64{}}
	var list []tuned.Choice
	if plan, ok := w.plan.(tuned.Plan); ok && w.again != nil {
		row.Class, list, err = plan.Candidates()
	}
	if err != nil || len(list) < 2 {
		return nil, cmp.Or[error](err, &skipped{"what it launches is fixed"})
	}
	want, err := t.written(w)
	if err != nil {
		return nil, err
	}
	row.Candidates, row.Model, row.Best = len(list), list[0], list[0]
	for _, c := range list {
		s, err := t.take(w, row.Class, c, want, minSamples, 1)
		if err != nil {
			return nil, err
		}
		if row.short[c] = s.Median; c == row.Model {
			row.ModelTime = &s
		} else if s.Median < row.short[row.Best] {
			row.Best = c
		}
	}
	if row.Best == row.Model {
		row.Why = "the model's choice was the fastest"
		return row, nil
	}
	var samples, medians [2][]float64
	var all [2]Stats
	for range tuneRounds {
		for i, c := range []tuned.Choice{row.Model, row.Best} {
			s, err := t.take(w, row.Class, c, want, max(t.opt.Samples/tuneRounds, minSamples), max(t.opt.Time/tuneRounds, 1))
			if err != nil {
				return nil, err
			}
			samples[i], medians[i] = append(samples[i], s.samples...), append(medians[i], s.Median)
			all[i] = newStats(samples[i], s.Calls)
		}
	}
	row.ModelTime, row.BestTime = &all[0], &all[1]
	row.better = all[1].Median <= (1-leastGain)*all[0].Median && slices.Max(medians[1]) < slices.Min(medians[0])
	if row.Why = fmt.Sprintf("%v was faster in each of %d rounds", row.Best, tuneRounds); !row.better {
		row.Why = fmt.Sprintf("%v was faster by less than the noise or %.0f %%", row.Best, 100*leastGain)
	}
	return row, nil
}

// take makes the plans of a work anew by a choice, and times them if they write what is wanted.
func (t *tuner) take(w *work, class tuned.Class, c tuned.Choice, want []byte, samples int, least time.Duration) (Stats, error) {
	table := tuned.New(t.before.For)
	table.Set(tuned.Entry{Class: class, Choice: c})
	if err := errors.Join(t.device.Tune(table), w.again()); err != nil {
		return Stats{}, err
	}
	got, err := t.written(w)
	if err != nil {
		return Stats{}, err
	}
	if !bytes.Equal(got, want) {
		return Stats{}, fmt.Errorf("%v gives other bits than the model's choice, of %v", c, class)
	}
	r := *t.rig
	r.opt.Samples, r.opt.Time = samples, least
	return r.time(w)
}

// written is what the first set's plan writes, into memory that held something else.
func (t *tuner) written(w *work) (all []byte, err error) {
	for _, o := range w.outputs {
		place, _ := at(o, 0).Addr()
		size := at(o, 0).Len() * o.DType().Size()
		if err := errors.Join(t.queue.Memset8(cudadrv.DevicePtr(place), 0xa5, int64(size)), w.run(0), t.wait()); err != nil {
			return nil, err
		}
		all = append(all, make([]byte, size)...)
		if err := t.queue.Context().CopyToHost(context.Background(), all[len(all)-size:], cudadrv.DevicePtr(place)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// keep puts what is better for a job, and worse for none, into the table, and takes what the table had for the other classes out.
func keep(rows []Tuning, table *tuned.Table) {
	var order []*Tuning // the largest gain first
	for i := range rows {
		table.Drop(rows[i].Class)
		order = append(order, &rows[i])
	}
	slices.SortStableFunc(order, func(x, y *Tuning) int { return cmp.Compare(y.Gain(), x.Gain()) })
	for _, row := range order {
		c, has := table.Lookup(row.Class)
		slower := func(o Tuning) bool { return o.Class == row.Class && o.short[row.Best] > (1+leastGain)*o.short[o.Model] }
		switch {
		case !row.better:
		case has && c != row.Best:
			row.Why = fmt.Sprintf("another job of the class gained more by %v", c)
		case slices.ContainsFunc(rows, slower):
			row.Why = fmt.Sprintf("%v was slower for another job of the class", row.Best)
		default:
			if row.Kept = true; !has {
				table.Set(tuned.Entry{Class: row.Class, Choice: row.Best, Job: row.Suite + " " + row.Job, Model: row.ModelTime.Median, Tuned: row.BestTime.Median})
			}
		}
	}
}

// Gain is how many times as fast as the model's choice the best one was, 1 where it was the model's.
func (t *Tuning) Gain() float64 {
	if t.BestTime == nil {
		return 1
	}
	return t.ModelTime.Median / t.BestTime.Median
}

// WriteTable writes a line a job, below what every report says.
func (r *TuneReport) WriteTable(out io.Writer) error {
	if err := r.Report.WriteTable(out); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\njob\ttried\tmodel\tus\ttuned\tus\tgain\tkept")
	for i := range r.Rows {
		row := &r.Rows[i]
		best, took, kept := "-", "-", "yes"
		if row.BestTime != nil {
			best, took = row.Best.String(), us(row.BestTime.Median)
		}
		if !row.Kept {
			kept = "no: " + row.Why
		}
		fmt.Fprintf(w, "%s %s\t%d\t%v\t%s\t%s\t%s\t%.3f\t%s\n", row.Suite, row.Job, row.Candidates, row.Model, us(row.ModelTime.Median), best, took, row.Gain(), kept)
	}
	return w.Flush()
}
