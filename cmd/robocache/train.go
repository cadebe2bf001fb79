package main

import (
	"context"
	"errors"
	"os"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/spf13/cobra"
)

const trainHelp = `Train trains a policy on the episodes of a dataset: behaviour cloning of action chunks, by a
transformer that sees the states of the last ticks and the actions before them. It is made of states
alone: no cameras, no VAE.

--policy bc-transformer predicts a chunk by regression. flow (flow matching) and diffusion (DDPM) draw
it from noise, so that they do one of the things that demonstrators did, and not their mean.
--condition cross lets their actions see the states by cross-attention, as in Chi et al.'s transformer,
and not as the first tokens of the sequence.

A stream called action or actions is predicted, the others are states, except streams that
the dataset does not declare, or with names that mark them as none: data from the next tick or data
recorded after the step, rewards and values, the action in another form, the leader arm, targets and
commands, annotations, language, times and indices; so with columns of a state. Train prints which it
takes; --action and --state name others. The clock has the dataset's rate; --hz is for recordings that have none, as robot logs, or
another one. A plan file has all this and more: its windows are how many ticks are seen and
predicted. A tick has the latest
sample before it, in training as where the policy runs. Normalisation is of the training episodes, and
kept with the policy; so is the --clock that timestamps came from.

--hold-out 3,7-9 leaves episodes out. On these the policy is compared with holding the last action, at
a third, two thirds and all of its chunk: skill is 1 - MSE/MSE(hold), and beside it stands that of
ridge regression on the same inputs, and of the mean action. All are open loop, on states that the demonstrator saw: such
an error does not rank policies on a robot.

--out DIR keeps the checkpoint: model.safetensors has the weights, with torch's names, config.json
all else that is needed to run them, and training.safetensors the state for --resume, to the
bit, on as many devices; loss.png is a picture of the losses. It is written each minute and at the end.
--resume needs no other option, because config.json has those of the run: --backend too, unless it is
given. With --hold-out, the folder DIR/best is a checkpoint with the weights of the lowest loss on the
held-out episodes, which is measured after each tenth of the steps.

--from DIR begins with the weights of another checkpoint, for more steps or on other recordings. Its
network, plan, streams and normalisation stay, and so do --steps, --batch, --lr, --accumulate, --ema,
--dropout, --seed, --sampler, --sample-steps and --execute, unless they are given. --ema 0.75 averages
the weights over the steps, as diffusion policies do; the average is then the policy. --dropout 0.3 sets
0.3 of the attention probabilities to 0 in training, and 0.1 of the other values. --accumulate 4 makes a
step with four batches, in the memory for one.

--log-dir DIR writes the loss of each step, the loss on the held-out episodes and the speed to a file for
TensorBoard.

A signal ends training after a whole step, with the checkpoint written and exit code 0, or 1 without
--out; a second one ends it at once, with the checkpoint of before, if there was one. Where nobody
reads the output any more, training ends likewise after a whole step, by SIGPIPE.

Errors are in standard deviations of each column. So that a column that hardly moves does not count,
these are at least 0.05, in rad, if its name is a joint's, and a thousandth of the range for
others; --floor gives another. Train prints which columns are measured by that.

--backend cuda:0,cuda:1, or cuda:all, trains on several devices of this machine together: each takes
a batch of its own of the shared order, and the gradient is the mean of theirs. So a step has as many
times more windows: a learning rate that is right for one device may want to be higher. So do
programs that torchrun or srun has started on one machine, each with a device, or those with --rank
and --world: they write one checkpoint, the same as that of one program with all devices. Where one
of them ends, so do the others, with the last checkpoint.

Under --json there is a line for each tenth of the steps, with step, loss, steps_per_second and with
--hold-out held_out_loss, and a last one with the result. There held_out_losses has the curve, and best
its lowest point.`

func (a *app) trainCommand() *cobra.Command {
	var t training
	cmd := &cobra.Command{
		Use:   "train DATASET",
		Short: "Train a policy on the episodes of a dataset",
		Long:  trainHelp,
		Example: "  robocache train demos/ --hold-out 3 --out trained/\n  robocache train demos/ --out trained/ --resume\n" +
			"  robocache train demos/ --hz 20 --action /cmd_vel --state /odom \\\n      --clock header --out trained/\n" +
			"  robocache train demos.safetensors --plan plan.yaml --backend cuda --json",
		Args: takes(1, 1, "train takes a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.restore(cmd); err != nil {
				return err
			}
			t.EMA, t.Dropout = given(cmd.Flags(), "ema"), given(cmd.Flags(), "dropout")
			t.path, t.request.Paths, t.request.Spell = args[0], args, spelling(cmd.Flags())
			t.request.Packing.Options.Episodes.Take = t.Options.Episodes.Take // the policy records the others
			if err := a.ranked(&t.rank, &t.world, cmd.Flags()); err != nil {
				return err
			}
			return a.train(&t)
		},
	}
	f := cmd.Flags()
	nameFlag(cmd, &t.Policy, "policy", policy.Kind, "the policy `KIND`: bc-transformer, flow or diffusion", policy.Kinds...)
	nameFlag(cmd, &t.Size, "size", "", "the `SIZE` of the network: small (default) or seed, the shape that training is timed at; base (default) or tiny for flow and diffusion",
		append(policy.Sizes(policy.Kind), policy.Sizes(policy.Flow)...)...)
	nameFlag(cmd, &t.Sampler, "sampler", "", "the `NAME` of the sampler: euler for flow; ddim (default) or ddpm for diffusion", policy.Euler, policy.DDIM, policy.DDPM)
	nameFlag(cmd, &t.Condition, "condition", "", "how flow and diffusion see the states: `HOW` is prefix (default), tokens before the actions, or cross, by cross-attention", policy.Prefix, policy.Cross)
	f.IntVar(&t.SampleSteps, "sample-steps", 0, "evaluations of the network for a chunk of actions (default 10 for euler, 16 for ddim)")
	f.IntVar(&t.Execute, "execute", 0, "`N` actions of a chunk that are executed before the next prediction (default 8 for flow and diffusion)")
	f.StringVar(&t.planFile, "plan", "", "the plan `FILE`: streams, rate and windows; instead of --hz, --action and --state")
	f.Var(cli.Hertz(&t.Hz), "hz", "the clock's rate (default the dataset's)")
	f.StringVar(&t.Action, "action", "", "the `STREAM` that is predicted; that called action or actions unless given")
	f.StringArrayVar(&t.States, "state", nil, "a `STREAM` that is seen; all that their names allow unless given; repeatable")
	f.IntVar(&t.Steps, "steps", 0, "training steps; 0 for the size's default")
	f.IntVar(&t.Batch, "batch", 0, "windows per step on each device; 0 for the size's default")
	f.Float64Var(&t.Rate, "lr", 0, "the learning `RATE` at its highest; 0 for the size's default")
	f.Float64Var(&t.Floor, "floor", 0, "the least `STD` that actions are divided by, in their unit; 0: 0.05 for joints, a thousandth of the range for others")
	unorderedFlag(cmd, &t.Unordered, "a stream if its timestamps step back or are no times: drop (default), sort, or error")
	f.Var(rangesFlag{&t.holdOut}, "hold-out", "the episodes that are not trained on, but compared with, such as 3,7 or 0-9,12")
	completeEpisodes(cmd, "hold-out")
	f.IntVar(&t.Accumulate, "accumulate", 0, "batches per step, whose gradients are averaged; 0 for the size's default, 1")
	f.Float64("ema", 0, "average the weights with the decay 1-step^-`POWER`; 0 is no average (default 0.75 for base and tiny, 0 for small and seed)")
	f.Float64("dropout", 0, "training sets this `SHARE` of the attention probabilities to 0, and a third of it of other values (default 0; for small 0.3 of all)")
	f.StringVar(&t.From, "from", "", "begin with the weights of the checkpoint in this `DIR`")
	f.Uint64Var(&t.Seed, "seed", 0, "seed for the first weights, the window order, and dropout")
	f.StringVarP(&t.out, "out", "o", "", "write the checkpoint into this `DIR`")
	f.BoolVar(&t.resume, "resume", false, "go on from the checkpoint in --out, if there is one, with its options")
	f.StringVar(&t.logDir, "log-dir", "", "write a file for TensorBoard into this `DIR`")
	selectionFlags(cmd, &t.Options.Episodes)
	readingFlags(f, &t.request.Packing.Options)
	backendFlag(cmd, &t.backend, "auto", "where to compute: auto, cpu, cuda, cuda:N or sim; several between commas, or cuda:all, train together")
	f.BoolVar(&t.NCCL, "nccl", false, "several GPUs add up their gradients by NCCL, where they do not reach each other's memory")
	f.IntVar(&t.rank, "rank", 0, "this program's number among --world (default from torchrun, srun, Open MPI or Kubernetes)")
	f.IntVar(&t.world, "world", 1, "how many programs on this machine train together, each with a device (default from the rank's launcher)")
	files(cmd, map[string]string{"plan": "yaml"})
	folders(cmd, "out", "from", "log-dir")
	completeFrom(cmd, (*dataset.Episode).Names, "", "state", "action")
	takesRecordings(cmd, 0)
	return cmd
}

func (a *app) train(t *training) (err error) {
	if err := t.check(); err != nil {
		return err
	}
	ctx := context.Background()
	all, err := a.join(ctx, t)
	if err != nil {
		return err
	}
	if t.Ranks = all; all != nil {
		defer func() { all.Leave(err) }()
	}
	own, err := t.ownDevice()
	if err != nil {
		return err
	}
	devices, err := ops.OpenAll(own)
	if err != nil {
		return err
	}
	defer func() {
		for _, d := range devices {
			err = errors.Join(err, d.Close())
		}
	}()
	_, absent := fault.Stat(t.out)
	if dataset.IsSystem(absent) {
		return unwritten(absent)
	}
	if err := a.locals(t.request.Paths); err != nil {
		return err
	}
	unlock, err := t.alone()
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.outputs(); err != nil {
		return err
	}
	defer func() {
		if err != nil && t.writes() && absent != nil {
			if there, failed := policy.Exists(t.out); failed == nil && !there { // it has at most a part of the first checkpoint
				err = errors.Join(err, os.RemoveAll(t.out))
			}
		}
	}()
	w := &trainer{app: a, training: t, ranks: all, out: &trained{Input: t.path, Output: t.out, Skill: map[string]float64{}, RidgeSkill: map[string]float64{}, HeldOut: []heldOut{}, MeanSkill: map[string]float64{}, noteList: newNotes()}}
	for _, d := range devices {
		w.out.Devices = append(w.out.Devices, deviceOf(d.Info()))
	}
	if err := w.devicesOfAll(ctx); err != nil {
		return err
	}
	w.keepBackend()
	w.request.SetPoints(t.Plan, devices[0])
	source, err := batching.Open(ctx, &w.request, a.watch(&w.out.noteList))
	if err != nil {
		return err
	}
	defer joinClose(&err, source)
	w.out.add(notetext.NoteEntries(source.Absent))
	w.out.Problems = inspection.Problems(source.Problems)
	t.HoldOut = numbersIn(t.holdOut, source.Store.Numbers())
	done := a.Step("preparing a training step")
	tr, err := policy.NewTrainer(ctx, devices, source.Store, t.Options)
	done()
	if err != nil {
		return explainDrawn(&w.request, w.explain(err))
	}
	defer joinClose(&err, tr)
	t.Rate = tr.Config().Recipe.Rate
	if t.logDir != "" && t.rank == 0 {
		if w.events, err = newEventFile(t.logDir); err != nil {
			return unwritten(err)
		}
		defer joinClose(&err, w.events)
	}
	if err := w.run(ctx, tr, source.Store); err != nil {
		if all != nil {
			all.Leave(err) // so that the others stop waiting
		}
		return err
	}
	return nil
}
