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

// Options are the settings for training. The zero value trains the default size on all episodes.
type Options struct {
	Policy string // one of Kinds; empty is Kind
	Size   string // one of Sizes for Policy
	// Plan is the text of a plan: see [planfile.Parse]. If it is empty, Hz, Action, States and Unordered make one. The stream
	// named action or actions is predicted, and the other streams in the plan are states. If the plan names no streams, all
	// streams in the dataset except Config.NotStates are states. Windows in the plan set the number of ticks that are read and
	// predicted.
	Plan     string
	PlanName string // the plan's file name, for error messages
	// Hz is the rate of the clock if Plan is empty. If Hz is 0 too, it is the dataset's rate.
	Hz float64
	// Action is the predicted stream if Plan is empty; by default it is the stream named action or actions. States are the
	// streams that the policy reads if Plan is empty; by default they are all in the dataset except Config.NotStates.
	Action string
	States []string
	// Unordered is the treatment of streams with unsorted timestamps if Plan is empty: one of align.Unordereds, by default
	// "drop".
	Unordered string
	// Episodes are the episodes that are used. HoldOut are the numbers of those that are only compared with predictions.
	Episodes dataset.Selection
	HoldOut  []int
	// From is the folder of a checkpoint. Training then begins with its weights, and with its network, plan, streams and statistics, so
	// that Policy, Size, Condition, Plan, Hz, Action, States, Unordered and Floor must be empty. The store may have other recordings with the same columns.
	From       string
	Seed       uint64
	Steps      int     // 0 is the number in the recipe, or in From. The same is true for the next three fields, and for Seed with From.
	Batch      int     // the number of windows in a batch, on each device
	Rate       float64 // the highest learning rate
	Accumulate int     // see Recipe.Accumulate
	// EMA replaces Recipe.EMA, unless it is nil. Dropout, unless it is nil, replaces Recipe.AttentionDropout, and a third of it
	// Recipe.Dropout. 0 is no average and no dropout.
	EMA, Dropout *float64
	// Settings is not used for training. Config.Settings keeps it for the caller.
	Settings map[string][]string
	// Sampler, SampleSteps and Execute replace those of the recipe, if they are not empty or 0.
	Sampler              string
	SampleSteps, Execute int
	Condition            string // Prefix or Cross; empty is Prefix
	// Floor is the smallest standard deviation that scales an action column: see Config.Floor.
	Floor float64
	// NCCL lets the library NCCL add up the gradients. It is for several GPUs that cannot access each other's memory. See
	// [nn.Training.NCCL].
	NCCL bool
	// Ranks are the processes that train together, each with one device. It is nil if this process trains alone. All processes
	// need the same options and store, and must make the same calls to their trainers in the same order. The first process writes
	// the checkpoint. Its bytes equal those from one process with all devices.
	Ranks *ranks.Group
}

// Trainer trains a policy. Its methods must not be called concurrently.
type Trainer struct {
	config *Config
	store  *store.Store
	loader *loader.Group
	models []*nn.Model // one for each device, with equal parameters
	mean   *nn.Model   // for the moving averages of the parameters, on the first device; nil without Recipe.EMA
	held   constants
	group  *nn.Group
	ranks  *ranks.Group
	at     int64
	losses []float32       // at all steps
	kept   map[int]float64 // held-out losses by step
	broken error           // the error of a failed step
}

// NewTrainer prepares training on one device, or on several that [ops.Connect] can connect. It chooses the streams, computes the
// statistics of the training episodes, and copies the data to each device. It captures one training step, with the draw of each
// device's batch, in one graph. The devices share one order of windows. The caller closes the Trainer, before the devices.
//
// Invalid options, unsuitable streams and short episodes are an *OptionError, a *StreamError and an *EpisodeError. Errors from
// package loader and package nn are returned too.
func NewTrainer(ctx context.Context, devices []*ops.Device, store *store.Store, o Options) (_ *Trainer, err error) {
	t := &Trainer{store: store, ranks: o.Ranks, kept: map[int]float64{}}
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
	if r.EMA > 0 && rank == 0 {
		if t.mean, err = newModel(ctx, devices[0], t.config); err != nil {
			return nil, err
		}
	}
	var all []nn.StepOptions
	for i, device := range devices {
		m, err := newModel(ctx, device, t.config)
		if err != nil {
			return nil, err
		}
		t.models = append(t.models, m)
		if o.From != "" {
			if _, err := m.LoadFile(ctx, in(o.From, modelFile)); err != nil {
				return nil, err
			}
		}
		o, err := t.held.options(ctx, t.config, device, sourcesOf(t.config, t.loader.Batch()[i]), false)
		if err != nil {
			return nil, err
		}
		o.Train, o.Before, o.Ring = r.training(t.config.Seed), t.loader.Loaders()[i].Run, ring
		o.Train.NCCL = t.config.NCCL
		all = append(all, o)
	}
	if t.ranks != nil {
		t.group, err = nn.NewRank(ctx, t.ranks, t.models[0], r.Batch, r.tokens(), all[0])
		return t, err
	}
	t.group, err = nn.NewGroup(ctx, t.models, r.Batch, r.tokens(), all)
	return t, err
}

// alike returns an error unless all processes have the same settings.
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

// ring is the number of losses that the device keeps.
const ring = 1024

// learn sets the streams' columns and their statistics, computed on the CPU, and a chunk that fits the episodes.
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
	if c.continued {
		err = c.fits(l)
	} else {
		c.adopt(l)
	}
	if err != nil {
		return err
	}
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
	if c.continued { // with its statistics, so that the weights mean the same; but the values must be finite
		other := *c
		other.Inputs, other.Targets = slices.Clone(c.Inputs), slices.Clone(c.Targets)
		return other.statistics(ctx, l)
	}
	return c.statistics(ctx, l)
}

// Config returns the settings that the trainer writes into a checkpoint. The caller must not modify them.
func (t *Trainer) Config() *Config { return t.config }

// Parameters returns the number of weights in the network.
func (t *Trainer) Parameters() int { return t.models[0].Count() }

// Report returns the loader's report on the episodes that the windows are drawn from.
func (t *Trainer) Report() loader.Report { return t.loader.Report() }

// Steps returns the number of steps so far. After Resume it includes the steps in the checkpoint.
func (t *Trainer) Steps() int { return int(t.at) }

// Done reports whether Steps has reached Recipe.Steps.
func (t *Trainer) Done() bool { return t.Steps() >= t.config.Recipe.Steps }

// Run trains for the given number of steps and returns the loss at each step: the mean over all targets in the batch that have a
// recorded action. It stops at Recipe.Steps, and after 1024 steps in one call.
//
// If ctx ends, Run stops after a whole step; if that is before the first step, it returns ctx.Err(). Several processes do not
// stop early, because they must train the same number of steps. A value that is not finite is an *ops.ValueError or
// *nn.NotFiniteError. After it the trainer is unusable, and training can only resume from an earlier checkpoint.
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

// Evaluate returns the skill on the held-out episodes with the weights that Save would write, on the first device, and keeps the
// loss for HeldOut. See [Policy.Evaluate] for visit.
func (t *Trainer) Evaluate(ctx context.Context, visit func(w *Window, chunk []float64) error) (Evaluation, error) {
	if t.group == nil {
		return Evaluation{}, t.usable("Evaluate")
	}
	m, err := t.weights(ctx)
	if err != nil {
		return Evaluation{}, err
	}
	e, err := evaluate(ctx, t.config, m, t.store, t.config.HoldOut, visit)
	if err == nil && len(t.config.HoldOut) > 0 {
		t.kept[t.Steps()] = e.Loss
	}
	return e, err
}

// weights returns the weights of the policy: the moving averages, or the parameters if there are none.
func (t *Trainer) weights(ctx context.Context) (*nn.Model, error) {
	if t.mean == nil {
		return t.models[0], nil
	}
	return t.mean, t.group.Average(ctx, t.mean)
}

// placeText is the key for the loader's state in a checkpoint.
const placeText = "robocache.loader"

// Save writes a checkpoint into a folder and creates it if necessary. It writes training.safetensors first, which Resume reads.
// Then it writes model.safetensors: the weights alone, with torch's names. With Recipe.EMA they are the moving averages. config.json
// comes last and makes the folder a checkpoint. If this step has the lowest held-out loss so far, Save first writes a checkpoint with
// the same weights into the folder best inside dir, without training.safetensors.
//
// Each file is replaced as a whole. If the program is killed between files, a new folder is not yet a checkpoint, and an old one
// may have the weights from an earlier step beside a newer training.safetensors, from which Resume still works. If Run has
// failed, Save returns its error and writes nothing, so the last checkpoint stays.
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
	texts := map[string]string{placeText: string(text), lossesText: lossesTo(t.losses)}
	if len(t.kept) > 0 {
		kept, _ := json.Marshal(t.kept) // cannot fail, because a prediction is finite
		texts[keptText] = string(kept)
	}
	_, err = t.group.First(ctx, "the best checkpoint", func() ([]byte, error) {
		if t.Best() != t.Steps() {
			return nil, nil
		}
		return nil, errors.Join(atomicfile.MkdirAll(in(dir, BestFolder)), t.write(ctx, in(dir, BestFolder)))
	})
	if err != nil {
		return err
	}
	if err := t.group.SaveState(ctx, in(dir, trainingFile), texts); err != nil {
		return err
	}
	_, err = t.group.First(ctx, "the checkpoint", func() ([]byte, error) { return nil, t.write(ctx, dir) })
	return err
}

// write writes the weights and config.json into a folder.
func (t *Trainer) write(ctx context.Context, dir string) error {
	m, err := t.weights(ctx)
	if err != nil {
		return err
	}
	if err := m.SaveFile(ctx, in(dir, modelFile), map[string]string{stepText: strconv.FormatInt(t.at, 10)}); err != nil {
		return err
	}
	return t.config.write(dir)
}

// Resume continues from a checkpoint. The results equal those of an uninterrupted training bit for bit. A checkpoint with other
// options, recordings, or another number of devices is a *CheckpointError.
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
	if kept := texts[keptText]; t.broken == nil && kept != "" && json.Unmarshal([]byte(kept), &t.kept) != nil {
		t.broken = &CheckpointError{dir, trainingFile, "held-out losses that are not JSON", "the output of Save"}
	}
	return t.broken
}

// stepText is the key for the step number in model.safetensors. Files by other programs lack it.
const stepText = "robocache.step"

// ours returns a *CheckpointError if another program wrote model.safetensors, because Save would overwrite it.
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
		return &CheckpointError{dir, modelFile, "another program's weights, which going on would write over", "them in another folder"}
	}
	return nil
}

// place moves the loader to its state in a checkpoint, and returns the number of steps.
func (t *Trainer) place(ctx context.Context, dir, text string) (int64, error) {
	var s loader.State
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return 0, &CheckpointError{dir, trainingFile, "a loader's place that is not JSON: " + err.Error(), "the output of Save"}
	}
	if err := t.loader.Resume(ctx, s); err != nil {
		return 0, err
	}
	p, err := t.group.Progress(ctx)
	return p.Step, err
}

// usable returns an error if a step has failed or the trainer is closed.
func (t *Trainer) usable(op string) error {
	if t.group == nil {
		return &ops.ArgError{Op: op, Arg: "trainer", Kind: ops.ErrClosed}
	}
	return t.broken
}

// Close releases the memory on the devices. A second Close does nothing. With several processes it waits for the others, unless
// Options.Ranks has ended. A process that stops because of its own error must call Leave on Options.Ranks before.
func (t *Trainer) Close() error {
	var errs []error
	if t.group != nil {
		errs = append(errs, t.group.Close())
	}
	errs = append(errs, t.held.close())
	for _, m := range append(t.models, t.mean) {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	if t.loader != nil {
		errs = append(errs, t.loader.Close())
	}
	t.group, t.models, t.mean, t.loader = nil, nil, nil, nil
	return errors.Join(errs...)
}
