package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/policy"
)

// run trains the policy, evaluates it on held-out episodes, and writes the checkpoint and the report. If a signal ends the training, it
// writes the checkpoint and returns a *cutError.
func (w *trainer) run(ctx context.Context, tr *policy.Trainer, store *store.Store) error {
	if w.anew {
		w.remark("no-checkpoint", "--resume: there is no checkpoint in %s, training begins with the first step", w.training.out)
	}
	if w.training.out == "" {
		w.remark("not-kept", "nothing is kept, want --out DIR for the policy")
	}
	if w.resume {
		if err := tr.Resume(ctx, w.training.out); err != nil {
			return w.explain(err)
		}
		w.remark("resumed", "goes on after step %d of %d", tr.Steps(), tr.Config().Recipe.Steps)
	}
	if err := w.describe(tr, store); err != nil {
		return err
	}
	if err := w.steps(ctx, tr); err != nil {
		return err
	}
	if err := w.save(ctx, tr); err != nil {
		return err
	}
	if w.unread != nil {
		return w.unread
	}
	if w.out.Ended {
		return w.ended(tr)
	}
	if w.rank > 0 {
		return nil
	}
	if len(w.HoldOut) > 0 {
		if err := w.compare(ctx, tr, store); err != nil {
			return err
		}
	}
	w.curve(tr)
	return w.write()
}

// curve copies the held-out losses to the report.
func (w *trainer) curve(tr *policy.Trainer) {
	all := tr.HeldOut()
	for _, step := range slices.Sorted(maps.Keys(all)) {
		w.out.HeldOut = append(w.out.HeldOut, heldOut{step, all[step]})
	}
	if best := tr.Best(); best >= 0 {
		w.out.Best = &heldOut{best, all[best]}
	}
}

// ended prints that a signal stopped the training, and returns the *cutError.
func (w *trainer) ended(tr *policy.Trainer) error {
	cut := &cutError{When: fmt.Sprintf("after step %d", tr.Steps()), Kept: w.training.out}
	w.curve(tr)
	if w.app.JSON {
		if err := w.line(schema.Train, w.out); err != nil {
			return err
		}
	}
	if cut.Kept == "" {
		return cut
	}
	w.app.Remark("%v; --resume goes on", cut)
	return nil
}

// compare evaluates the policy and a ridge on the held-out episodes.
func (w *trainer) compare(ctx context.Context, tr *policy.Trainer, store *store.Store) error {
	done := w.app.Step("comparing with the episodes held out")
	defer done()
	if w.latest == nil { // all steps were in the checkpoint
		if err := w.evaluate(ctx, tr); err != nil {
			return err
		}
	}
	w.out.Evaluation, w.out.Skill = w.latest, skillOf(w.latest)
	mean, err := policy.Mean(ctx, tr.Config(), store)
	if err != nil {
		return err
	}
	w.out.Mean, w.out.MeanSkill = &mean, skillOf(&mean)
	ridge, err := policy.Ridge(ctx, tr.Config(), store)
	var option *policy.OptionError
	if errors.As(err, &option) {
		w.remark("no-ridge", "no ridge: got %s, want %s", option.Got, option.Want)
		return nil
	}
	if err != nil {
		return err
	}
	w.out.Ridge, w.out.RidgeSkill = &ridge, skillOf(&ridge)
	return nil
}

// write prints the result.
func (w *trainer) write() error {
	o := w.out
	if w.app.JSON {
		return w.line(schema.Train, o)
	}
	var b bytes.Buffer
	n := len(o.Devices)
	names := make([]string, n)
	for i, d := range o.Devices {
		names[i] = d.Name
	}
	fmt.Fprintf(&b, "trained %s %s, %d parameters, %d steps of %d windows of %s, %.0f MFLOP a step, on %s\n%s\n",
		o.Policy, o.Recipe.Size, o.Parameters, o.Steps, n*o.Recipe.Windows(), episodes(o.Episodes), float64(n)*o.MFLOP, strings.Join(names, " and "), o.Says)
	if o.Evaluation != nil {
		writeSkills(&b, o.Evaluation, o.Ridge, o.Mean)
	}
	if o.Output != "" {
		fmt.Fprintf(&b, "wrote %s, the losses in %s\n", o.Output, filepath.Join(o.Output, lossPicture))
		if o.Best != nil {
			fmt.Fprintf(&b, "the lowest loss on the episodes held out is %.4f after step %d, with the weights in %s\n",
				o.Best.Loss, o.Best.Step, filepath.Join(o.Output, policy.BestFolder))
		}
	}
	_, err := w.app.Out.Write(b.Bytes())
	return err
}
