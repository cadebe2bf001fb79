package nn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// LossKind is a function that compares predictions with targets.
type LossKind = backend.LossKind

// The losses. MSE and L1 are the mean square and the mean absolute value of the difference, over all values with weight 1.
// CrossEntropy is the mean cross-entropy of the rows' classes.
const (
	MSE          = backend.LossMSE
	L1           = backend.LossL1
	CrossEntropy = backend.LossCrossEntropy
)

// StepOptions are the settings of a step. The zero value computes the mean squared error and does not train.
type StepOptions struct {
	Loss LossKind
	// Predict makes a step without targets and loss: it only computes the prediction.
	Predict bool
	// Chunk is the number of target rows that lie side by side in one row of the prediction. Each has its own weight. 0 is 1.
	Chunk int
	// Train has the settings for training. If it is nil, the step does not change parameters and has no dropout.
	Train *Training
	// Before enqueues the work that makes the batch, for example a loader's Run. It is called when the step is captured, once for each
	// batch in a step. It may be nil.
	Before func(q *ops.Queue) error
	// Tokens makes the batch from tensors elsewhere on the device, for example a loader's. The caller sets all fields except B,
	// T, Input, Targets, Weights and State, which NewStep sets. If it is nil, the batch is in the step's Values and TargetValues.
	Tokens *backend.TokensJob
	IDs    *tensor.Tensor // [B] i32, the rows that the network's Embedding adds
	Pad    *tensor.Tensor // [B,T] u8, 1 for a token that other tokens must ignore; nil if there are none
	Ring   int            // the number of losses to keep; 0 is 1024
	// Denoise makes the network remove noise from chunks. If it is nil, the network predicts the targets themselves.
	Denoise *Denoise
}

// Step is a network that is compiled for one batch shape. Its methods must not be called concurrently.
type Step struct {
	model *Model
	opts  StepOptions
	b, t  int
	held  held
	plans []backend.Plan // those of a batch
	order []backend.Plan // the plans of a step that samples, in the order of their runs; else nil
	adds  []backend.Plan // with Training.Batches, the plan that follows each batch; the optimiser's are measure and apply: see update

	measure, apply backend.Plan
	graph          *ops.Graph
	state          *tensor.Tensor
	ring           *tensor.Tensor // [Ring] F32
	first          int64          // the number of steps before this Step began
	norm           *tensor.Tensor // [1] F32, or nil

	squares *tensor.Tensor // sums of squares, with a part for each rank

	sum *tensor.Tensor // [P] F32, the gradients; nil if the step does not train

	// Values [B,T,In] F32 is the batch, and TargetValues [B,C,D] F32 its targets, if StepOptions.Tokens is nil. C is Chunk times
	// T, or Chunk after LastToken or Flatten, or Denoise.Chunk. D is the prediction's width divided by Chunk.
	Values, TargetValues *tensor.Tensor
	// Input [B*T, In] is the batch as the network reads it, in the device's working dtype; its columns are padded to a multiple
	// of 16. Targets [B*C,D] F32 are compared with the prediction. Weights [B*C] are 1, or 0 for a target that does not count. With
	// StepOptions.Denoise, C is T here, and tokens before the chunk have weight 0.
	Input, Targets, Weights *tensor.Tensor
	// Classes [B*T], or [B] after LastToken or Flatten, i32, are the targets for CrossEntropy. The caller writes them. -1 does
	// not count.
	Classes *tensor.Tensor
	// Prediction [B*T, width], or [B, width] after LastToken or Flatten, F32, is the result of the last layer. Rows are strided,
	// because they are padded. With StepOptions.Denoise and Predict it is the sample, [B, C*D].
	Prediction *tensor.Tensor
}

// NewStep compiles a model for batches with b rows of t tokens. The caller closes the Step before the model. Invalid settings are
// an *Error, and too little device memory is an *ops.MemoryError; then nothing stays allocated.
func NewStep(ctx context.Context, m *Model, b, t int, opts StepOptions) (*Step, error) {
	s := &Step{model: m, opts: opts, b: b, t: t}
	if m == nil {
		return nil, &Error{Op: "NewStep", Arg: "m", Kind: ops.ErrMissing, Got: "nil", Want: "a model"}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	err := s.compile(ctx)
	if err == nil && opts.Train != nil {
		err = s.update(ctx, []*Step{s}, 0, 1)
	}
	if err == nil {
		err = s.capture()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Run enqueues one step on a queue of the model's device. It is one launch, allocates nothing, and returns before a GPU has
// finished.
func (s *Step) Run(q *ops.Queue) error {
	if s.graph == nil {
		return &Error{Op: "Run", Arg: "step", Kind: ops.ErrClosed, Got: "a step after Close"}
	}
	return s.graph.Launch(q)
}

// Give enqueues the work of one step without its graph and without Before. It is for callers that capture a graph themselves.
func (s *Step) Give(q *ops.Queue) error {
	if s.graph == nil {
		return &Error{Op: "Give", Arg: "step", Kind: ops.ErrClosed, Got: "a step after Close"}
	}
	return errors.Join(s.work(q, nil), run(s.measure, q), run(s.apply, q))
}

// work enqueues the batches of a step, without the optimiser. before, if not nil, makes each batch.
func (s *Step) work(q *ops.Queue, before func(q *ops.Queue) error) error {
	for i := range s.batches() {
		if before != nil {
			if err := before(q); err != nil {
				return err
			}
		}
		list := s.plans
		if s.order != nil {
			list = s.order
		}
		if len(s.adds) > 0 {
			list = append(slices.Clip(list), s.adds[i])
		}
		for _, p := range list {
			if err := p.Run(q.Backend()); err != nil {
				return err
			}
		}
	}
	return nil
}

// batches returns the number of batches in a step.
func (s *Step) batches() int {
	if s.opts.Train == nil {
		return 1
	}
	return s.opts.Train.batches()
}

// run enqueues a plan, if it is not nil.
func run(p backend.Plan, q *ops.Queue) error {
	if p == nil {
		return nil
	}
	return p.Run(q.Backend())
}

// Progress is the state of a training.
type Progress struct {
	Step int64 // the number of steps so far
	// Losses are those of the latest steps, the oldest first. There are at most StepOptions.Ring, and none from before NewStep or
	// LoadState.
	Losses []float32
	Norm   float32 // the norm of the latest gradients, if Training.MaxNorm is set
}

// Progress waits for the queue and reads the number of steps and their losses. An unusable value in a batch is an
// *ops.ValueError, and a number that is not finite is a *NotFiniteError. After such an error, steps still run but do not train,
// until Forgive is called.
func (s *Step) Progress(ctx context.Context, q *ops.Queue) (Progress, error) {
	if s.plans == nil {
		return Progress{}, &Error{Op: "Progress", Arg: "step", Kind: ops.ErrClosed, Got: "a step after Close"}
	}
	if q == nil {
		return Progress{}, &Error{Op: "Progress", Arg: "q", Kind: ops.ErrMissing, Got: "nil", Want: "the queue that the step ran on"}
	}
	err := q.Synchronize(ctx)
	if ctx.Err() != nil {
		return Progress{}, cmp.Or(err, ctx.Err())
	}
	state, errState := download[int64](ctx, s.model.device, s.state)
	if errState != nil {
		return Progress{}, errors.Join(err, errState)
	}
	batches := int64(s.batches())
	p := Progress{Step: state[backend.StateStep] / batches}
	if s.ring != nil {
		ring, errRing := download[float32](ctx, s.model.device, s.ring)
		if errRing != nil {
			return Progress{}, errors.Join(err, errRing)
		}
		n := int64(len(ring)) / batches
		for step := max(p.Step-n, s.first); step < p.Step; step++ {
			sum := float32(0)
			for _, loss := range ring[step%n*batches:][:batches] {
				sum += loss
			}
			p.Losses = append(p.Losses, sum/float32(batches))
		}
	}
	if s.norm != nil {
		norm, errNorm := download[float32](ctx, s.model.device, s.norm)
		if errNorm != nil {
			return Progress{}, errors.Join(err, errNorm)
		}
		p.Norm = norm[0]
	}
	if bad := state[backend.StateBad]; bad != 0 {
		err = errors.Join(err, &NotFiniteError{Step: (bad + batches - 1) / batches})
	}
	return p, err
}

// Forgive allows training to continue after a NotFiniteError, with the next batches. The caller must have synchronised the step's
// queue.
func (s *Step) Forgive(ctx context.Context) error {
	state, err := download[int64](ctx, s.model.device, s.state)
	if err != nil {
		return err
	}
	state[backend.StateBad] = 0
	return upload(ctx, s.model.device, s.state, state)
}

// Average copies the parameters' moving averages, or the parameters themselves without Training.EMA, to another model with the same
// network. The caller must have synchronised the step's queue.
func (s *Step) Average(ctx context.Context, to *Model) error {
	if s.opts.Train == nil || to == nil || to.size != s.model.size {
		return &Error{Op: "Average", Arg: "to", Kind: ops.ErrOption, Got: "another network, or a step that does not train",
			Want: "the same network, and a step that trains"}
	}
	from := s.model.params
	if s.opts.Train.EMA > 0 {
		from = s.model.average
	}
	host, err := tensor.New(tensor.F32, s.model.size)
	if err != nil {
		return err
	}
	if err := s.model.device.Copy(ctx, host, from); err != nil {
		return err
	}
	return to.write(ctx, host)
}

// Close releases the step. The caller must have synchronised the queues that it ran on. A second Close does nothing.
func (s *Step) Close() error {
	var errs []error
	if s.graph != nil {
		errs = append(errs, s.graph.Close())
		s.graph = nil
	}
	for _, p := range append(slices.Concat(s.plans, s.adds), s.measure, s.apply) {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	s.plans, s.order, s.adds, s.measure, s.apply, s.sum = nil, nil, nil, nil, nil, nil
	return errors.Join(append(errs, s.held.close())...)
}

// capture makes one graph with Before and the plans.
func (s *Step) capture() error {
	q, err := s.model.device.NewQueue()
	if err != nil {
		return err
	}
	s.graph, err = q.Capture(func() error {
		return errors.Join(s.work(q, s.opts.Before), run(s.measure, q), run(s.apply, q))
	})
	return errors.Join(err, q.Close())
}

// download reads a contiguous tensor from the device.
func download[T tensor.Element](ctx context.Context, d *ops.Device, t *tensor.Tensor) ([]T, error) {
	host, err := tensor.New(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := d.Copy(ctx, host, t); err != nil {
		return nil, err
	}
	return tensor.Data[T](host)
}

// upload writes a contiguous tensor to the device.
func upload[T tensor.Element](ctx context.Context, d *ops.Device, t *tensor.Tensor, data []T) error {
	host, err := tensor.Of(data, t.Shape()...)
	if err != nil {
		return err
	}
	return d.Copy(ctx, t, host)
}

func number(n int) string { return strconv.Itoa(n) }
