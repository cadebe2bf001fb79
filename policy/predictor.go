package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/tensor"
)

// Predictor predicts actions from samples that are already on the policy's clock, and keeps no samples between calls. Its methods must
// not be called concurrently.
type Predictor struct {
	policy *Policy
	net    *network
	parts  []part // the network's batch of one: the states, then the action
	last   []float64
	chunk  []float64

	missing []string
}

// part is a stream on the device: values [1,T,D] and valid [1,T].
type part struct {
	name string
	source
}

// NoActionError means that there is no action for the tick before an anchor. A policy with Recipe.Differences needs it, because its inputs
// are relative to it. Anchor is in ns on the common clock, or 0 if the error is from a Predictor.
type NoActionError struct{ Anchor int64 }

func (e *NoActionError) Error() string { return "policy: no action for the tick before the anchor" }

// streamList returns the states and the action.
func (c *Config) streamList() []Stream { return append(slices.Clone(c.States), c.Action) }

// NewPredictor prepares a policy to predict from windows. The caller closes the Predictor, before the Policy.
func (p *Policy) NewPredictor(ctx context.Context) (_ *Predictor, err error) {
	c, device := p.config, p.model.Device()
	r := &Predictor{policy: p, last: make([]float64, len(c.Targets)), chunk: make([]float64, c.Recipe.Chunk*len(c.Targets))}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	from := sources{}
	for _, s := range c.streamList() {
		q := part{name: s.Name}
		if q.values, err = device.Alloc(tensor.F32, 1, c.Recipe.History, len(s.Columns)); err != nil {
			return nil, err
		}
		if q.valid, err = device.Alloc(tensor.U8, 1, c.Recipe.History); err != nil {
			return nil, errors.Join(err, q.values.Close())
		}
		r.parts = append(r.parts, q)
		from.states = append(from.states, q.source)
	}
	last := len(c.States)
	from.action, from.states = from.states[last], from.states[:last]
	r.net, err = newNetwork(ctx, c, p.model, 1, from, nil)
	return r, err
}

// Predict predicts the actions [C,A] from an anchor on, in the action's unit. Each stream is a tensor [T,D] of real numbers on the host,
// with a row for each tick and the oldest row first. The last row of a state is at the anchor, and the last row of the action is at the
// tick before. If T is greater than Recipe.History, only the last rows are used. Rows and streams that are absent, and rows of NaN, count as
// not recorded. The next Predict reuses the returned memory.
//
// The error is a *StreamError if a name is unknown, if a shape is wrong, or if a value is not finite. It is a *NoActionError if the policy
// needs the action before the anchor, or a *PredictionError or *StreamError if the prediction is not finite.
func (r *Predictor) Predict(ctx context.Context, streams map[string]*tensor.Tensor) ([]float64, error) {
	list := r.policy.config.streamList()
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		if !slices.Contains(names, name) {
			return nil, &StreamError{name, "a stream of this name", "one of " + text.Closest(name, names)}
		}
	}
	parts := make([]align.LivePart, len(list))
	for i, s := range list {
		values, valid, err := s.window(streams[s.Name], r.policy.config.Recipe.History)
		if err != nil {
			return nil, err
		}
		parts[i] = align.LivePart{Name: s.Name, Values: values, Valid: valid}
	}
	return r.predict(ctx, parts, 0)
}

// window returns the last rows of a tensor, as values [T,D] and valid [T]. t may be nil.
func (s *Stream) window(t *tensor.Tensor, ticks int) (values, valid *tensor.Tensor, err error) {
	d := len(s.Columns)
	to, there := make([]float32, ticks*d), make([]uint8, ticks)
	if t != nil {
		if t.Rank() != 2 || t.Dim(1) != d {
			return nil, nil, &StreamError{s.Name, "shape " + tensor.FormatShape(t.Shape()), fmt.Sprintf("[T,%d], as the policy was trained with", d)}
		}
		rows := min(t.Dim(0), ticks)
		if t, err = t.Slice(0, t.Dim(0)-rows, t.Dim(0)); err != nil {
			return nil, nil, err
		}
		list, err := tensor.Floats(t)
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			row, at := list[i*d:(i+1)*d], ticks-rows+i
			if !slices.ContainsFunc(row, func(v float64) bool { return v == v }) {
				continue
			}
			if !finite(row...) {
				return nil, nil, &StreamError{s.Name, fmt.Sprintf("a value that is not finite, %d ticks before the last", ticks-1-at), "finite values, or a row of NaN if there is no sample"}
			}
			there[at] = 1
			for j, v := range row {
				to[at*d+j] = float32(v)
			}
		}
	}
	if values, err = tensor.Of(to, ticks, d); err == nil {
		valid, err = tensor.Of(there, ticks)
	}
	return values, valid, err
}

// predict copies the windows of all streams to the device, values [T,D] and valid [T], and predicts. anchor is for errors.
func (r *Predictor) predict(ctx context.Context, windows []align.LivePart, anchor int64) ([]float64, error) {
	c := r.policy.config
	r.missing = r.missing[:0]
	for _, w := range windows {
		valid, err := tensor.Data[uint8](w.Valid)
		if err != nil {
			return nil, err
		}
		there := valid[len(valid)-1] != 0
		switch {
		case w.Name == c.Action.Name:
			err = r.take(w.Values)
			if !there && c.Recipe.Differences {
				err = &NoActionError{anchor}
			}
		case !there:
			r.missing = append(r.missing, w.Name)
		}
		if err != nil {
			return nil, err
		}
		q := &r.parts[slices.IndexFunc(r.parts, func(q part) bool { return q.name == w.Name })]
		for _, copied := range [][2]*tensor.Tensor{{q.values, w.Values}, {q.valid, w.Valid}} {
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
		err = &StreamError{c.Action.Name, "a prediction that is not finite", "states near the training states"}
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

// take reads the last action from the action's window.
func (r *Predictor) take(window *tensor.Tensor) error {
	values, err := tensor.Data[float32](window)
	if err != nil {
		return err
	}
	for j, v := range values[len(values)-len(r.last):] {
		r.last[j] = float64(v)
	}
	return nil
}

// Missing returns the states without a sample at the anchor of the last Predict. The next Predict reuses the slice.
func (r *Predictor) Missing() []string { return r.missing }

// Close releases the memory on the device. A second Close does nothing.
func (r *Predictor) Close() error {
	var errs []error
	if r.net != nil {
		errs = append(errs, r.net.close())
		r.net = nil
	}
	for _, q := range r.parts {
		errs = append(errs, q.values.Close(), q.valid.Close())
	}
	r.parts = nil
	return errors.Join(errs...)
}
