package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/policy"
)

// training has the train flags.
type training struct {
	policy.Options
	path, planFile       string
	out, backend, logDir string
	request              batching.Request // for the dataset
	holdOut              dataset.Ranges
	resume, anew         bool // anew: --resume found no checkpoint
	rank, world          int  // among the programs that train together
}

// writes reports whether this program writes the checkpoint.
func (t *training) writes() bool { return t.out != "" && t.rank == 0 }

// check checks the flags.
func (t *training) check() error {
	for _, n := range []struct {
		flag string
		got  int
	}{{"steps", t.Steps}, {"batch", t.Batch}, {"accumulate", t.Accumulate}} {
		if n.got < 0 {
			return usagef("--%s: got %d, want 1 or more, or 0 for the size's", n.flag, n.got)
		}
	}
	switch {
	case t.Policy != "" && !slices.Contains(policy.Kinds, t.Policy):
		return usagef("--policy: got %q, want %s", t.Policy, strings.Join(policy.Kinds, ", "))
	case t.resume && t.out == "":
		return usagef("--resume: got it without --out, want the folder of the checkpoint")
	case t.planFile != "" && (t.Hz > 0 || t.Action != "" || len(t.States) > 0 || t.Unordered != ""):
		return usagef("--plan: got it with --hz, --action, --state or --unordered, want these in the plan")
	case t.NCCL && t.world > 1:
		return usagef("--nccl: got it in a program of %d, want one program with several devices: several share their memory", t.world)
	case t.From != "" && t.planFile != "":
		return usagef("--plan: got it with --from, want one of the two: a checkpoint has its plan")
	case t.Rate < 0:
		return usagef("--lr: got %g, want more than 0, or 0 for the size's", t.Rate)
	}
	if t.planFile != "" {
		text, err := fault.ReadFile(t.planFile)
		if err != nil {
			return readError(t.planFile, err)
		}
		t.Plan, t.PlanName = string(text), t.planFile
	}
	inputs := append(t.request.Definitions, t.path, t.planFile)
	err := writable(inputs, output{flag: "--out", path: t.out, folder: true}, output{flag: "--log-dir", path: t.logDir, folder: true})
	if err != nil {
		return err
	}
	if t.out == "" {
		return nil
	}
	switch there, err := policy.Exists(t.out); {
	case err != nil:
		return unwritten(t.explain(err))
	case there && !t.resume:
		return usagef("--out: got %q, which has a checkpoint, want another folder, or --resume to go on from it", t.out)
	case !there && t.resume:
		t.resume, t.anew = false, true
	}
	return nil
}

// numbersIn returns the ends of ranges, and the numbers between them that a list has.
func numbersIn(ranges dataset.Ranges, list []int) (in []int) {
	for _, r := range ranges {
		in = append(in, r[0])
		for _, n := range list {
			if r[0] < n && n < r[1] {
				in = append(in, n)
			}
		}
		if r[0] < r[1] {
			in = append(in, r[1])
		}
	}
	return in
}

// outputs checks that the checkpoint can be written, and removes temporary files that killed programs left.
func (t *training) outputs() error {
	if !t.writes() {
		return nil
	}
	if err := atomicfile.MkdirAll(t.out); err != nil {
		return unwritten(err)
	}
	if err := writable(nil, output{path: filepath.Join(t.out, lossPicture)}); err != nil {
		return err
	}
	if err := atomicfile.Sweep(t.out, func(name string) bool { return name == lossPicture || policy.IsFile(name) }); err != nil {
		return unwritten(err)
	}
	if err := atomicfile.Sweep(filepath.Join(t.out, policy.BestFolder), policy.IsFile); !errors.Is(err, fs.ErrNotExist) {
		return unwritten(err)
	}
	return nil
}

// alone locks the checkpoint against other programs.
func (t *training) alone() (unlock func(), err error) {
	if !t.writes() {
		return func() {}, nil
	}
	return alone(t.out, "train")
}

// explain maps an error from package policy to a command-line error.
func (t *training) explain(err error) error {
	if errors.Is(err, ops.ErrWrongDevice) {
		return usagef("--backend: got %q: %v", t.backend, err)
	}
	var option *policy.OptionError
	if errors.As(err, &option) {
		arg := cmp.Or(map[string]string{"Rate": "lr", "History": "Plan", "Chunk": "Plan"}[option.Arg], option.Arg)
		if arg != "Plan" || t.planFile == "" {
			return &policy.OptionError{Arg: arg, Got: option.Got, Want: option.Want}
		}
		return &inputError{Path: cmp.Or(t.planFile, t.path), Msg: option.Arg, Got: option.Got, Want: option.Want}
	}
	var bad *nn.NotFiniteError
	if errors.As(err, &bad) { // the recordings were checked and are finite
		return fmt.Errorf("training diverged: the loss or a gradient of step %d is not finite, and the recordings are; a --lr less than %g is the likely cure", bad.Step, t.Rate)
	}
	return explainPolicy(t.path, err)
}

// trained is the report of train, and the last line in --json.
type trained struct {
	Input      string               `json:"input"`
	Output     string               `json:"output,omitempty"`
	Devices    []deviceInfo         `json:"devices"`
	Policy     string               `json:"policy"`
	Says       string               `json:"says"`
	States     []seen               `json:"states"`
	Action     seen                 `json:"action"`
	NotStates  []policy.NotState    `json:"not_states"`
	Recipe     policy.Recipe        `json:"recipe"`
	Parameters int                  `json:"parameters"`
	MFLOP      float64              `json:"mflop_per_step"`
	Episodes   int                  `json:"episodes"` // number of episodes used for training
	Windows    int                  `json:"windows"`
	HoldOut    []int                `json:"hold_out"`
	LeaveOut   []int                `json:"leave_out"`       // numbers of episodes left out by the option
	Steps      int                  `json:"steps"`           // including the steps of a resumed checkpoint
	Loss       float64              `json:"loss"`            // mean over the latest steps
	HeldOut    []heldOut            `json:"held_out_losses"` // in the order of steps
	Best       *heldOut             `json:"best,omitempty"`  // the lowest of them
	Seconds    float64              `json:"seconds"`
	Speed      float64              `json:"steps_per_second"`
	Skill      map[string]float64   `json:"skill"` // by horizon in ticks; empty without held-out episodes
	RidgeSkill map[string]float64   `json:"ridge_skill"`
	MeanSkill  map[string]float64   `json:"mean_skill"` // skill of always predicting the mean action
	Evaluation *policy.Evaluation   `json:"evaluation,omitempty"`
	Ridge      *policy.Evaluation   `json:"ridge,omitempty"`
	Mean       *policy.Evaluation   `json:"mean,omitempty"`
	Problems   []inspection.Problem `json:"problems"` // about the whole dataset
	Skipped    []serve.Skipped      `json:"skipped"`
	Ended      bool                 `json:"ended_by_signal"`
	noteList
}

// heldOut is the loss on the held-out episodes after a step.
type heldOut struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
}

// seen describes an input or output stream of the policy in the report.
type seen struct {
	Stream  string `json:"stream"`
	Columns int    `json:"columns"`
}

func (s seen) String() string {
	return fmt.Sprintf("%s (%s)", s.Stream, text.Count(s.Columns, "column"))
}

// trainer is a running train command.
type trainer struct {
	*training
	app    *app
	ranks  *ranks.Group       // nil for a single program
	latest *policy.Evaluation // after the latest tenth of the steps; nil before
	unread error              // a write error of the output, because its reader is gone
	better bool               // the latest held-out loss is the lowest so far and not in a checkpoint
	events *eventFile         // nil without --log-dir
	out    *trained
}

// remark adds the command's note, and prints it.
func (w *trainer) remark(code dataset.Code, format string, args ...any) {
	w.out.remark(code, format, args...)
	w.out.print(w.app)
}

// line writes a JSON line.
func (w *trainer) line(name schema.Name, v any) error {
	text, err := schema.JSON(name, v, "")
	if err != nil {
		return err
	}
	_, err = w.app.Out.Write(w.app.Pipe.JSON(text))
	return err
}

// lossPicture is the file with the loss curve in a checkpoint.
const lossPicture = "loss.png"

// lossUnit is the loss curve's unit. Errors count in standard deviations, because actions are normalised by them.
const lossUnit = "MSE (squared standard deviations)"
