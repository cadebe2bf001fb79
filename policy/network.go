package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// sources are the tensors of a batch on the device.
type sources struct {
	states []source
	action source // one tick for each token, up to the one before the anchor, and then the chunk's ticks in training
}

type source struct{ values, valid *tensor.Tensor }

// sourcesOf returns the tensors of a loader's batch.
func sourcesOf(c *Config, b *loader.Batch) sources {
	of := func(name string) source {
		s := b.Stream(name)
		return source{s.Values, s.Valid}
	}
	s := sources{action: of(c.Action.Name)}
	for _, state := range c.States {
		s.states = append(s.states, of(state.Name))
	}
	return s
}

// network is a policy's network, compiled to predict from a batch.
type network struct {
	c     *Config
	model *nn.Model
	step  *nn.Step
	queue *ops.Queue
	held  constants
	out   *tensor.Tensor // a copy of the prediction on the host, with the device's strides
}

// constants are tensors on devices that steps read and do not change.
type constants []*tensor.Tensor

func (h *constants) close() error {
	var errs []error
	for _, t := range *h {
		errs = append(errs, t.Close())
	}
	*h = nil
	return errors.Join(errs...)
}

// newModel allocates a network's parameters.
func newModel(ctx context.Context, device *ops.Device, c *Config) (*nn.Model, error) {
	r, actions := &c.Recipe, len(c.Targets)
	return nn.NewModel(ctx, device, nn.Config{In: r.columns(len(c.Inputs), actions), Layers: r.layers(actions)}, c.Seed)
}

// newNetwork compiles a step that predicts from a batch with the given number of rows. before, if not nil, makes the batch.
func newNetwork(ctx context.Context, c *Config, m *nn.Model, rows int, from sources, before func(q *ops.Queue) error) (_ *network, err error) {
	n := &network{c: c, model: m}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	o, err := n.held.options(ctx, c, m.Device(), from, true)
	if err != nil {
		return nil, err
	}
	o.Before = before
	if n.queue, err = m.Device().NewQueue(); err != nil {
		return nil, err
	}
	if n.step, err = nn.NewStep(ctx, m, rows, c.Recipe.tokens(), o); err != nil {
		return nil, err
	}
	p := n.step.Prediction
	n.out, err = tensor.New(tensor.F32, p.Dim(0), p.Stride(0))
	return n, err
}

// options returns the options of a step that describe its input.
func (h *constants) options(ctx context.Context, c *Config, device *ops.Device, from sources, predict bool) (nn.StepOptions, error) {
	o := nn.StepOptions{Predict: predict, Denoise: c.Recipe.denoise(c.Seed)}
	if !c.Recipe.PerToken && o.Denoise == nil {
		o.Chunk = c.Recipe.Chunk
	}
	var err error
	o.Tokens, err = h.tokens(ctx, c, device, from, predict)
	return o, err
}

// tokens returns the job that makes the input tokens from a batch.
func (h *constants) tokens(ctx context.Context, c *Config, device *ops.Device, from sources, predict bool) (*backend.TokensJob, error) {
	r := &c.Recipe
	t, a := r.History, len(c.Targets)
	var errs []error
	ticks := func(s source, lo, hi int) backend.TokenSource {
		values, err := s.values.Slice(1, lo, hi)
		errs = append(errs, err)
		valid, err := s.valid.Slice(1, lo, hi)
		errs = append(errs, err)
		return backend.TokenSource{Values: values, Valid: valid, Ticks: hi - lo, D: s.values.Dim(2)}
	}
	job := &backend.TokensJob{Width: r.columns(len(c.Inputs), a)}
	column := 0
	for _, s := range from.states {
		token := ticks(s, 0, t)
		token.Column = column
		column += token.D
		job.Sources = append(job.Sources, token)
	}
	if r.Differences {
		past, last := ticks(from.action, 0, t), ticks(from.action, t-1, t)
		past.Column, last.Column, last.Token = column, column+a, t-1
		job.Sources = append(job.Sources, past, last)
		job.Reference = backend.Reference{Values: from.action.values, Valid: from.action.valid, Tick: t - 1}
	}
	if !predict {
		target := ticks(from.action, t, t+r.Chunk)
		if r.PerToken {
			target = ticks(from.action, 1, t+1)
		}
		job.Target = &target
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	inputs := slices.Clone(c.Inputs)
	for len(inputs) < job.Width {
		inputs = append(inputs, Column{Relative: -1, Std: 1}) // of the noisy actions, which are normalised before
	}
	if job.Scale, job.Shift, job.Relative, err = h.affine(ctx, device, inputs); err == nil && !predict {
		job.TargetScale, job.TargetShift, job.TargetRelative, err = h.affine(ctx, device, c.Targets)
	}
	return job, err
}

// affine copies the normalisation of columns to the device.
func (h *constants) affine(ctx context.Context, device *ops.Device, columns []Column) (scale, shift, relative *tensor.Tensor, err error) {
	a, b, r := make([]float32, len(columns)), make([]float32, len(columns)), make([]int32, len(columns))
	for i := range columns {
		x := &columns[i]
		a[i], b[i], r[i] = float32(1/x.Std), float32(x.Mean), int32(x.Relative)
	}
	up := func(t *tensor.Tensor, e error) *tensor.Tensor {
		if err = errors.Join(err, e); err != nil {
			return nil
		}
		if t, err = device.Upload(ctx, t); err == nil {
			*h = append(*h, t)
		}
		return t
	}
	scale, shift, relative = up(tensor.Of(a, len(a))), up(tensor.Of(b, len(b))), up(tensor.Of(r, len(r)))
	return scale, shift, relative, err
}

// predict runs the step and returns the prediction, in the rows of out.
func (n *network) predict(ctx context.Context) ([]float32, error) {
	if err := n.step.Run(n.queue); err != nil {
		return nil, err
	}
	if _, err := n.step.Progress(ctx, n.queue); err != nil {
		return nil, err
	}
	whole, err := n.step.Prediction.AsStrided(n.out.Shape(), []int{n.out.Dim(1), 1}, 0)
	if err != nil {
		return nil, err
	}
	if err := n.model.Device().Copy(ctx, n.out, whole); err != nil {
		return nil, err
	}
	return tensor.Data[float32](n.out)
}

// row returns the part of the prediction for a row of the batch, at the anchor.
func (n *network) row(predicted []float32, row int) []float32 {
	if n.c.Recipe.PerToken {
		row = (row+1)*n.c.Recipe.History - 1
	}
	return predicted[row*n.out.Dim(1):]
}

func (n *network) close() error {
	var errs []error
	if n.step != nil {
		errs = append(errs, n.step.Close())
	}
	if n.queue != nil {
		errs = append(errs, n.queue.Close())
	}
	n.step, n.queue = nil, nil
	return errors.Join(append(errs, n.held.close())...)
}
