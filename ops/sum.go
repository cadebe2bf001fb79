package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Sum adds tensors on several GPUs with NVIDIA's library NCCL. Use it for GPUs that [Connect] cannot connect. NCCL
// chooses the order of the additions.
type Sum struct{ sum backend.Sum }

// NewSum prepares a sum over contiguous f32 tensors with the same shape. tensors[i] is on the device of queues[i].
// Every tensor is replaced by the sum. If the backend cannot sum, the error is an *ArgError with the kind
// ErrUnsupported; if the library is missing, it is an error from package cudadrv that lists the searched places.
func NewSum(queues []*Queue, tensors []*tensor.Tensor) (*Sum, error) {
	fail := func(arg string, kind error, got, want string) (*Sum, error) {
		return nil, &ArgError{Op: "NewSum", Arg: arg, Kind: kind, Got: got, Want: want}
	}
	if len(queues) == 0 || len(queues) != len(tensors) {
		return fail("queues", ErrShape, fmt.Sprintf("%d queues and %d tensors", len(queues), len(tensors)), "as many in both, at least one")
	}
	var list []backend.Queue
	for i, t := range tensors {
		name := fmt.Sprintf("tensors[%d]", i)
		switch {
		case queues[i] == nil || t == nil:
			return fail(name, ErrMissing, "nil", "a queue and a tensor")
		case t.DType() != tensor.F32 || !t.IsContiguous():
			return fail(name, ErrDType, t.DType().String(), "contiguous f32")
		case t.Len() != tensors[0].Len():
			return fail(name, ErrShape, tensor.FormatShape(t.Shape()), "the shape of the first, "+tensor.FormatShape(tensors[0].Shape()))
		case queues[i].device.home() != t.Device():
			return fail(name, ErrWrongDevice, t.Device(), "a tensor on "+queues[i].device.info.Name)
		}
		list = append(list, queues[i].queue)
	}
	b, err := capable[backend.Summer](queues[0].device, "NewSum")
	if err != nil {
		return nil, err
	}
	s, err := b.Sum(list, tensors)
	if err != nil {
		return nil, err
	}
	return &Sum{s}, nil
}

// Run enqueues the sum on all queues and returns before it is done. It runs after the earlier work on each queue.
func (s *Sum) Run() error { return s.sum.Run() }

// Close releases the library's resources. Synchronize the queues first. Close twice is fine.
func (s *Sum) Close() error { return s.sum.Close() }
