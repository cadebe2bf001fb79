package main

import (
	"context"
	"slices"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/spf13/cobra"
)

const policyHelp = `Policy runs a policy that robocache train has made on recordings: at each tick of the episodes it
predicts the actions to come, and compares them with those that were recorded. Skill is 1 -
MSE/MSE(hold the last action); on episodes that it was trained on it means nothing, and stands apart:
these are known by their samples, in a copy of the dataset too. --columns prints the skill of each
column, with its errors in its own unit. The error is open loop, on states that the demonstrator saw:
it does not rank policies on a robot.

Timestamps come from the clock that the policy was trained on, where the recordings have it; --clock
takes another.

-o OUT writes the predictions: chunks [N,C,A], the actions from each anchor on, recorded [N,C,A]
with counts [N,C], 0 where the episode has none, anchors [N] in nanoseconds, episodes and ticks [N],
and columns. --plot PNG draws the actions of an episode over those that were predicted a chunk
before.

--live plays one episode, in its own time, and predicts --hz times a second from the samples that have
arrived, each at its time. It prints how good these were, as above, and how long a prediction took, from
the samples to the actions; without --live that is of as many as a thousand predictions, one after
the other.

policy serve serves the policy to robots.`

func (a *app) policyCommand() *cobra.Command {
	p := acting{episode: -1}
	cmd := &cobra.Command{
		Use:     "policy DIR RECORDING",
		Short:   "Run a trained policy on recordings",
		Long:    policyHelp,
		Example: "  robocache policy trained/ demos/ --episode 3 --plot policy.png\n  robocache policy trained/ demos/ --episode 3 --live --hz 50",
		Args:    takes(2, 2, "policy takes a folder that train has written and a recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.dir, p.path, p.request.Paths, p.request.Spell = args[0], args[1], args[1:], spelling(cmd.Flags())
			return a.policy(&p)
		},
	}
	f := cmd.Flags()
	f.Var(&p.episode, "episode", "the episode, by the dataset's own number, from 0 where it has none; all unless given")
	f.StringVarP(&p.out, "out", "o", "", "write the predictions to this `FILE`, .npz or .safetensors")
	f.StringVar(&p.plot, "plot", "", "draw the episode's actions to this `PNG`")
	f.BoolVar(&p.columns, "columns", false, "print the skill of each column of the action, at the end of the chunk")
	f.BoolVar(&p.live, "live", false, "play the episode in its own time, and predict from the samples so far")
	f.Var(&cli.PositiveFlag{To: &p.hz, Max: 1e6, Unit: "HZ"}, "hz", "predictions a second with --live; the policy's clock unless given")
	readingFlags(f, &p.request.Packing.Options)
	backendFlag(cmd, &p.backend, "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	files(cmd, map[string]string{"out": "npz safetensors", "plot": "png"})
	takesRecordings(cmd, 1)
	cmd.AddCommand(a.policyServeCommand())
	return cmd
}

func (a *app) policy(p *acting) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	if err := a.locals(p.request.Paths); err != nil {
		return err
	}
	ctx := context.Background()
	pol, err := openPolicy(ctx, p.backend, p.dir)
	if err != nil {
		return err
	}
	defer joinClose(&err, pol)
	w := &actor{app: a, acting: p, policy: pol.Policy, out: &acted{Policy: p.dir, Input: p.path, Output: p.out, Plot: p.plot, Device: deviceOf(pol.device.Info()),
		Says: pol.Config().Says, Trained: []int{}, Skill: map[string]float64{}, Seen: map[string]float64{}, noteList: newNotes()}}
	trained := pol.Config().Clock
	p.request.Prefer, p.request.PreferRate = trained, pol.Config().Rate
	p.request.SetPoints(pol.Config().Plan, pol.device)
	source, err := batching.Open(ctx, &p.request, a.watch(&w.out.noteList))
	if err != nil {
		return err
	}
	defer joinClose(&err, source)
	w.store, w.out.Problems = source.Store, inspection.Problems(source.Problems)
	known := p.request.Clock == "" && slices.Contains(strings.Split(trained, ", "), w.store.Clock()) // of those that episodes had in training
	if got := w.store.Clock(); got != trained && got != "" && trained != "" && !known {
		w.out.remark("clock-other", "the timestamps come from the clock %s, but in training from %s", got, trained)
	}
	if got, rate := w.store.Info().Rate, pol.Config().Rate; rate > 0 && got > 0 && got != rate {
		w.out.remark("rate-other", "the recordings have %g steps a second, but in training %g", got, rate)
	}
	w.out.print(a)
	return explainPolicy(p.path, explainDrawn(&p.request, w.run(ctx)))
}
