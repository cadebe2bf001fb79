package device

import (
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// sum is a plan that adds tensors on several devices element by element, by an NCCL all-reduce.
type sum struct {
	nccl    *cudadrv.NCCL
	at      []cudadrv.DevicePtr
	count   int
	streams []*cudadrv.Stream
}

// Sum implements [backend.Summer].
func (d *Device) Sum(queues []backend.Queue, tensors []*tensor.Tensor) (backend.Sum, error) {
	s := &sum{count: tensors[0].Len()}
	var contexts []*cudadrv.Context
	for i, b := range queues {
		q, ok := b.(interface{ base() *Queue })
		if !ok {
			return nil, &backend.ArgError{Op: "Sum", Arg: fmt.Sprintf("queues[%d]", i), Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", b), Want: "a queue of a GPU"}
		}
		contexts = append(contexts, q.base().d.Ctx)
		s.streams = append(s.streams, q.base().queue)
		at, _ := tensors[i].Addr()
		s.at = append(s.at, cudadrv.DevicePtr(at))
	}
	var err error
	s.nccl, err = cudadrv.NewNCCL(contexts)
	return s, err
}

func (s *sum) Run() error   { return s.nccl.AddUp(s.at, s.count, s.streams) }
func (s *sum) Close() error { return s.nccl.Close() }
