package benchmark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// tuneRounds is how often the model's choice and the best one are measured, in turn, and leastGain the share of the model's time
// below which a gain is none.
const (
	tuneRounds = 5
	leastGain  = 0.01
	pieceBytes = 16 << 20 // of an output, compared at once
)

// Tuning is what was found for a job.
type Tuning struct {
	Suite      string      `json:"suite"`
	Job        string      `json:"job"`
	Class      cuda.Class  `json:"class"`
	Candidates int         `json:"candidates"` // that were measured, the model's among them
	Model      cuda.Choice `json:"model"`
	Best       cuda.Choice `json:"best"` // in the short runs, by which the candidates are ranked
	ModelTime  *Stats      `json:"model_time"`
	BestTime   *Stats      `json:"best_time,omitempty"` // none where the model's choice was the best
	Better     bool        `json:"better"`              // by more than the noise
	Kept       bool        `json:"kept"`                // for the class
	Why        string      `json:"why"`

	short map[cuda.Choice]float64 // medians of the short runs
}

// TuneReport is what was measured in one run.
type TuneReport struct {
	Program string   `json:"program"`
	Device  Device   `json:"device"`
	Launch  string   `json:"launch"` // as in Report
	Rows    []Tuning `json:"rows"`
	Skipped []Skip   `json:"skipped,omitempty"`
	Cut     string   `json:"cut,omitempty"` // as in Report
	Path    string   `json:"path,omitempty"`
	Classes int      `json:"classes"` // in the table, after all
}

// tuner is one run of Tune.
type tuner struct {
	rig  *rig
	time func(w *work, opt Options) (Stats, error) // takes samples of a work
}

// Tune looks for launch shapes that are faster than the model's for the jobs, and gives a copy of the device's table with those it
// found in place of what it had for their classes.
//
// Of each job all candidates are measured in a short run, after a check that they give the bits of the model's. The fastest is then
// measured anew beside the model's, five times in turn. It is better if the slowest of its five medians is below the fastest of the
// model's, and its median by 1 % of the model's. For a class it is kept if it is better for a job, and in no job of the class
// slower than the model's in the short runs. The context ends it between two samples: jobs before that count.
func Tune(ctx context.Context, dev *ops.Device, jobs []Job, opt Options, told func(done, all int, row *Tuning)) (report *TuneReport, table *cuda.Table, err error) {
	r, err := newRig(dev, opt)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.ctx = ctx
	t := &tuner{rig: r, time: func(w *work, opt Options) (Stats, error) {
		quick := *r
		quick.opt = opt
		return quick.time(w)
	}}
	return t.run(jobs, told)
}

func (t *tuner) run(jobs []Job, told func(done, all int, row *Tuning)) (report *TuneReport, table *cuda.Table, err error) {
	r := t.rig
	if r.queue == nil {
		return nil, nil, &InputError{"tune", r.dev.Name(), "a GPU: the CPU launches no kernels"}
	}
	before, path, err := cuda.Tuned(r.stream)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, cuda.UseTable(r.stream, before)) }()
	report = &TuneReport{Device: deviceOf(r.dev), Launch: r.opt.Launch.String(), Path: path}
	for k, j := range jobs {
		if r.opt.Progress != nil {
			r.opt.Progress(k, len(jobs), j)
		}
		row, err := t.tune(j)
		if r.ctx.Err() != nil {
			report.Cut = fmt.Sprintf("after %d of %d jobs: %v", k, len(jobs), context.Cause(r.ctx))
			break
		}
		if why, ok := lacking(err); ok {
			report.Skipped = append(report.Skipped, Skip{j.Suite(), j.Name(), why})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", j.Suite(), j.Name(), err)
		}
		report.Rows = append(report.Rows, *row)
		if told != nil {
			told(k+1, len(jobs), row)
		}
	}
	table = before.Clone()
	if err := keep(report.Rows, table); err != nil {
		return nil, nil, err
	}
	report.Classes = len(table.Entries())
	return report, table, nil
}

// tune measures one job's candidates.
func (t *tuner) tune(j Job) (row *Tuning, err error) {
	r := t.rig
	if err := cuda.UseTable(r.stream, nil); err != nil {
		return nil, err
	}
	w, err := j.prepare(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if w.plan == nil || w.again == nil {
		return nil, &skipped{"a call is not the run of a plan"}
	}
	class, list, err := cuda.Candidates(w.plan)
	if err != nil {
		return nil, err
	}
	if len(list) < 2 {
		return nil, &skipped{"its launch is fixed"}
	}
	row = &Tuning{Suite: j.Suite(), Job: j.Name(), Class: class, Candidates: len(list), Model: list[0], Best: list[0], short: map[cuda.Choice]float64{}}
	want := make([][]byte, len(w.outputs))
	if err := r.written(w, func(i int, _ int64, piece []byte) error {
		want[i] = append(want[i], piece...)
		return nil
	}); err != nil {
		return nil, err
	}
	short := r.opt
	short.Samples, short.Time = minSamples, 1
	for _, c := range list {
		if err := t.use(w, class, c); err != nil {
			return nil, err
		}
		if err := r.written(w, func(i int, at int64, piece []byte) error {
			if !bytes.Equal(piece, want[i][at:at+int64(len(piece))]) {
				return fmt.Errorf("%v gives other bits than %v, of %v", c, list[0], class)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		s, err := t.time(w, short)
		if err != nil {
			return nil, err
		}
		if row.short[c] = s.Median; s.Median < row.short[row.Best] {
			row.Best = c
		}
	}
	return row, t.compare(w, row)
}

// compare measures the model's choice and the best one at length.
func (t *tuner) compare(w *work, row *Tuning) error {
	opt := t.rig.opt
	opt.Samples, opt.Time = max(opt.Samples/tuneRounds, minSamples), max(opt.Time/tuneRounds, time.Nanosecond)
	var samples [2][]float64
	var medians [2][]float64
	calls := 0
	for range tuneRounds {
		for i, c := range []cuda.Choice{row.Model, row.Best} {
			if i == 1 && c == row.Model {
				continue
			}
			if err := t.use(w, row.Class, c); err != nil {
				return err
			}
			s, err := t.time(w, opt)
			if err != nil {
				return err
			}
			calls = s.Calls
			samples[i], medians[i] = append(samples[i], s.samples...), append(medians[i], s.Median)
		}
	}
	model := newStats(samples[0], calls)
	row.ModelTime = &model
	if row.Best == row.Model {
		row.Why = "the model's choice was the fastest"
		return nil
	}
	best := newStats(samples[1], calls)
	row.BestTime = &best
	switch {
	case best.Median > (1-leastGain)*model.Median:
		row.Why = fmt.Sprintf("%v was not faster by %.0f %%", row.Best, 100*leastGain)
	case slices.Max(medians[1]) >= slices.Min(medians[0]):
		row.Why = fmt.Sprintf("%v was faster by less than the noise", row.Best)
	default:
		row.Better, row.Why = true, fmt.Sprintf("%v was faster in each of %d rounds", row.Best, tuneRounds)
	}
	return nil
}

// use makes the plans anew, with that choice.
func (t *tuner) use(w *work, class cuda.Class, c cuda.Choice) error {
	table, _, err := cuda.Tuned(t.rig.stream)
	if err != nil {
		return err
	}
	table = cuda.NewTable(table.For)
	if err := table.Set(cuda.Entry{Class: class, Choice: c}); err != nil {
		return err
	}
	return errors.Join(cuda.UseTable(t.rig.stream, table), w.again())
}

// written shows the bytes that the first set's plan writes, into memory that held something else, output by output and piece by piece. A
// piece is the function's to keep until the next.
func (r *rig) written(w *work, visit func(output int, at int64, piece []byte) error) error {
	for _, o := range w.outputs {
		addr, size := place(at(o, 0))
		if err := r.queue.Memset8(addr, 0xa5, size); err != nil {
			return err
		}
	}
	if err := errors.Join(w.run(0), r.wait()); err != nil {
		return err
	}
	buffer := make([]byte, pieceBytes)
	for i, o := range w.outputs {
		addr, size := place(at(o, 0))
		for off := int64(0); off < size; off += pieceBytes {
			piece := buffer[:min(pieceBytes, size-off)]
			if err := r.queue.Context().CopyToHost(piece, addr+cudadrv.DevicePtr(off)); err != nil {
				return err
			}
			if err := visit(i, off, piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep puts what is better for a job, and worse for none, into the table, and takes what the table had for the other classes out.
func keep(rows []Tuning, table *cuda.Table) error {
	classes := map[cuda.Class][]*Tuning{}
	for i := range rows {
		classes[rows[i].Class] = append(classes[rows[i].Class], &rows[i])
	}
	for class, jobs := range classes {
		table.Drop(class)
		var best *Tuning
		for _, row := range jobs {
			if row.Better && (best == nil || row.Gain() > best.Gain()) && !slices.ContainsFunc(jobs, func(o *Tuning) bool { return o.short[row.Best] > (1+leastGain)*o.short[o.Model] }) {
				best = row
			}
		}
		for _, row := range jobs {
			switch {
			case best == row:
				row.Kept = true
			case best != nil && best.Best == row.Best:
				row.Kept = true
			case row.Better && best == nil:
				row.Why = "in another job of the class it was slower"
			case row.Better:
				row.Why = fmt.Sprintf("the class has what %s %s gained more by", best.Suite, best.Job)
			}
		}
		if best == nil {
			continue
		}
		if err := table.Set(cuda.Entry{Class: class, Choice: best.Best, Job: best.Suite + " " + best.Job, Model: best.ModelTime.Median, Tuned: best.BestTime.Median}); err != nil {
			return err
		}
	}
	return nil
}

// Gain is how many times as fast as the model's choice the best one was, 1 where it was the model's.
func (t *Tuning) Gain() float64 {
	if t.BestTime == nil {
		return 1
	}
	return t.ModelTime.Median / t.BestTime.Median
}

// place is where a tensor lies on the device, and its bytes.
func place(t *tensor.Tensor) (cudadrv.DevicePtr, int64) {
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr), int64(t.Len()) * int64(t.DType().Size())
}

// WriteTable writes a line a job, and what became of the table.
func (r *TuneReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s on %s, %s; %s\n", r.Program, r.Device.Name, r.Device.Product, r.Device.Kernels)
	if r.Device.Backend == "sim" {
		fmt.Fprintln(out, "these are times of a simulation: they say nothing of a GPU")
	}
	fmt.Fprintf(out, "microseconds a call; medians of %d rounds in turn\n\n", tuneRounds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "job\tkernel\ttried\tmodel\tus\ttuned\tus\tgain\tkept")
	for i := range r.Rows {
		row := &r.Rows[i]
		tuned, took, gain := "-", "-", "-"
		if row.BestTime != nil {
			tuned, took, gain = row.Best.String(), us(row.BestTime.Median), fmt.Sprintf("%.3f", row.Gain())
		}
		fmt.Fprintf(w, "%s %s\t%s\t%d\t%v\t%s\t%s\t%s\t%s\t%s\n", row.Suite, row.Job, row.Class.Kernel, row.Candidates, row.Model, us(row.ModelTime.Median), tuned, took, gain,
			map[bool]string{true: "yes", false: "no: " + row.Why}[row.Kept])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, s := range r.Skipped {
		if i == 0 {
			fmt.Fprintln(out, "\nnot tuned:")
		}
		fmt.Fprintf(out, "  %s %s: %s\n", s.Suite, s.Job, s.Why)
	}
	if r.Cut != "" {
		fmt.Fprintf(out, "\ncut short %s\n", r.Cut)
	}
	return nil
}
