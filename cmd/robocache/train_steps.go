package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/viz"
)

// steps trains until all steps are done or a signal comes.
func (w *trainer) steps(ctx context.Context, tr *policy.Trainer) error {
	_, ended, stop := w.app.UntilCut(0)
	defer stop()
	total := tr.Config().Recipe.Steps
	first := tr.Steps()
	bar := w.app.Rating("training", total-first, "steps")
	defer bar.Done()
	begin, saved := time.Now(), time.Now()
	some := 1 // steps between checks by the host, about a tenth of a second
	for !tr.Done() {
		next, err := w.agree(ctx, turn{Steps: some, Save: w.better || time.Since(saved) > time.Minute, End: ended() || w.unread != nil})
		if err != nil {
			return err
		}
		if w.out.Ended = next.End; w.out.Ended {
			break
		}
		if next.Save {
			at := time.Now()
			if err := w.save(ctx, tr); err != nil {
				return err
			}
			saved, w.better = time.Now(), false
			begin = begin.Add(time.Since(at)) // because no step ran
		}
		tenth := ((tr.Steps()*10/total+1)*total + 9) / 10 // the last step of the current tenth
		at := time.Now()
		losses, err := tr.Run(ctx, min(next.Steps, tenth-tr.Steps()))
		if err != nil {
			return w.explain(err)
		}
		if took := time.Since(at); took < 50*time.Millisecond {
			some = min(2*some, 512)
		} else if took > 200*time.Millisecond {
			some = max(some/2, 1)
		}
		bar.Add(len(losses))
		o := w.out
		o.Steps, o.Seconds = tr.Steps(), time.Since(begin).Seconds()
		o.Speed, o.Loss = float64(o.Steps-first)/max(o.Seconds, 1e-9), recent(tr)
		if o.Steps == tenth && w.rank == 0 && len(w.HoldOut) > 0 {
			at := time.Now()
			if err := w.evaluate(ctx, tr); err != nil {
				return err
			}
			begin = begin.Add(time.Since(at))
			w.better = tr.Best() == o.Steps
		}
		if err := w.events.record(tr, losses, o.Speed); err != nil {
			return unwritten(err)
		}
		if o.Steps == tenth {
			w.unread = w.progress(tr)
		}
	}
	w.out.Steps, w.out.Loss = tr.Steps(), recent(tr)
	return nil
}

// evaluate computes the skill with the weights so far.
func (w *trainer) evaluate(ctx context.Context, tr *policy.Trainer) error {
	e, err := tr.Evaluate(ctx, nil)
	w.latest = &e
	return w.explain(err)
}

// recent returns the mean loss over the latest tenth of the steps.
func recent(tr *policy.Trainer) float64 {
	losses := tr.Losses()
	sum, n := 0.0, min(max(tr.Config().Recipe.Steps/10, 1), len(losses))
	for _, v := range losses[len(losses)-n:] {
		sum += float64(v)
	}
	return sum / float64(max(n, 1))
}

// progress prints the progress.
func (w *trainer) progress(tr *policy.Trainer) error {
	o := w.out
	heldOut, measured := tr.HeldOut()[o.Steps]
	if w.app.JSON {
		line := map[string]any{"step": o.Steps, "loss": o.Loss, "steps_per_second": o.Speed}
		if measured {
			line["held_out_loss"] = heldOut
		}
		return w.line(schema.TrainStep, line)
	}
	text := ""
	if measured {
		text = fmt.Sprintf("%.4f on the episodes held out, ", heldOut)
	}
	_, err := fmt.Fprintf(w.app.Out, "step %d of %d: loss %.4f, %s%.0f steps a second\n", o.Steps, o.Recipe.Steps, o.Loss, text, o.Speed)
	return err
}

// save writes the checkpoint and the loss picture.
func (w *trainer) save(ctx context.Context, tr *policy.Trainer) error {
	dir := w.training.out
	if dir == "" {
		return nil
	}
	if err := tr.Save(ctx, dir); err != nil {
		return unwritten(err)
	}
	if tr.Steps() == 0 || w.rank > 0 {
		return nil
	}
	return unwritten(atomicfile.WriteFile(filepath.Join(dir, lossPicture), func(f io.Writer) error {
		return viz.WriteLossPNG(f, 1, tr.Losses(), viz.Options{Title: w.out.Policy + " " + w.out.Recipe.Size + ", " + filepath.Base(w.training.path), Unit: lossUnit, HeldOut: tr.HeldOut()})
	}))
}
