package nn

import (
	"context"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Gradients returns the gradients from the latest step, by parameter name, as F32 tensors on the host. They are not yet scaled
// down to Training.MaxNorm. The caller must have synchronised the step's queue.
func (s *Step) Gradients(ctx context.Context) (map[string]*tensor.Tensor, error) {
	if s.sum == nil {
		return nil, &Error{Op: "Gradients", Arg: "Train", Kind: ops.ErrMissing, Got: "a step that does not train, or is closed", Want: "one that does"}
	}
	all, err := tensor.New(tensor.F32, s.model.size)
	if err != nil {
		return nil, err
	}
	if err := s.model.device.Copy(ctx, all, s.sum); err != nil {
		return nil, err
	}
	list := map[string]*tensor.Tensor{}
	for _, p := range s.model.net.parameters {
		v, err := p.view(all)
		if err == nil {
			list[p.name], err = v.Contiguous()
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
