package ops

import (
	"context"
	"errors"

	"github.com/robocache/robocache/tensor"
)

// staging keeps the device copies of host tensors during one call.
type staging struct {
	ctx     context.Context
	d       *Device
	copies  []*tensor.Tensor
	results [][2]*tensor.Tensor // host tensor, device copy
	err     error
}

func (s *staging) close() error {
	for _, t := range s.copies {
		s.err = errors.Join(s.err, t.Close())
	}
	return s.err
}

// end closes the copies and returns the call's error. After one the outputs that the call allocated are closed.
func (s *staging) end(err error, given, got []*tensor.Tensor) error {
	if err = errors.Join(err, s.close()); err == nil {
		return nil
	}
	for i, t := range got {
		if given[i] == nil && t != nil {
			err = errors.Join(err, t.Close())
		}
	}
	return err
}

// in returns t, or its copy on the device.
func (s *staging) in(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || s.err != nil || !t.OnHost() || s.d.home() == "host" {
		return t
	}
	c, err := s.d.Upload(s.ctx, t)
	if err != nil {
		s.err = err
		return t
	}
	s.copies = append(s.copies, c)
	return c
}

// clock returns the clock with its tensors on the device.
func (s *staging) clock(c Clock) Clock {
	c.Times, c.Anchors, c.Deltas = s.in(c.Times), s.in(c.Anchors), s.in(c.Deltas)
	return c
}

// out returns t, or a device tensor whose contents finish copies to t.
func (s *staging) out(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || s.err != nil || !t.OnHost() || s.d.home() == "host" {
		return t
	}
	c, err := s.d.Alloc(t.DType(), t.Shape()...)
	if err != nil {
		s.err = err
		return t
	}
	s.copies = append(s.copies, c)
	s.results = append(s.results, [2]*tensor.Tensor{t, c})
	return c
}

// keep returns t, or a copy on the device that finish copies back: what is not written stays as it was.
func (s *staging) keep(t *tensor.Tensor) *tensor.Tensor {
	c := s.in(t)
	if c != t {
		s.results = append(s.results, [2]*tensor.Tensor{t, c})
	}
	return c
}

func (s *staging) finish() error {
	for _, r := range s.results {
		if err := s.d.Copy(s.ctx, r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

// run runs the plan once, copies the results back and closes it.
func (s *staging) run(plan *Plan) error {
	err := s.once(plan)
	if err == nil {
		err = s.finish()
	}
	return errors.Join(err, plan.Close())
}

// once runs the plan on a queue of its own: one call's errors in values must not reach another's. Closing the queue waits for the work, also after
// the context has ended.
func (s *staging) once(plan *Plan) error {
	q, err := s.d.NewQueue()
	if err != nil {
		return err
	}
	if err = plan.Run(q); err == nil {
		err = q.Synchronize(s.ctx)
	}
	return errors.Join(err, q.Close())
}
