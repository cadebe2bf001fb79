package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/viz"
)

// training is what the flags of train ask for.
type training struct {
	policy.Options
	path, kind, planFile string
	out, backend         string
	request              batching.Request // of the dataset
	resume, anew         bool             // anew: there is nothing to resume
	rank, world          int              // of the programs that train together
}

// writes reports whether this program is the one that writes.
func (t *training) writes() bool { return t.out != "" && t.rank == 0 }

// trained is what train says of its work, in the last line of --json.
type trained struct {
	Input      string             `json:"input"`
	Output     string             `json:"output,omitempty"`
	Devices    []deviceInfo       `json:"devices"`
	Policy     string             `json:"policy"`
	Says       string             `json:"says"`
	States     []seen             `json:"states"`
	Action     seen               `json:"action"`
	NotStates  []policy.NotState  `json:"not_states"`
	Recipe     policy.Recipe      `json:"recipe"`
	Parameters int                `json:"parameters"`
	MFLOP      float64            `json:"mflop_per_step"`
	Episodes   int                `json:"episodes"` // that were trained on
	Windows    int                `json:"windows"`
	HoldOut    []int              `json:"hold_out"`
	LeaveOut   []int              `json:"leave_out"` // by option
	Steps      int                `json:"steps"`     // those of a checkpoint that was resumed too
	Loss       float64            `json:"loss"`      // the mean of the latest steps
	Seconds    float64            `json:"seconds"`
	Speed      float64            `json:"steps_per_second"`
	Skill      map[string]float64 `json:"skill"` // by ticks; empty without episodes held out
	RidgeSkill map[string]float64 `json:"ridge_skill"`
	Evaluation *policy.Evaluation `json:"evaluation,omitempty"`
	Ridge      *policy.Evaluation `json:"ridge,omitempty"`
	Absent     []absentInput      `json:"absent"` // the input, if declared episodes of it are not there
	Skipped    []serve.Skipped    `json:"skipped"`
	LeftOut    []notetext.Reason  `json:"left_out"`
	Ended      bool               `json:"ended_by_signal"`
	Remarks    []string           `json:"remarks"`
}

// seen is a stream that the policy takes.
type seen struct {
	Stream  string `json:"stream"`
	Columns int    `json:"columns"`
}

func (s seen) String() string {
	return fmt.Sprintf("%s (%s)", s.Stream, text.Count(s.Columns, "column"))
}

const trainHelp = `Train trains a policy on the episodes of a dataset: behaviour cloning of action chunks, by a
transformer that sees the states of the last ticks and the actions before them. It is made of states
alone: no cameras, no VAE.

A stream called action or actions is what is predicted, the others are states, but for those whose
names say that they are none: what is of the next tick, rewards, the action in another form,
annotations, language, times and indices. Train prints which it takes; --action and --state name
others. The clock has the dataset's rate; --hz is for recordings that have none, as robot logs, or
another one. A plan file says all of this and more: its windows are how many ticks are seen and
predicted. A tick has the latest
sample before it, in training as where the policy runs. Normalisation is of the training episodes, and
kept with the policy; so is the --clock that timestamps came from.

--hold-out 3,7 leaves episodes out. On these the policy is compared with holding the last action, at
a third, two thirds and all of its chunk: skill is 1 - MSE/MSE(hold), and beside it stands that of
ridge regression on the same inputs. Both are open loop, on states that the demonstrator saw: such
an error does not rank policies on a robot.

--out DIR keeps the checkpoint: model.safetensors has the weights, with torch's names, config.json
all else that is needed to run them, and training.safetensors what --resume goes on from, to the
bit, on as many devices; loss.png is a picture of the loss. It is written each minute and at the end.
A signal ends training after a whole step, with the checkpoint written and exit code 0, or 1 without
--out; a second one ends it at once, with the checkpoint of before, if there was one. Where nobody
reads the output any more, training ends likewise after a whole step, by SIGPIPE.

Errors are in standard deviations of each column. So that a column that hardly moves does not count,
these are at least 0.05, in rad, for what its name says is a joint, and a thousandth of the range for
others; --floor gives another. Train says which columns are measured by that.

--backend cuda:0,cuda:1, or cuda:all, trains on several devices of this machine together: each takes
a batch of its own of the shared order, and the gradient is the mean of theirs. So a step has as many
times more windows: a learning rate that is right for one device may want to be higher. So do
programs that torchrun or srun has started on one machine, each with a device, or those with --rank
and --world: they write one checkpoint, the same as that of one program with all devices. Where one
of them ends, so do the others, with what was written before.

Under --json there is a line for each tenth of the steps, with step, loss and steps_per_second, and
a last one with the result.`

func (a *app) trainCommand() *cobra.Command {
	var t training
	cmd := &cobra.Command{
		Use:   "train DATASET",
		Short: "Train a policy on the episodes of a dataset",
		Long:  trainHelp,
		Example: "  robocache train dataset/ --hold-out 3 --out trained/\n  robocache train dataset/ --hold-out 3 --out trained/ --resume\n" +
			"  robocache train demos/ --hz 20 --action /cmd_vel --state /odom --clock header --out trained/\n" +
			"  robocache train demos.safetensors --plan plan.yaml --backend cuda --json",
		Args: takes(1, 1, "train takes a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.path, t.request.Paths, t.request.Spell = args[0], args, spelling(cmd.Flags())
			if err := a.ranked(&t.rank, &t.world, cmd.Flags()); err != nil {
				return err
			}
			return a.train(&t)
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.kind, "policy", policy.Kind, "the `KIND` of policy: "+policy.Kind)
	f.StringVar(&t.Size, "size", policy.Sizes[0], "the `SIZE` of the network: small, or seed, the shape that training is timed at")
	f.StringVar(&t.planFile, "plan", "", "the plan `FILE`: streams, rate and windows; instead of --hz, --action and --state")
	f.Var(hertz(&t.Hz), "hz", "rate of the clock; that of the dataset unless given")
	f.StringVar(&t.Action, "action", "", "the `STREAM` that is predicted; that called action or actions unless given")
	f.StringArrayVar(&t.States, "state", nil, "a `STREAM` that is seen; all that their names allow unless given; repeatable")
	f.IntVar(&t.Steps, "steps", 0, "steps of training; 0 for those of the size")
	f.IntVar(&t.Batch, "batch", 0, "windows of a step of each device; 0 for those of the size")
	f.Float64Var(&t.Rate, "lr", 0, "the learning `RATE` at its highest; 0 for that of the size")
	f.Float64Var(&t.Floor, "floor", 0, "the least `STD` that actions are measured by, in their unit; 0 for what is said above")
	f.IntSliceVar(&t.HoldOut, "hold-out", nil, "the numbers `I,...` of episodes that are not trained on, but compared with")
	f.IntSliceVar(&t.LeaveOut, "leave-out", nil, "the numbers `I,...` of episodes that are neither")
	f.Uint64Var(&t.Seed, "seed", 0, "of the weights at first, the order of the windows, and dropout")
	f.StringVarP(&t.out, "out", "o", "", "write the checkpoint into this `DIR`")
	f.BoolVar(&t.resume, "resume", false, "go on from the checkpoint in --out, if there is one")
	readingFlags(f, &t.request.Packing.Options)
	f.StringVar(&t.backend, "backend", "auto", "where to compute: auto, cpu, cuda, cuda:N or sim; several between commas, or cuda:all, train together")
	f.BoolVar(&t.NCCL, "nccl", false, "several GPUs add up their gradients by NCCL, where they do not reach each other's memory")
	f.IntVar(&t.rank, "rank", 0, "this program's number among --world; told by torchrun, srun, Open MPI or Kubernetes unless given")
	f.IntVar(&t.world, "world", 1, "how many programs of this machine train together, each with a device; told with the rank unless given")
	complete(cmd, "backend", backendNames)
	complete(cmd, "size", func() []string { return policy.Sizes })
	complete(cmd, "policy", func() []string { return []string{policy.Kind} })
	files(cmd, map[string]string{"plan": "yaml"})
	folders(cmd, "out")
	cmd.ValidArgsFunction = recordingFiles
	return cmd
}

// check checks the flags.
func (t *training) check() error {
	for _, n := range []struct {
		flag string
		got  int
	}{{"steps", t.Steps}, {"batch", t.Batch}} {
		if n.got < 0 {
			return usagef("--%s: got %d, want 1 or more, or 0 for the size's", n.flag, n.got)
		}
	}
	switch {
	case t.kind != policy.Kind:
		return usagef("--policy: got %q, want %s", t.kind, policy.Kind)
	case t.resume && t.out == "":
		return usagef("--resume: got it without --out, want the folder of the checkpoint")
	case t.planFile != "" && (t.Hz > 0 || t.Action != "" || len(t.States) > 0):
		return usagef("--plan: got it with --hz, --action or --state, want what they say in the plan")
	case t.NCCL && t.world > 1:
		return usagef("--nccl: got it in a program of %d, want one program with several devices: several share their memory", t.world)
	case t.Rate < 0:
		return usagef("--lr: got %g, want more than 0, or 0 for the size's", t.Rate)
	}
	if t.planFile != "" {
		text, err := os.ReadFile(t.planFile)
		if err != nil {
			return readError(t.planFile, err)
		}
		t.Plan, t.PlanName = string(text), t.planFile
	}
	if t.out == "" {
		return nil
	}
	switch there, err := policy.Exists(t.out); {
	case err != nil:
		return t.explain(err)
	case there && !t.resume:
		return usagef("--out: got %q, which has a checkpoint, want another folder, or --resume to go on from it", t.out)
	case !there && t.resume:
		t.resume, t.anew = false, true
	}
	return nil
}

// outputs finds out whether the checkpoint can be written, and takes away what a program that was killed has left of one.
func (t *training) outputs() error {
	if !t.writes() {
		return nil
	}
	if err := notURL(t.out); err != nil {
		return err
	}
	if err := os.MkdirAll(t.out, 0o777); err != nil {
		return unwritten(err)
	}
	if err := writable(filepath.Join(t.out, lossPicture)); err != nil {
		return err
	}
	return unwritten(atomicfile.Sweep(t.out, func(name string) bool { return name == lossPicture || policy.IsFile(name) }))
}

// alone locks the checkpoint, which another program may be making.
func (t *training) alone() (unlock func(), err error) {
	if !t.writes() || notURL(t.out) != nil {
		return func() {}, nil
	}
	at := filepath.Clean(t.out)
	unlock, err = atomicfile.Lock(filepath.Join(filepath.Dir(at), "."+filepath.Base(at)+".train.lock"))
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, &outputError{t.out, errors.New("another program is making it: want another folder, or to wait until it is done")}
	}
	return unlock, err
}

// lossPicture is the picture's name in a checkpoint.
const lossPicture = "loss.png"

// lossUnit is what it shows: the loss is of actions in their standard deviations.
const lossUnit = "MSE (squared standard deviations)"

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
	_, absent := os.Stat(t.out)
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
			_ = os.Remove(t.out) // which fails if there is something in it
		}
	}()
	w := &trainer{app: a, training: t, ranks: all, out: &trained{Input: t.path, Output: t.out, Skill: map[string]float64{}, RidgeSkill: map[string]float64{}, Remarks: []string{}}}
	for _, d := range devices {
		w.out.Devices = append(w.out.Devices, deviceOf(d.Info()))
	}
	if err := w.devicesOfAll(ctx); err != nil {
		return err
	}
	source, err := batching.Open(ctx, &w.request, a.watch(w.remark))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	w.out.Absent = absentInputs(source.Absent)
	done := a.step("preparing a step of training")
	tr, err := policy.NewTrainer(ctx, devices, source.Store, t.Options)
	done()
	if err != nil {
		return explainDrawn(&w.request, w.explain(err))
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	if err := w.run(ctx, tr, source.Store); err != nil {
		if all != nil {
			all.Leave(err) // the others are not to wait
		}
		return err
	}
	return nil
}

// watch shows the progress of opening datasets, and their remarks.
func (a *app) watch(remark func(format string, args ...any)) batching.Watch {
	return batching.Watch{Step: a.step, Note: noting(remark), Counting: func(what string, of int) (one, done func()) {
		bar := a.counting(what, of)
		return func() { bar.add(1) }, bar.done
	}}
}

// noting returns a function that prints notes.
func noting(remark func(format string, args ...any)) func(dataset.Note) {
	return func(n dataset.Note) { remark("%s", notetext.Line(n)) }
}

// trainer is train at work.
type trainer struct {
	*training
	app    *app
	ranks  *ranks.Group // nil if this program trains alone
	unread error        // of the output: nobody reads it any more
	out    *trained
}

func (w *trainer) remark(format string, args ...any) {
	w.out.Remarks = append(w.out.Remarks, fmt.Sprintf(format, args...))
	w.app.remark(format, args...)
}

// run trains, compares and writes.
func (w *trainer) run(ctx context.Context, tr *policy.Trainer, store *loader.Store) error {
	if w.anew {
		w.remark("--resume: there is no checkpoint in %s, training begins with the first step", w.training.out)
	}
	if w.training.out == "" {
		w.remark("nothing is kept, want --out DIR for the policy")
	}
	if w.resume {
		if err := tr.Resume(ctx, w.training.out); err != nil {
			return w.explain(err)
		}
		w.remark("goes on after step %d of %d", tr.Steps(), tr.Config().Recipe.Steps)
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
	return w.write()
}

// progress tells how far training is.
func (w *trainer) progress() error {
	o := w.out
	if w.app.json {
		return w.line(map[string]any{"step": o.Steps, "loss": o.Loss, "steps_per_second": o.Speed})
	}
	_, err := fmt.Fprintf(w.app.out, "step %d of %d: loss %.4f, %.0f steps a second\n", o.Steps, o.Recipe.Steps, o.Loss, o.Speed)
	return err
}

// line writes a line of JSON.
func (w *trainer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.app.out.Write(w.app.pipe.json(append(text, '\n')))
	return err
}

// save writes the checkpoint and the picture of the loss.
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
		return viz.WriteLossPNG(f, 1, tr.Losses(), viz.Options{Title: policy.Kind + " " + w.out.Recipe.Size, Unit: lossUnit})
	}))
}

// ended says that a signal came.
func (w *trainer) ended(tr *policy.Trainer) error {
	cut := &cutError{When: fmt.Sprintf("after step %d", tr.Steps()), Kept: w.training.out}
	if w.app.json {
		if err := w.line(w.out); err != nil {
			return err
		}
	}
	if cut.Kept == "" {
		return cut
	}
	w.app.remark("%v; --resume goes on", cut)
	return nil
}

// compare compares the policy and a ridge on the episodes that are held out.
func (w *trainer) compare(ctx context.Context, tr *policy.Trainer, store *loader.Store) error {
	done := w.app.step("comparing with the episodes held out")
	defer done()
	e, err := tr.Evaluate(ctx, nil)
	if err != nil {
		return w.explain(err)
	}
	w.out.Evaluation, w.out.Skill = &e, skillOf(&e)
	ridge, err := policy.Ridge(ctx, tr.Config(), store)
	var option *policy.OptionError
	if errors.As(err, &option) {
		w.remark("no ridge: got %s, want %s", option.Got, option.Want)
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
	if w.app.json {
		return w.line(o)
	}
	var b bytes.Buffer
	n := len(o.Devices)
	names := make([]string, n)
	for i, d := range o.Devices {
		names[i] = d.Name
	}
	fmt.Fprintf(&b, "trained %s %s, %d parameters, %d steps of %d windows of %s, %.0f MFLOP a step, on %s\n%s\n",
		o.Policy, o.Recipe.Size, o.Parameters, o.Steps, n*o.Recipe.Batch, episodes(o.Episodes), float64(n)*o.MFLOP, strings.Join(names, " and "), o.Says)
	if o.Evaluation != nil {
		writeSkills(&b, o.Evaluation, o.Ridge)
	}
	if o.Output != "" {
		fmt.Fprintf(&b, "wrote %s\n", o.Output)
	}
	_, err := w.app.out.Write(b.Bytes())
	return err
}
