package nn

import (
	"errors"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// halves is a group's step with NCCL. Each device has a graph up to its gradients, then NCCL's sum, and a graph for the
// optimiser.
type halves struct {
	before, after []*ops.Graph
	sum           *ops.Sum
}

// newHalves captures the two graphs for each device.
func newHalves(steps []*Step, queues []*ops.Queue) (h *halves, err error) {
	h = &halves{}
	defer func() {
		if err != nil {
			h, err = nil, errors.Join(err, h.close())
		}
	}()
	var gradients []*tensor.Tensor
	for i, s := range steps {
		q := queues[i]
		first, err := q.Capture(func() error { return phases[0](s, q) })
		if err != nil {
			return h, err
		}
		h.before = append(h.before, first)
		second, err := q.Capture(func() error { return errors.Join(phases[1](s, q), phases[2](s, q)) })
		if err != nil {
			return h, err
		}
		h.after, gradients = append(h.after, second), append(gradients, s.sum)
	}
	h.sum, err = ops.NewSum(queues, gradients)
	return h, err
}

func (h *halves) run(queues []*ops.Queue) error {
	for i, g := range h.before {
		if err := g.Launch(queues[i]); err != nil {
			return err
		}
	}
	if err := h.sum.Run(); err != nil {
		return err
	}
	for i, g := range h.after {
		if err := g.Launch(queues[i]); err != nil {
			return err
		}
	}
	return nil
}

func (h *halves) close() error {
	if h == nil {
		return nil
	}
	var all error
	for _, g := range append(h.before, h.after...) {
		all = errors.Join(all, g.Close())
	}
	if h.sum != nil {
		all = errors.Join(all, h.sum.Close())
	}
	return all
}
