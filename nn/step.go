package nn

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// LossKind is how a prediction is compared with its target.
type LossKind = backend.LossKind

// The losses: the mean over all values that count of the square or the absolute value of the difference, or over the rows the cross-entropy of a
// class.
const (
	MSE          = backend.LossMSE
	L1           = backend.LossL1
	CrossEntropy = backend.LossCrossEntropy
)

// StepOptions say what a step does. The zero value predicts and gives the mean squared error.
type StepOptions struct {
	Loss LossKind
	// Predict leaves out targets and loss: the step gives the prediction.
	Predict bool
	// Chunk is how many rows of the target a row of the prediction has side by side, each of which counts or not; 1 unless given.
	Chunk int
	// Train is how the step trains; nil for one that does not, which has no dropout.
	Train *Training
	// Before gives a queue the work that makes the batch, such as a loader's Run; nil for none. It is captured with the step, once.
	Before func(q *ops.Queue) error
	// Tokens says where the batch lies and what is made of it: all fields of the job but B, T, Input, Targets, Weights and State, which are the step's.
	// Nil: it lies in the step's Values and TargetValues.
	Tokens *backend.TokensJob
	IDs    *tensor.Tensor // [B] i32, of the network's Embedding
	Pad    *tensor.Tensor // [B,T] u8, 1 for a token that no other attends to; nil
	Ring   int            // how many losses are kept; 1024 unless given
}

// Step is a network compiled for batches of one shape. Its methods are for one goroutine at a time.
type Step struct {
	model *Model
	opts  StepOptions
	b, t  int
	held  held
	plans []backend.Plan // all but the optimiser's, which are measure and apply; see update

	measure, apply backend.Plan
	graph          *ops.Graph
	state          *tensor.Tensor
	ring           *tensor.Tensor // [Ring] F32
	first          int64          // steps that were done when this one began
	norm           *tensor.Tensor // [1] F32, or nil

	squares *tensor.Tensor // of all ranks' parts

	sum *tensor.Tensor // [P] F32, the gradients; nil of a step that does not train

	// Values [B,T,In] F32 is the batch where StepOptions.Tokens is nil, and TargetValues [B,C,D] F32 its targets, of which C is T, or 1 behind
	// LastToken, times Chunk, and D the prediction's width divided by Chunk.
	Values, TargetValues *tensor.Tensor
	// Input [B*T, In to the next 16] is what the network takes, of the device's working dtype. Targets [B*C,D] F32 and Weights [B*C], 1 or 0, are
	// what its prediction is compared with.
	Input, Targets, Weights *tensor.Tensor
	// Classes [B*T] (or [B]) i32 are the targets of CrossEntropy, which the caller writes; -1 for one that does not count.
	Classes *tensor.Tensor
	// Prediction [B*T, width] (or [B,width]) F32 is the last layer's result: strided, as it is padded.
	Prediction *tensor.Tensor
}

// NewStep compiles a model for b rows of t tokens. The caller closes it before the model. What cannot be is an *Error, and too little memory an
// *ops.MemoryError; nothing stays allocated then.
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

// Run gives a step to a queue of the model's device: one launch, which allocates nothing and returns before a GPU has finished.
func (s *Step) Run(q *ops.Queue) error {
	if s.graph == nil {
		return &Error{Op: "Run", Arg: "step", Kind: ops.ErrClosed, Got: "a step after Close"}
	}
	return s.graph.Launch(q)
}

// Give gives a queue the step's work without its graph and what comes before it, for callers that capture it in one of their own.
func (s *Step) Give(q *ops.Queue) error {
	if s.graph == nil {
		return &Error{Op: "Give", Arg: "step", Kind: ops.ErrClosed, Got: "a step after Close"}
	}
	return s.give(q)
}

func (s *Step) give(q *ops.Queue) error {
	for _, p := range s.plans {
		if err := p.Run(q.Backend()); err != nil {
			return err
		}
	}
	return errors.Join(run(s.measure, q), run(s.apply, q))
}

// run gives a queue a plan, if there is one.
func run(p backend.Plan, q *ops.Queue) error {
	if p == nil {
		return nil
	}
	return p.Run(q.Backend())
}

// Progress is how far training has come.
type Progress struct {
	Step   int64     // steps so far
	Losses []float32 // of the latest steps, the oldest first: as many as the ring has, and no older than the Step or the checkpoint it goes on from
	Norm   float32   // of the latest step's gradients, where Training.MaxNorm is there
}

// Progress waits for the queue and reads what the steps have left there. Values of a batch that cannot be used, and numbers that are not finite, are
// errors: *ops.ValueError and *NotFiniteError; after one the steps run on but train nothing, until Forgive.
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
	p := Progress{Step: state[backend.StateStep]}
	if s.ring != nil {
		ring, errRing := download[float32](ctx, s.model.device, s.ring)
		if errRing != nil {
			return Progress{}, errors.Join(err, errRing)
		}
		n := int64(len(ring))
		for step := max(p.Step-n, s.first); step < p.Step; step++ {
			p.Losses = append(p.Losses, ring[step%n])
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
		err = errors.Join(err, &NotFiniteError{Step: bad})
	}
	return p, err
}

// Forgive lets training go on after a NotFiniteError, with the batches that follow. The queue that the step ran on has been synchronised.
func (s *Step) Forgive(ctx context.Context) error {
	state, err := download[int64](ctx, s.model.device, s.state)
	if err != nil {
		return err
	}
	state[backend.StateBad] = 0
	return upload(ctx, s.model.device, s.state, state)
}

// Close releases the step. The queues that it ran on have been synchronised. Close twice is fine.
func (s *Step) Close() error {
	var errs []error
	if s.graph != nil {
		errs = append(errs, s.graph.Close())
		s.graph = nil
	}
	for _, p := range append(s.plans, s.measure, s.apply) {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	s.plans, s.measure, s.apply, s.sum = nil, nil, nil, nil
	return errors.Join(append(errs, s.held.close())...)
}

// capture makes one graph of what comes before and of the plans.
func (s *Step) capture() error {
	q, err := s.model.device.NewQueue()
	if err != nil {
		return err
	}
	s.graph, err = q.Capture(func() error {
		if err := s.begins(q); err != nil {
			return err
		}
		return s.give(q)
	})
	return errors.Join(err, q.Close())
}

// begins gives a queue what comes before the step.
func (s *Step) begins(q *ops.Queue) error {
	if s.opts.Before == nil {
		return nil
	}
	return s.opts.Before(q)
}

// download reads a contiguous tensor of the device.
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

// upload writes one.
func upload[T tensor.Element](ctx context.Context, d *ops.Device, t *tensor.Tensor, data []T) error {
	host, err := tensor.Of(data, t.Shape()...)
	if err != nil {
		return err
	}
	return d.Copy(ctx, t, host)
}

func number(n int) string { return strconv.Itoa(n) }
