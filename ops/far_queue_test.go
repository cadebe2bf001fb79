package ops_test

import (
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// farQueue is a queue of that device: one of the CPU's, which is given what is near. Of host memory it takes what AllocHost gave.
type farQueue struct {
	backend.Queue
	f *far
}

func (f *far) NewQueue() (backend.Queue, error) {
	q, err := f.cpu.NewQueue()
	return &farQueue{q, f}, err
}

// inside returns the CPU's queue.
func inside(q backend.Queue) backend.Queue {
	if q, ok := q.(*farQueue); ok {
		return q.Queue
	}
	return q
}

func (q *farQueue) Copy(dst, src *tensor.Tensor) error {
	for i, t := range []*tensor.Tensor{dst, src} {
		if memory, _, _ := t.Extent(); t.OnHost() && !q.f.pinned[memory] {
			return &ops.ArgError{Op: "Copy", Arg: []string{"dst", "src"}[i], Kind: ops.ErrPageable}
		}
	}
	return q.Queue.Copy(q.f.near(dst), q.f.near(src))
}

func (q *farQueue) Capture(fn func() error, with ...backend.Queue) (backend.Graph, error) {
	for i := range with {
		with[i] = inside(with[i])
	}
	g, err := q.Queue.Capture(fn, with...)
	return &farGraph{g}, err
}

// farGraph is launched on the CPU's queue.
type farGraph struct{ backend.Graph }

func (g *farGraph) Launch(q backend.Queue) error { return g.Graph.Launch(inside(q)) }

func (f *far) NewMark() (backend.Mark, error) { return f.cpu.NewMark() }

func (f *far) AllocHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	t, err := f.cpu.AllocHost(dtype, shape)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		memory, _, _ := t.Extent()
		f.pinned[memory] = true
	}
	return t, err
}
