package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
)

// Policy is a checkpoint on a device. Its methods must not be called concurrently.
type Policy struct {
	config *Config
	model  *nn.Model
}

// Open loads a checkpoint onto a device. The caller closes the Policy, before the device. A folder without a valid checkpoint is
// a *CheckpointError.
func Open(ctx context.Context, device *ops.Device, dir string) (*Policy, error) {
	c, err := readConfig(dir)
	if err != nil {
		return nil, err
	}
	weights := in(dir, modelFile)
	info, err := fault.Stat(weights)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CheckpointError{Dir: dir, Got: "no " + modelFile, Want: "a folder that robocache train has written"}
	}
	if err != nil {
		return nil, err
	}
	if n := c.Recipe.weights(len(c.Inputs), len(c.Targets)); float64(info.Size()) < 2*n { // before memory is allocated for the weights
		return nil, &CheckpointError{dir, modelFile, fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("those of %.0f weights", n)}
	}
	p := &Policy{config: c}
	if p.model, err = newModel(ctx, device, c); errors.Is(err, ops.ErrOption) { // because config.json may come from anywhere
		return nil, &CheckpointError{dir, configFile + ": recipe", err.Error(), "one of a network"}
	}
	if err != nil {
		return nil, err
	}
	if _, err := p.model.LoadFile(ctx, weights); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Config returns the settings in the checkpoint. The caller must not modify them.
func (p *Policy) Config() *Config { return p.config }

// Evaluate predicts a chunk at each tick of some episodes and compares it with the recorded actions. visit, if not nil, is called
// with each window and its predicted chunk [C,A], in the action's unit; both are reused, so it must copy the values to keep. A
// recording without a required stream, or with other columns, is a *StreamError.
func (p *Policy) Evaluate(ctx context.Context, store *store.Store, episodes []int, visit func(w *Window, chunk []float64) error) (Evaluation, error) {
	return evaluate(ctx, p.config, p.model, store, episodes, visit)
}

// Close releases the memory on the device. A second Close does nothing.
func (p *Policy) Close() error { return p.model.Close() }

// Runner runs a policy on samples as they arrive. Its methods must not be called concurrently.
type Runner struct {
	predictor *Predictor
	live      *align.Live
	recent    []recentChunk // of Action, the oldest first
	action    []float64     // of Action
}

// NewRunner prepares a policy for streams that will arrive. streams lists the streams in the policy's plan, with the columns that
// the recordings have. A stream that is missing or has another number of columns is a *StreamError. The caller closes the Runner.
func (p *Policy) NewRunner(ctx context.Context, streams []align.LiveStream) (_ *Runner, err error) {
	plan, err := p.config.plan(false)
	if err != nil {
		return nil, err
	}
	r := &Runner{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.live, err = align.NewLive(plan, streams, 0); err != nil {
		return nil, err
	}
	for _, s := range p.config.streamList() {
		i := slices.IndexFunc(r.live.Parts(), func(l align.LivePart) bool { return l.Name == s.Name })
		if i < 0 {
			return nil, &StreamError{s.Name, "none", "a stream that will arrive"}
		}
		if d := r.live.Parts()[i].Values.Dim(1); d != len(s.Columns) {
			return nil, &StreamError{s.Name, fmt.Sprintf("%d columns", d), fmt.Sprintf("%d, as the policy was trained with", len(s.Columns))}
		}
	}
	r.predictor, err = p.NewPredictor(ctx)
	return r, err
}

// Push adds a sample: see [align.Live.Push]. Samples of the action stream are the commanded actions, from this policy or from
// another source. A sample with a value that is not finite is rejected with a *StreamError.
func (r *Runner) Push(stream string, at int64, values []float64) error {
	if i := slices.IndexFunc(values, func(v float64) bool { return !finite(v) }); i >= 0 {
		return &StreamError{stream, fmt.Sprintf("%g in value %d of the sample at %d ns", values[i], i, at), "finite values"}
	}
	return r.live.Push(stream, at, values)
}

// Act predicts the actions [C,A] from an anchor on, in the action's unit. The anchor is in ns on the common clock. The next Act
// reuses the returned memory. A state without a valid sample counts as its mean, as in training, and Missing lists it.
//
// The error is a *NoActionError if the policy needs the action before the anchor and has none. It is a *StreamError or a
// *PredictionError if the prediction is not finite. Act may be called for later anchors after these errors.
func (r *Runner) Act(ctx context.Context, anchor int64) ([]float64, error) {
	parts, err := r.live.Window(ctx, anchor)
	if err != nil {
		return nil, err
	}
	return r.predictor.predict(ctx, parts, anchor)
}

// Missing returns the states without a valid sample at the anchor of the last Act: none had arrived, or the newest was older than
// the plan's tolerance. The next Act reuses the slice. A program that moves a robot should check it.
func (r *Runner) Missing() []string { return r.predictor.missing }

// Parts returns the streams, with counts that show how their samples were used so far.
func (r *Runner) Parts() []align.LivePart { return r.live.Parts() }

// Close releases the memory on the device. A second Close does nothing.
func (r *Runner) Close() error {
	var errs []error
	if r.predictor != nil {
		errs = append(errs, r.predictor.Close())
	}
	if r.live != nil {
		errs = append(errs, r.live.Close())
	}
	return errors.Join(errs...)
}

// LiveStreams returns the streams that the policy takes, with the columns, dtypes and rates in a recording. Use it to make a
// Runner for a robot that sends the same streams.
func (p *Policy) LiveStreams(e *dataset.Episode) ([]align.LiveStream, error) {
	plan, err := p.config.parse()
	if err != nil {
		return nil, err
	}
	var list []align.LiveStream
	for i := range plan.Streams {
		from := plan.Streams[i].Source()
		s := e.Stream(from)
		if s == nil {
			return nil, &StreamError{from, "none in episode " + e.Name, "one, as the policy was trained with"}
		}
		rate := max(p.config.Hz, 2*dataset.StatsOf(s.Nanoseconds()).Rate)
		list = append(list, align.LiveStream{Name: from, Columns: s.Columns, DType: s.Values.DType(), Hz: rate})
	}
	return list, nil
}
