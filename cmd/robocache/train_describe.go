package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/policy"
)

// describe prints the training configuration.
func (w *trainer) describe(tr *policy.Trainer, store *store.Store) error {
	c, r := tr.Config(), tr.Report()
	o := w.out
	o.Policy, o.Says, o.Recipe, o.Parameters, o.MFLOP = c.Policy, c.Says, c.Recipe, tr.Parameters(), c.Recipe.FLOP(len(c.Inputs), len(c.Targets))/1e6
	o.Episodes, o.Windows, o.HoldOut = r.Episodes, r.Windows, c.HoldOut
	o.LeaveOut = append([]int{}, c.LeaveOut...)
	o.States, o.Action, o.NotStates = []seen{}, seen{c.Action.Name, len(c.Action.Columns)}, c.NotStates
	var names []string
	for _, s := range c.States {
		o.States = append(o.States, seen{s.Name, len(s.Columns)})
		names = append(names, o.States[len(o.States)-1].String())
	}
	if !w.app.JSON {
		if _, err := w.app.Out.Write([]byte(printed.Text(fmt.Sprintf("states: %s; action: %v", strings.Join(names, ", "), o.Action)) + "\n")); err != nil {
			return err
		}
	}
	if len(c.NotStates) > 0 {
		var others []string
		for _, n := range c.NotStates {
			others = append(others, n.String())
		}
		text := "not states: " + strings.Join(others, ", ")
		if c.NotStates[0].Code() != dataset.CodePlanCamera {
			text += "; a plan that names them takes them"
		}
		w.remark("not-states", "%s", text)
	}
	w.out.notes(c.Choices)
	if c.Filtered > 0 {
		w.remark("filtered", "%s not held out and not trained on: left out by the plan's filter", text.Count(c.Filtered, "episode"))
	}
	if list := c.Times(); len(list) > 0 {
		var names []string
		for _, x := range list {
			names = append(names, x.Name+" of "+x.Stream)
		}
		w.remark("time-columns", "columns that are times or indices by their names, and no states or actions: %s; a plan can leave them out, as that of robocache plan does", text.List(names, 4))
	}
	if rate := store.Info().Rate; rate > 0 && c.Hz > 1.001*rate {
		w.remark("clock-repeats", "the clock has %g ticks a second, and the recordings have %g steps: several ticks have the same sample", c.Hz, rate)
	}
	if list := c.Copies(); len(list) > 0 {
		var pairs []string
		for _, p := range list {
			pairs = append(pairs, fmt.Sprintf("%d is %d", p[0], p[1]))
		}
		w.remark("held-out-copies", "held-out episodes that have the samples of a training episode, so that their skill means nothing: %s", text.List(pairs, 4))
	}
	normalised, err := c.Normalised()
	if err != nil {
		return err
	}
	if len(normalised) > 0 {
		w.remark("normalise-unused", "normalise in the plan is left out, a policy normalises by itself: %s", strings.Join(normalised, ", "))
	}
	if o.Skipped = serve.SkippedOf(store.Skipped); len(o.Skipped) > 0 {
		o.add(nil, fmt.Sprintf("skipped: %s: the first, episode %d: %s", text.Count(len(o.Skipped), "episode"), o.Skipped[0].Number, o.Skipped[0].Reason))
	}
	o.add(serve.LoaderEntries(&r), serve.LoaderLines(&r)...)
	if list := c.Floored(); len(list) > 0 {
		var names []string
		for _, y := range list {
			names = append(names, fmt.Sprintf("%s (%.3g)", y.Name, y.Std))
		}
		w.remark("action-still", "%d of %s of the action hardly vary, so errors in them are divided by the floor and not by the standard deviation: %s; --floor STD sets it",
			len(list), text.Count(len(c.Targets), "column"), text.List(names, 4))
	}
	if o.Recipe.WarmUp >= o.Recipe.Steps {
		w.remark("warm-up-alone", "the learning rate rises in all of the %s, and never falls: they are the warm-up alone", text.Count(o.Recipe.Steps, "step"))
	}
	if left := slices.Concat(r.Notes, c.LeftOut); len(left) > 0 {
		o.add(notetext.NoteEntries(c.LeftOut), fmt.Sprintf("left out: %s: the first, %s: %s", text.Count(len(left), "episode"), left[0].Subject, notetext.Text(left[0])))
	}
	turned, err := c.Rotations(store)
	if err != nil {
		return err
	}
	if n := len(turned); n > 0 {
		w.remark("action-rotations", "rotations: %s of the action, %s to %s, are in quaternions, and each is predicted by itself: q and -q are two targets, and the prediction has no length 1",
			text.Count(n, "column"), turned[0], turned[n-1])
	}
	o.print(w.app)
	return nil
}
