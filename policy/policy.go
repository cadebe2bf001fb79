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
	"github.com/robocache/robocache/tensor"
)

// Policy is a checkpoint on a device. Its methods are for one goroutine at a time.
type Policy struct {
	config *Config
	model  *nn.Model
}

// Open reads a checkpoint. The caller closes it, before the device. A folder that is none is a *CheckpointError.
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
	if n := c.Recipe.weights(len(c.Inputs), len(c.Targets)); float64(info.Size()) < 2*n { // before there is memory for so many
		return nil, &CheckpointError{dir, modelFile, fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("those of %.0f weights", n)}
	}
	p := &Policy{config: c}
	if p.model, err = newModel(ctx, device, c); errors.Is(err, ops.ErrOption) { // as anybody may have written it
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

// Config is what the policy is. It is not to be written.
func (p *Policy) Config() *Config { return p.config }

// Evaluate compares the chunks that the policy predicts at each tick of some episodes of a store with what was recorded. Visit, if it is not nil, has each
// window and its chunk [C,A], in the action's own unit; it may keep neither. A recording that lacks a stream, or has other columns, is an error.
func (p *Policy) Evaluate(ctx context.Context, store *store.Store, episodes []int, visit func(w *Window, chunk []float64) error) (Evaluation, error) {
	return evaluate(ctx, p.config, p.model, store, episodes, visit)
}

// Close releases what is on the device. Close twice is fine.
func (p *Policy) Close() error { return p.model.Close() }

// Runner runs a policy on samples as they arrive. Its methods are for one goroutine at a time.
type Runner struct {
	policy *Policy
	live   *align.Live
	net    *network
	parts  []part // of the network's batch of one, in the order of the live's
	last   []float64
	chunk  []float64

	missing []string
}

// part is a stream on the device, [1,T,D] and [1,T].
type part struct {
	name          string
	values, valid *tensor.Tensor
}

// NoActionError says that no action has arrived for the tick before an anchor, which a policy starts from.
type NoActionError struct{ Anchor int64 }

func (e *NoActionError) Error() string {
	return "policy: no action has arrived for the tick before the anchor"
}

// NewRunner prepares a policy for streams that will arrive: those of its plan, with the columns that recordings of them have. The caller closes it.
func (p *Policy) NewRunner(ctx context.Context, streams []align.LiveStream) (_ *Runner, err error) {
	c := p.config
	plan, err := c.plan(false)
	if err != nil {
		return nil, err
	}
	r := &Runner{policy: p, last: make([]float64, len(c.Targets)), chunk: make([]float64, c.Recipe.Chunk*len(c.Targets))}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.live, err = align.NewLive(plan, streams, 0); err != nil {
		return nil, err
	}
	from := sources{}
	for _, l := range r.live.Parts() {
		t, d := l.Values.Dim(0), l.Values.Dim(1)
		want := len(c.Action.Columns)
		for _, s := range c.States {
			if s.Name == l.Name {
				want = len(s.Columns)
			}
		}
		if d != want {
			return nil, &StreamError{l.Name, fmt.Sprintf("%d columns", d), fmt.Sprintf("%d, as the policy was trained with", want)}
		}
		q := part{name: l.Name}
		device := p.model.Device()
		if q.values, err = device.Alloc(tensor.F32, 1, t, d); err != nil {
			return nil, err
		}
		r.parts = append(r.parts, q)
		at := &r.parts[len(r.parts)-1]
		if at.valid, err = device.Alloc(tensor.U8, 1, t); err != nil {
			return nil, err
		}
	}
	of := func(name string) (source, error) {
		for _, q := range r.parts {
			if q.name == name {
				return source{q.values, q.valid}, nil
			}
		}
		return source{}, &StreamError{name, "none", "a stream that will arrive"}
	}
	if from.action, err = of(c.Action.Name); err != nil {
		return nil, err
	}
	for _, s := range c.States {
		state, err := of(s.Name)
		if err != nil {
			return nil, err
		}
		from.states = append(from.states, state)
	}
	r.net, err = newNetwork(ctx, c, p.model, 1, from, nil)
	return r, err
}

// Push takes a sample: see [align.Live.Push]. The actions are those that were commanded, by this policy or by another. A sample with a value that is not
// finite is not taken: a *StreamError.
func (r *Runner) Push(stream string, at int64, values []float64) error {
	if i := slices.IndexFunc(values, func(v float64) bool { return !finite(v) }); i >= 0 {
		return &StreamError{stream, fmt.Sprintf("%g in value %d of the sample at %d ns", values[i], i, at), "finite values"}
	}
	return r.live.Push(stream, at, values)
}

// Act predicts the actions [C,A] from an anchor on, ns on the common clock, in their own unit. The memory is that of the next one too. Without an action
// before the anchor it is a *NoActionError, if the policy needs one, and where the network's result is not finite a *StreamError; later anchors may be
// asked for all the same. A state that is not there counts as its mean, as in training: see Missing.
func (r *Runner) Act(ctx context.Context, anchor int64) ([]float64, error) {
	c := r.policy.config
	parts, err := r.live.Window(ctx, anchor)
	if err != nil {
		return nil, err
	}
	r.missing = r.missing[:0]
	for i, l := range parts {
		q := &r.parts[i]
		if l.Name == c.Action.Name {
			err = r.take(l, anchor)
		} else {
			err = r.look(l)
		}
		if err != nil {
			return nil, err
		}
		for _, copied := range [][2]*tensor.Tensor{{q.values, l.Values}, {q.valid, l.Valid}} {
			host, err := copied[1].Reshape(copied[0].Shape()...)
			if err == nil {
				err = r.policy.model.Device().Copy(ctx, copied[0], host)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	predicted, err := r.net.predict(ctx)
	var bad *nn.NotFiniteError
	if errors.As(err, &bad) {
		err = &StreamError{c.Action.Name, fmt.Sprintf("a prediction that is not finite, for the anchor %d ns", anchor), "states near those that the policy was trained on"}
		return nil, errors.Join(err, r.net.step.Forgive(ctx))
	}
	if err != nil {
		return nil, err
	}
	if err := c.actions(r.net.row(predicted, 0), r.last, r.chunk); err != nil {
		return nil, err
	}
	return r.chunk, nil
}

// look finds out whether a state is there at the anchor.
func (r *Runner) look(l align.LivePart) error {
	valid, err := tensor.Data[uint8](l.Valid)
	if err == nil && valid[len(valid)-1] == 0 {
		r.missing = append(r.missing, l.Name)
	}
	return err
}

// Missing are the states that had no valid sample at the last anchor that Act was asked for: none had arrived, or none that the plan's tolerance calls young
// enough. The list is good until the next Act. What moves a robot looks at it.
func (r *Runner) Missing() []string { return r.missing }

// take reads the last action.
func (r *Runner) take(l align.LivePart, anchor int64) error {
	c := r.policy.config
	valid, err := tensor.Data[uint8](l.Valid)
	if err != nil {
		return err
	}
	values, err := tensor.Data[float32](l.Values)
	if err != nil {
		return err
	}
	t := c.Recipe.History - 1
	if valid[t] == 0 && c.Recipe.Differences {
		return &NoActionError{anchor}
	}
	for j := range r.last {
		r.last[j] = float64(values[t*len(r.last)+j])
	}
	return nil
}

// Parts are the streams, with what became of their samples so far.
func (r *Runner) Parts() []align.LivePart { return r.live.Parts() }

// Close releases what is on the device. Close twice is fine.
func (r *Runner) Close() error {
	var errs []error
	if r.net != nil {
		errs = append(errs, r.net.close())
		r.net = nil
	}
	for _, q := range r.parts {
		errs = append(errs, q.values.Close())
		if q.valid != nil {
			errs = append(errs, q.valid.Close())
		}
	}
	r.parts = nil
	if r.live != nil {
		errs = append(errs, r.live.Close())
	}
	return errors.Join(errs...)
}

// LiveStreams are the streams that a policy takes as a recording has them, for a Runner that is to run on it.
func (p *Policy) LiveStreams(e *dataset.Episode) ([]align.LiveStream, error) {
	plan, err := p.config.parse()
	if err != nil {
		return nil, err
	}
	var list []align.LiveStream
	for i := range plan.Streams {
		from := plan.Streams[i].From
		if from == "" {
			from = plan.Streams[i].Name
		}
		s := e.Stream(from)
		if s == nil {
			return nil, &StreamError{from, "none in episode " + e.Name, "one, as the policy was trained with"}
		}
		rate := max(p.config.Hz, 2*dataset.StatsOf(s.Nanoseconds()).Rate)
		list = append(list, align.LiveStream{Name: from, Columns: s.Columns, DType: s.Values.DType(), Hz: rate})
	}
	return list, nil
}
