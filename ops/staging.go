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

// end closes the device copies and returns the call's errors. After an error it also closes each output in got that is nil in given,
// because the call allocated it.
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

// in returns t if it is nil or on the device, otherwise a copy of it on the device. If the copy fails, it sets s.err and returns t.
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

// clock returns the clock with copies of its tensors on the device.
func (s *staging) clock(c Clock) Clock {
	c.Times, c.Anchors, c.Deltas = s.in(c.Times), s.in(c.Anchors), s.in(c.Deltas)
	return c
}

// out returns t if it is nil or on the device, otherwise a new device tensor, which finish copies to t. If the allocation fails, it
// sets s.err and returns t.
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

// keep is like out, but the device tensor begins with the contents of t. So elements that are not written keep their values.
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

// run runs a plan once, copies the results back and closes the plan.
func (s *staging) run(plan *Plan) error {
	err := s.once(plan)
	if err == nil {
		err = s.finish()
	}
	return errors.Join(err, plan.Close())
}

// once runs a plan on a separate queue, because an error in values must not reach another call. Closing the queue waits for the work,
// even if the context has ended.
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
