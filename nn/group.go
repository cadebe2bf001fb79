package nn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Group trains a network on several devices of one machine. Each device has a copy of the network and its own batch. A step is
// one graph over all devices, and its gradient is the mean of the devices' gradients. Its methods must not be called
// concurrently.
//
// Each device runs AdamW for one part of the parameters: it reads the others' gradients, and writes the new parameters to all
// devices. All devices therefore have the same bits after each step and in each run. With [Training.NCCL], that library adds up
// the gradients instead, and each device runs AdamW for all parameters.
//
// If the devices belong to several processes, [NewRank] makes a Group in each.
type Group struct {
	steps  []*Step // steps of the devices in this process
	queues []*ops.Queue
	graph  *ops.Graph
	nccl   *halves // used instead of graph
	joined *joined // nil if all ranks are in this process
}

// NewGroup compiles copies of one network for batches with b rows of t tokens each. Each model is on its own device, and
// [ops.Connect] must have connected the devices, unless Training.NCCL is set. opts has one element for each model: Before,
// Tokens, IDs and Pad belong to the device, and the other options must be equal. All models take the first model's parameters.
// Each device has other random numbers for dropout. The caller closes the Group before the models.
func NewGroup(ctx context.Context, models []*Model, b, t int, opts []StepOptions) (g *Group, err error) {
	fail := func(arg string, kind error, got any, want string) (*Group, error) {
		return nil, &Error{Op: "NewGroup", Arg: arg, Kind: kind, Got: fmt.Sprint(got), Want: want}
	}
	if len(models) < 1 || len(models) > backend.MaxRanks {
		return fail("models", ops.ErrOption, len(models), fmt.Sprintf("1 to %d", backend.MaxRanks))
	}
	if len(opts) != len(models) {
		return fail("opts", ops.ErrOption, len(opts), fmt.Sprintf("%d, one for each model", len(models)))
	}
	for i, m := range models {
		o := opts[i]
		switch {
		case m == nil:
			return fail(fmt.Sprintf("models[%d]", i), ops.ErrMissing, "nil", "a model")
		case o.Train == nil:
			return fail(fmt.Sprintf("opts[%d].Train", i), ops.ErrMissing, "nil", "how to train")
		case !slices.EqualFunc(m.Parameters(), models[0].Parameters(), func(a, b Parameter) bool { return reflect.DeepEqual(a, b) }):
			return fail(fmt.Sprintf("models[%d]", i), ops.ErrOption, "another network than the first", "one network")
		case m.working.DType() != models[0].working.DType():
			return fail(fmt.Sprintf("models[%d]", i), ops.ErrWrongDevice, m.device.Name()+", which computes in "+m.working.DType().String(),
				models[0].working.DType().String()+", as "+models[0].device.Name()+" does")
		case *o.Train != *opts[0].Train || o.Loss != opts[0].Loss || o.Chunk != opts[0].Chunk || o.Ring != opts[0].Ring:
			return fail(fmt.Sprintf("opts[%d]", i), ops.ErrOption, "other settings than the first", "the same training")
		case slices.ContainsFunc(models[:i], func(o *Model) bool { return o.device == m.device }):
			return fail(fmt.Sprintf("models[%d]", i), ops.ErrOption, "a second model on "+m.device.Name(), "its own device")
		case m.nn.Working() != models[0].nn.Working():
			return fail(fmt.Sprintf("models[%d]", i), ops.ErrWrongDevice, m.device.Name()+" beside "+models[0].device.Name(), "devices of one kind")
		}
	}
	g = &Group{}
	defer func() {
		if err != nil {
			g, err = nil, errors.Join(err, g.Close())
		}
	}()
	for i, m := range models {
		s := &Step{model: m, opts: opts[i], b: b, t: t}
		if err := s.check(); err != nil {
			return g, err
		}
		s.opts.Train.Seed += uint64(i) // check has copied Train
		g.steps = append(g.steps, s)
		if err := s.compile(ctx); err != nil {
			return g, err
		}
		q, err := m.device.NewQueue()
		if err != nil {
			return g, err
		}
		g.queues = append(g.queues, q)
	}
	n := len(g.steps)
	for i, s := range g.steps {
		ranks, rank := g.steps, i
		if s.opts.Train.NCCL {
			ranks, rank = []*Step{s}, 0
		}
		if err := s.update(ctx, ranks, rank, n); err != nil {
			return g, err
		}
	}
	if err := g.spread(ctx); err != nil {
		return g, err
	}
	if opts[0].Train.NCCL {
		g.nccl, err = newHalves(g.steps, g.queues)
		return g, err
	}
	g.graph, err = g.queues[0].Capture(func() error { return g.record(phases) }, g.queues[1:]...)
	return g, err
}

// phases are the parts of a rank's step: its own work; its part of the gradients' norm; and its part of the optimiser. Before the
// second and the third phase, all ranks have finished the one before.
var phases = []func(s *Step, q *ops.Queue) error{
	func(s *Step, q *ops.Queue) error { return s.work(q, s.opts.Before) },
	func(s *Step, q *ops.Queue) error { return run(s.measure, q) },
	func(s *Step, q *ops.Queue) error { return run(s.apply, q) },
}

// record enqueues phases of a step.
func (g *Group) record(phases []func(s *Step, q *ops.Queue) error) error {
	for k, phase := range phases {
		if k > 0 {
			if err := g.meet(); err != nil {
				return err
			}
		}
		for i, s := range g.steps {
			if err := phase(s, g.queues[i]); err != nil {
				return err
			}
		}
	}
	if g.joined != nil { // the next step begins after all have written the parameters; a graph ensures this itself
		return g.meet()
	}
	return nil
}

// meet makes every queue wait for all others.
func (g *Group) meet() error {
	if g.joined != nil {
		return g.joined.meet.Run(g.queues[0])
	}
	for i, q := range g.queues {
		for j, other := range g.queues {
			if i != j {
				if err := q.After(other); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spread copies the first rank's parameters, moments and state to the others, through host memory.
func (g *Group) spread(ctx context.Context) error {
	for _, s := range g.steps[1:] {
		s.first = g.steps[0].first
		if err := s.model.become(ctx, g.steps[0].model); err != nil {
			return err
		}
	}
	return nil
}

// become copies another model's parameters, moments and state.
func (m *Model) become(ctx context.Context, first *Model) error {
	pairs := [][2]*tensor.Tensor{{m.working, first.working}, {m.state, first.state}}
	for i, a := range m.arenas() {
		pairs = append(pairs, [2]*tensor.Tensor{a.t, first.arenas()[i].t})
	}
	for _, pair := range pairs {
		if err := across(ctx, m.device, pair[0], first.device, pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// across copies a tensor from one device to another.
func across(ctx context.Context, to *ops.Device, dst *tensor.Tensor, from *ops.Device, src *tensor.Tensor) error {
	host, err := tensor.New(src.DType(), src.Shape()...)
	if err != nil {
		return err
	}
	if err := from.Copy(ctx, host, src); err != nil {
		return err
	}
	return to.Copy(ctx, dst, host)
}

// Steps returns the step of each device, so that the caller can fill their batches. Do not run them separately.
func (g *Group) Steps() []*Step { return g.steps }

// Run enqueues one step on all devices and returns before they have finished. It needs one launch and allocates nothing. With
// NCCL it needs a few launches for each device.
func (g *Group) Run() error {
	switch {
	case g.queues == nil:
		return &Error{Op: "Run", Arg: "group", Kind: ops.ErrClosed, Got: "a group after Close"}
	case g.nccl != nil:
		return g.nccl.run(g.queues)
	}
	err := g.graph.Launch(g.queues[0])
	if err != nil && g.joined != nil {
		g.joined.Leave(err) // because the others wait for this step
	}
	return err
}

// Progress waits for the steps and returns the same as Step.Progress. Losses are means over the devices.
func (g *Group) Progress(ctx context.Context) (Progress, error) {
	if g.queues == nil {
		return Progress{}, &Error{Op: "Progress", Arg: "group", Kind: ops.ErrClosed, Got: "a group after Close"}
	}
	if g.joined != nil {
		p, err := g.steps[0].Progress(ctx, g.queues[0])
		return g.joined.progress(ctx, p, err)
	}
	var all Progress
	var errs []error
	for i, s := range g.steps {
		p, err := s.Progress(ctx, g.queues[i])
		if err != nil && !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) { // one rank's error stops all
			errs = append(errs, err)
		}
		if i == 0 {
			all = p
			continue
		}
		for k := range min(len(all.Losses), len(p.Losses)) {
			all.Losses[k] += p.Losses[k]
		}
	}
	for k := range all.Losses {
		all.Losses[k] /= float32(len(g.steps))
	}
	return all, errors.Join(errs...)
}

// Forgive calls Step.Forgive for each device.
func (g *Group) Forgive(ctx context.Context) error {
	var errs []error
	for _, s := range g.steps {
		errs = append(errs, s.Forgive(ctx))
	}
	return errors.Join(errs...)
}

// SaveState writes a file as Step.SaveState does. A Group with the same number of devices continues from it with the same bits.
// With several processes, the first one writes the file.
func (g *Group) SaveState(ctx context.Context, path string, texts map[string]string) error {
	if g.joined != nil {
		if _, err := g.joined.Exchange(ctx, "what to save", nil); err != nil { // all have finished their steps
			return err
		}
	}
	_, err := g.First(ctx, "what was saved", func() ([]byte, error) {
		if err := g.gather(ctx); err != nil {
			return nil, err
		}
		return nil, g.steps[0].SaveState(ctx, path, texts)
	})
	return err
}

// gather copies the ranks' moments and averages to the first rank's model, because each rank has them for its part, or for all.
func (g *Group) gather(ctx context.Context) error {
	views := g.steps
	if g.joined != nil {
		views = g.joined.views
	}
	first := views[0].model
	for i, s := range views[1:] {
		from, to := s.part(len(views), i+1)
		for k, a := range s.model.arenas()[1:] {
			dst, err1 := first.arenas()[k+1].t.Slice(0, from, to)
			src, err2 := a.t.Slice(0, from, to)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if err := across(ctx, first.device, dst, s.model.device, src); err != nil {
				return err
			}
		}
	}
	return nil
}

// Average does the same as Step.Average, on the first device. With several processes only the first one calls it, after Progress, and
// the others must not run steps meanwhile.
func (g *Group) Average(ctx context.Context, to *Model) error {
	if g.queues == nil {
		return &Error{Op: "Average", Arg: "group", Kind: ops.ErrClosed, Got: "a group after Close"}
	}
	if err := g.gather(ctx); err != nil {
		return err
	}
	return g.steps[0].Average(ctx, to)
}

// LoadState continues from a file by SaveState. With several processes, the first one reads it and sends it to the others.
func (g *Group) LoadState(ctx context.Context, path string) (texts map[string]string, err error) {
	said, err := g.First(ctx, "a state to resume from", func() (said []byte, err error) {
		if texts, err = g.steps[0].LoadState(ctx, path); err == nil {
			said, err = json.Marshal(loaded{texts, g.steps[0].first})
		}
		return said, err
	})
	if err != nil {
		return nil, err
	}
	if g.joined == nil {
		return texts, g.spread(ctx)
	}
	var l loaded
	if err := json.Unmarshal(said, &l); err != nil {
		return nil, err
	}
	g.steps[0].first = l.First
	if err := g.joined.take(ctx); err != nil {
		return nil, err
	}
	_, err = g.joined.Exchange(ctx, "the state taken over", nil)
	return l.Texts, err
}

// loaded is the part of a checkpoint that the first process sends to the others.
type loaded struct {
	Texts map[string]string
	First int64 // the number of steps before
}

// Close releases the Group. A second Close does nothing.
func (g *Group) Close() error {
	var errs []error
	if g.graph != nil {
		errs = append(errs, g.graph.Close())
		g.graph = nil
	}
	for _, q := range g.queues {
		errs = append(errs, q.Close())
	}
	g.queues = nil
	errs = append(errs, g.nccl.close())
	g.nccl = nil
	for _, s := range g.steps {
		errs = append(errs, s.Close())
	}
	if g.joined != nil {
		errs = append(errs, g.joined.close())
		g.joined = nil
	}
	return errors.Join(errs...)
}
