package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
)

// Options say what is trained. The zero value trains the default size on all episodes.
type Options struct {
	Size string // one of Sizes
	// Plan is the text of a plan, see [planfile.Parse]; unless given, that of Hz, Action, States and Unordered. A stream called action or actions is what
	// is predicted, and the others that the plan names are states; where it names none, all of the dataset but Config.NotStates. Its windows, if it has
	// some, say how many ticks are seen and predicted.
	Plan     string
	PlanName string  // what errors call it: its file
	Hz       float64 // of the clock, where there is no plan: the dataset's rate unless given
	// Action is the stream that is predicted, where there is no plan: that called action or actions unless given. States are those that are seen: all of
	// the dataset but Config.NotStates unless given.
	Action string
	States []string
	// Unordered is what becomes of streams with unsorted timestamps, where there is no plan: one of align.Unordereds, "drop" unless given.
	Unordered string
	// HoldOut are the numbers of episodes that are not trained on, and compared with; LeaveOut of those that are neither.
	HoldOut, LeaveOut []int
	Seed              uint64
	Steps             int     // the recipe's unless given, as are the others
	Batch             int     // windows of a step, of each device
	Rate              float64 // the learning rate
	Floor             float64 // the least standard deviation that columns of the action are measured by: see Config.Floor
	// NCCL has the gradients of several devices added up by that library, for GPUs that do not reach each other's memory; see [nn.Training.NCCL].
	NCCL bool
	// Ranks are the processes that train together, each with one device; nil for this one alone. All have the same options and store, and call the
	// methods of their trainers as often and in the same order. The checkpoint is the first's to write, and has the bytes of one process with all devices.
	Ranks *ranks.Group
}

// Trainer trains a policy. Its methods are for one goroutine at a time.
type Trainer struct {
	config *Config
	store  *store.Store
	loader *loader.Group
	models []*nn.Model // one a device, with the same parameters
	held   constants
	group  *nn.Group
	ranks  *ranks.Group
	at     int64
	losses []float32 // of all steps
	broken error     // of a step
}

// NewTrainer prepares training on one device or on several, which [ops.Connect] can connect: it finds what the streams are, computes the statistics of
// the training episodes, puts these on each device and captures a step of training, with the draw of each device's batch, in one graph. The devices
// share the order of the windows. The caller closes it, before the devices. What cannot be trained on is an *OptionError, *StreamError or
// *EpisodeError, an error of the loader, or one of package nn.
func NewTrainer(ctx context.Context, devices []*ops.Device, store *store.Store, o Options) (_ *Trainer, err error) {
	t := &Trainer{store: store, ranks: o.Ranks}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if t.config, err = newConfig(store, &o); err != nil {
		return nil, err
	}
	t.config.Devices, t.config.NCCL = len(devices), o.NCCL && len(devices) > 1
	rank := 0
	if t.ranks != nil {
		if len(devices) != 1 || o.NCCL {
			return nil, refuse("Ranks", fmt.Sprintf("processes with %d devices, NCCL %t", len(devices), o.NCCL), "one device each, without NCCL")
		}
		rank, t.config.Devices = t.ranks.Rank(), t.ranks.Count()
	}
	if len(devices) > 1 && !o.NCCL {
		if err := ops.Connect(devices...); err != nil {
			return nil, err
		}
	}
	if err := t.config.learn(ctx, store); err != nil {
		return nil, err
	}
	if err := t.alike(ctx); err != nil {
		return nil, err
	}
	if t.loader, err = t.config.drawn(ctx, devices, rank, store); err != nil {
		return nil, err
	}
	r := &t.config.Recipe
	var all []nn.StepOptions
	for i, device := range devices {
		m, err := newModel(ctx, device, t.config)
		if err != nil {
			return nil, err
		}
		t.models = append(t.models, m)
		o, err := t.held.options(ctx, t.config, device, sourcesOf(t.config, t.loader.Batch()[i]), false)
		if err != nil {
			return nil, err
		}
		o.Train, o.Before, o.Ring = r.training(t.config.Seed), t.loader.Loaders()[i].Run, ring
		o.Train.NCCL = t.config.NCCL
		all = append(all, o)
	}
	if t.ranks != nil {
		t.group, err = nn.NewRank(ctx, t.ranks, t.models[0], r.Batch, r.History, all[0])
		return t, err
	}
	t.group, err = nn.NewGroup(ctx, t.models, r.Batch, r.History, all)
	return t, err
}

// alike finds out whether all processes train the same.
func (t *Trainer) alike(ctx context.Context) error {
	if t.ranks == nil {
		return nil
	}
	text, err := json.Marshal(t.config)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	mine := fmt.Appendf(nil, "%d episodes with hash %x", len(t.config.Contents), sum[:8])
	all, err := t.ranks.Exchange(ctx, "what is trained", mine)
	if err != nil {
		return err
	}
	for rank, theirs := range all {
		if !bytes.Equal(theirs, mine) {
			return refuse("Ranks", fmt.Sprintf("another dataset or other options in rank %d than in rank %d: %s", rank, t.ranks.Rank(), theirs), "the same in all: "+string(mine))
		}
	}
	return nil
}

// ring is how many losses are kept on the device.
const ring = 1024

// learn finds the columns of the streams and their statistics, on the CPU, and a chunk that the episodes allow.
func (c *Config) learn(ctx context.Context, store *store.Store) (err error) {
	trained := slices.Clone(c.Trained)
	defer func() {
		if errors.Is(err, errShorter) {
			c.Trained, c.LeftOut, c.Inputs, c.Targets = trained, dataset.Notes{}, nil, nil
			err = c.learn(ctx, store)
		}
	}()
	device, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	defer device.Close()
	l, err := c.enough(ctx, device, store, &c.Trained)
	if err != nil {
		return err
	}
	defer l.Close()
	c.adopt(l)
	drawn := numbersOf(l)
	if len(c.HoldOut) > 0 {
		held, err := c.enough(ctx, device, store, &c.HoldOut)
		if err != nil {
			return err
		}
		defer held.Close()
		if err := c.fits(held); err != nil {
			return err
		}
		drawn = append(drawn, numbersOf(held)...)
	}
	if c.Contents, err = c.contents(ctx, store, drawn); err != nil {
		return err
	}
	return c.statistics(ctx, l)
}

// Config is what is trained. It is not to be written.
func (t *Trainer) Config() *Config { return t.config }

// Parameters is how many there are.
func (t *Trainer) Parameters() int { return t.models[0].Count() }

// Report says what the windows are drawn from.
func (t *Trainer) Report() loader.Report { return t.loader.Report() }

// Steps is how many steps there were, those of a checkpoint that was resumed too.
func (t *Trainer) Steps() int { return int(t.at) }

// Done reports whether there were as many steps as the recipe has.
func (t *Trainer) Done() bool { return t.Steps() >= t.config.Recipe.Steps }

// Run trains so many steps, but no more than the recipe has, and returns the loss of each: the mean over the targets of the batch that there are. It
// ends early with the context, after whole steps, unless there are several processes, which train as many each; where it ends before the first step, the
// error is the context's. A value that is not finite is an error, *ops.ValueError or *nn.NotFiniteError, and nothing was trained since:
// training ends there, and goes on from what was saved before.
func (t *Trainer) Run(ctx context.Context, steps int) ([]float32, error) {
	if err := t.usable("Run"); err != nil {
		return nil, err
	}
	steps = min(steps, t.config.Recipe.Steps-t.Steps(), ring)
	given := 0
	for ; given < steps && (ctx.Err() == nil || t.ranks != nil); given++ {
		if err := t.group.Run(); err != nil {
			t.broken = err
			return nil, err
		}
	}
	if given == 0 && steps > 0 {
		return nil, ctx.Err()
	}
	p, err := t.group.Progress(context.WithoutCancel(ctx))
	if err != nil {
		t.broken = err
		return nil, err
	}
	t.at = p.Step
	losses := p.Losses[len(p.Losses)-given:]
	t.losses = append(t.losses, losses...)
	return losses, nil
}

// Evaluate is the skill on the held-out episodes so far, on the first device; see [Policy.Evaluate] for Visit.
func (t *Trainer) Evaluate(ctx context.Context, visit func(w *Window, chunk []float64) error) (Evaluation, error) {
	if t.group == nil {
		return Evaluation{}, t.usable("Evaluate")
	}
	return evaluate(ctx, t.config, t.models[0], t.store, t.config.HoldOut, visit)
}

// placeText is the loader's place, as a checkpoint has it.
const placeText = "robocache.loader"

// Save writes a checkpoint into a folder, which is made if it is not there: training.safetensors, which training goes on from, model.safetensors, which has
// the weights alone, with torch's names, and at last config.json, which makes the folder a checkpoint. Each file is there whole or not at all, and a program
// that is killed in between leaves nothing, or the weights of an earlier step beside a place to go on from. After an error of Run it is that error again: what
// was saved before stays.
func (t *Trainer) Save(ctx context.Context, dir string) error {
	if err := t.usable("Save"); err != nil {
		return err
	}
	s, err := t.loader.State(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(dir); err != nil {
		return err
	}
	if err := t.group.SaveState(ctx, in(dir, trainingFile), map[string]string{placeText: string(text), lossesText: lossesTo(t.losses)}); err != nil {
		return err
	}
	_, err = t.group.First(ctx, "the checkpoint", func() ([]byte, error) {
		if err := t.models[0].SaveFile(ctx, in(dir, modelFile), map[string]string{stepText: strconv.FormatInt(t.at, 10)}); err != nil {
			return nil, err
		}
		return nil, t.config.write(dir)
	})
	return err
}

// Resume goes on from a checkpoint, to the bit. One of other options, or of another number of devices, is a *CheckpointError.
func (t *Trainer) Resume(ctx context.Context, dir string) error {
	if t.group == nil {
		return t.usable("Resume")
	}
	c, err := readConfig(dir)
	if err != nil {
		return err
	}
	if err := t.config.same(c, dir); err != nil {
		return err
	}
	if err := ours(dir); err != nil {
		return err
	}
	texts, err := t.group.LoadState(ctx, in(dir, trainingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &CheckpointError{Dir: dir, Got: "no " + trainingFile, Want: "a folder that robocache train has written"}
	}
	if err != nil {
		return err
	}
	if t.at, t.broken = t.place(ctx, dir, texts[placeText]); t.broken == nil {
		t.losses, t.broken = lossesFrom(dir, texts[lossesText], t.at)
	}
	return t.broken
}

// stepText is the step that the weights of model.safetensors are of. A file that another program has written is without it.
const stepText = "robocache.step"

// ours refuses a checkpoint whose model.safetensors another program has written, as it would be written over.
func ours(dir string) error {
	f, err := safetensors.Open(in(dir, modelFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, written := f.Metadata()[stepText]; !written {
		return &CheckpointError{dir, modelFile, "weights of another program, which going on would write over", "them in another folder"}
	}
	return nil
}

// place takes the loader to its place in a checkpoint, and returns how many steps there were.
func (t *Trainer) place(ctx context.Context, dir, text string) (int64, error) {
	var s loader.State
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return 0, &CheckpointError{dir, trainingFile, "a loader's place that is not JSON: " + err.Error(), "what Save has written"}
	}
	if err := t.loader.Resume(ctx, s); err != nil {
		return 0, err
	}
	p, err := t.group.Progress(ctx)
	return p.Step, err
}

// usable reports why the trainer cannot be used: a step has failed, or it is closed.
func (t *Trainer) usable(op string) error {
	if t.group == nil {
		return &ops.ArgError{Op: op, Arg: "trainer", Kind: ops.ErrClosed}
	}
	return t.broken
}

// Close releases what is on the devices. Close twice is fine. Of several processes it waits for the others, unless Options.Ranks has ended: who ends by an
// error of its own calls its Leave before.
func (t *Trainer) Close() error {
	var errs []error
	if t.group != nil {
		errs = append(errs, t.group.Close())
	}
	errs = append(errs, t.held.close())
	for _, m := range t.models {
		errs = append(errs, m.Close())
	}
	if t.loader != nil {
		errs = append(errs, t.loader.Close())
	}
	t.group, t.models, t.loader = nil, nil, nil
	return errors.Join(errs...)
}
