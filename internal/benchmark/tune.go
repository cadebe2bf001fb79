package benchmark

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
)

// tuneRounds is how often the heuristic's policy and the best one are measured, in turn. A gain below leastGain, as a share of the
// heuristic's time, does not count.
const (
	tuneRounds = 5
	leastGain  = 0.01
)

// Tuning is the result for one job.
type Tuning struct {
	Suite         string       `json:"suite"`
	Job           string       `json:"job"`
	Key           tuned.Key    `json:"key"`
	Candidates    int          `json:"candidates"` // measured candidates, including the heuristic's
	Heuristic     tuned.Policy `json:"heuristic"`
	Best          tuned.Policy `json:"best"`                // the fastest candidate in the short runs
	HeuristicTime *Stats       `json:"heuristic_time"`      // from the short run if the heuristic's policy was the best
	BestTime      *Stats       `json:"best_time,omitempty"` // nil if the heuristic's policy was the best
	Kept          bool         `json:"kept"`                // whether the table keeps it for the key
	Why           string       `json:"why"`

	short  map[tuned.Policy]float64 // medians in the short runs
	better bool                     // faster by more than the noise
}

// TuneReport holds the results from one run.
type TuneReport struct {
	Report          // without its rows
	Rows   []Tuning `json:"rows"`
	Path   string   `json:"path"` // the table's path
	Keys   int      `json:"keys"` // keys in the table
}

// tuner is a run of Tune.
type tuner struct {
	*rig
	device tuned.Device
	before *tuned.Table // the device's table before the run
}

// Tune searches launch shapes that are faster than the heuristic's for the jobs. It returns a copy of the device's table in which the
// shapes found replace the old entries for their keys.
//
// For each job all candidates are measured in a short run, each after a check that it gives the same bits as the heuristic's. The
// fastest is then measured again, alternating with the heuristic's, five times each. It is better if its slowest median is below the
// heuristic's fastest, and its median is lower by at least 1 % of the heuristic's. A key keeps it if it is better for one of the key's
// jobs and not slower in the short runs for any other. If the context ends between two samples, the finished jobs count.
func Tune(ctx context.Context, dev *ops.Device, jobs []Job, opt Options, told func(done, all int, row *Tuning)) (report *TuneReport, table *tuned.Table, err error) {
	device, ok := dev.Queue().Backend().(tuned.Device)
	if !ok {
		return nil, nil, &InputError{"tune", dev.Name(), "a GPU: the CPU launches no kernels"}
	}
	t := &tuner{device: device}
	if t.before, _ = device.Tuned(); t.before.Unread != nil {
		return nil, nil, t.before.Unread
	}
	if t.rig, err = newRig(dev, opt); err != nil {
		return nil, nil, err
	}
	t.ctx = ctx
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
	report.Keys = len(table.Entries())
	return report, table, err
}

// tune measures one job's candidates, and the best one at length.
func (t *tuner) tune(j Job) (row *Tuning, err error) {
	if err := t.device.Tune(nil); err != nil {
		return nil, err
	}
	w, err := j.prepare(t.rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	row = &Tuning{Suite: j.Suite(), Job: j.Name(), short: map[tuned.Policy]float64{}}
	var list []tuned.Policy
	if plan, ok := w.plan.Backend().(tuned.Plan); ok && w.again != nil {
		row.Key, list, err = plan.Candidates()
	}
	if err != nil || len(list) < 2 {
		return nil, cmp.Or[error](err, &skipped{"what it launches is fixed"})
	}
	want, err := t.written(w)
	if err != nil {
		return nil, err
	}
	row.Candidates, row.Heuristic, row.Best = len(list), list[0], list[0]
	for _, c := range list {
		s, err := t.take(w, row.Key, c, want, minSamples, 1)
		if err != nil {
			return nil, err
		}
		if row.short[c] = s.Median; c == row.Heuristic {
			row.HeuristicTime = &s
		} else if s.Median < row.short[row.Best] {
			row.Best = c
		}
	}
	if row.Best == row.Heuristic {
		row.Why = "the heuristic's policy was the fastest"
		return row, nil
	}
	var samples, medians [2][]float64
	var all [2]Stats
	for range tuneRounds {
		for i, c := range []tuned.Policy{row.Heuristic, row.Best} {
			s, err := t.take(w, row.Key, c, want, max(t.opt.Samples/tuneRounds, minSamples), max(t.opt.Time/tuneRounds, 1))
			if err != nil {
				return nil, err
			}
			samples[i], medians[i] = append(samples[i], s.samples...), append(medians[i], s.Median)
			all[i] = newStats(samples[i], s.Calls)
		}
	}
	row.HeuristicTime, row.BestTime = &all[0], &all[1]
	row.better = all[1].Median <= (1-leastGain)*all[0].Median && slices.Max(medians[1]) < slices.Min(medians[0])
	if row.Why = fmt.Sprintf("%v was faster in each of %d rounds", row.Best, tuneRounds); !row.better {
		row.Why = fmt.Sprintf("%v was faster by less than the noise or %.0f %%", row.Best, 100*leastGain)
	}
	return row, nil
}

// take creates a work's plans again with a policy, and times them if their output is the same as want.
func (t *tuner) take(w *work, key tuned.Key, c tuned.Policy, want []byte, samples int, least time.Duration) (Stats, error) {
	table := tuned.New(t.before.For)
	table.Set(tuned.Entry{Key: key, Policy: c})
	if err := errors.Join(t.device.Tune(table), w.again()); err != nil {
		return Stats{}, err
	}
	got, err := t.written(w)
	if err != nil {
		return Stats{}, err
	}
	if !bytes.Equal(got, want) {
		return Stats{}, fmt.Errorf("%v gives other bits than the heuristic's policy, of %v", c, key)
	}
	r := *t.rig
	r.opt.Samples, r.opt.Time = samples, least
	return r.time(w)
}

// written returns the output of the first set's plan. The output memory is overwritten first.
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

// keep stores a policy in the table if it is better for one job and slower for none with the same key. It removes the old entries of
// measured keys without such a policy.
func keep(rows []Tuning, table *tuned.Table) {
	var order []*Tuning // by gain, largest first
	for i := range rows {
		table.Drop(rows[i].Key)
		order = append(order, &rows[i])
	}
	slices.SortStableFunc(order, func(x, y *Tuning) int { return cmp.Compare(y.Gain(), x.Gain()) })
	for _, row := range order {
		c, has := table.Lookup(row.Key)
		slower := func(o Tuning) bool { return o.Key == row.Key && o.short[row.Best] > (1+leastGain)*o.short[o.Heuristic] }
		switch {
		case !row.better:
		case has && c != row.Best:
			row.Why = fmt.Sprintf("another job of the key gained more by %v", c)
		case slices.ContainsFunc(rows, slower):
			row.Why = fmt.Sprintf("%v was slower for another job of the key", row.Best)
		default:
			if row.Kept = true; !has {
				table.Set(tuned.Entry{Key: row.Key, Policy: row.Best, Job: row.Suite + " " + row.Job, Heuristic: row.HeuristicTime.Median, Tuned: row.BestTime.Median})
			}
		}
	}
}

// Gain returns how many times as fast as the heuristic's policy the best one was; 1 if the heuristic's was the best.
func (t *Tuning) Gain() float64 {
	if t.BestTime == nil {
		return 1
	}
	return t.HeuristicTime.Median / t.BestTime.Median
}

// WriteTable writes the report's header and a line for each job.
func (r *TuneReport) WriteTable(out io.Writer) error {
	if err := r.Report.WriteTable(out); err != nil {
		return err
	}
	w := text.NewTable(out, 0)
	fmt.Fprintln(w, "\njob\ttried	heuristic	us\ttuned\tus\tgain\tkept")
	for i := range r.Rows {
		row := &r.Rows[i]
		best, took, kept := "-", "-", "yes"
		if row.BestTime != nil {
			best, took = row.Best.String(), us(row.BestTime.Median)
		}
		if !row.Kept {
			kept = "no: " + row.Why
		}
		fmt.Fprintf(w, "%s %s\t%d\t%v\t%s\t%s\t%s\t%.3f\t%s\n", row.Suite, row.Job, row.Candidates, row.Heuristic, us(row.HeuristicTime.Median), best, took, row.Gain(), kept)
	}
	return w.Flush()
}
