package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Working returns float32, or bfloat16 for "cpu:exact". In float32, products use the processor's own arithmetic, which
// is faster. In bfloat16, they give the same bits as on a GPU.
func (b *Backend) Working() tensor.DType {
	if b.exact {
		return tensor.BF16
	}
	return tensor.F32
}

// byWorking plans a job with exact or fast, by the backend's working type.
func byWorking[J any](b *Backend, job J, exact, fast func(*Backend, J) (backend.Plan, error)) (backend.Plan, error) {
	if b.exact {
		return exact(b, job)
	}
	return fast(b, job)
}

// nnPlan is a network job bound to host memory. Its tasks run one after the other, each on all threads.
type nnPlan struct {
	boundPlan
	backend *Backend
	tasks   []*task
	begin   func()       // runs before the tasks; may be nil
	end     func() error // runs after the tasks; may be nil; returns the error for bad values
}

func (p *nnPlan) Run(q backend.Queue) error { return p.run(q, p) }

func (p *nnPlan) execute() error {
	if p.begin != nil {
		p.begin()
	}
	for _, t := range p.tasks {
		p.backend.shared(t)
	}
	if p.end != nil {
		return p.end()
	}
	return nil
}
