package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Backend runs the operations on the CPU, and its results are their specification. A fixed set of goroutines does the
// work while Run waits for it, so the order on a queue is the order of the calls.
type Backend struct {
	workers int
	exact   bool // networks use bfloat16 with a GPU's bits: see Working
	work    chan *task
	shared  func(*task)           // runs a task: b.parallel
	voxels  func() []voxelScratch // one for each worker, allocated on first use
	run     sync.Mutex
	close   sync.Once
}

// task is work in equal pieces. Workers take the next piece until none is left.
type task struct {
	pieces int
	next   atomic.Int64
	done   sync.WaitGroup
	do     func(piece, worker int)
	worker atomic.Int64
	failed atomic.Pointer[error] // the first panic in do
}

func open(arg string) (backend.Backend, error) {
	b := New(runtime.GOMAXPROCS(0))
	switch arg {
	case "", "fast":
	case "exact":
		b.exact = true
	default:
		return nil, errors.Join(fmt.Errorf("the CPU backend: got %q, want nothing, fast or exact", arg), b.Close())
	}
	return b, nil
}

// New returns a backend with the given number of workers, including the calling goroutine.
func New(workers int) *Backend {
	b := &Backend{workers: workers}
	b.work = make(chan *task, b.workers-1)
	b.shared = b.parallel
	b.voxels = sync.OnceValue(func() []voxelScratch { return make([]voxelScratch, workers) })
	for range b.workers - 1 {
		go func() {
			for t := range b.work {
				t.guard()
				t.done.Done()
			}
		}()
	}
	return b
}

// guard processes pieces until none is left. A panic ends it, and the other workers stop at their next piece.
func (t *task) guard() {
	if err := caught.Do(func() error { t.take(); return nil }); err != nil {
		failed := err // a copy, so that only the error path allocates
		t.failed.CompareAndSwap(nil, &failed)
		t.next.Store(int64(t.pieces))
	}
}

func (t *task) take() {
	worker := int(t.worker.Add(1)) - 1
	for {
		piece := int(t.next.Add(1)) - 1
		if piece >= t.pieces {
			return
		}
		t.do(piece, worker)
	}
}

// parallel runs the task's pieces on the calling goroutine and the workers. The worker number passed to do is below b.workers, and
// pieces that run concurrently have different numbers. If do panics, parallel panics in the calling goroutine after all workers have
// stopped.
func (b *Backend) parallel(t *task) {
	b.run.Lock()
	defer b.run.Unlock()
	t.next.Store(0)
	t.worker.Store(0)
	helpers := max(min(b.workers, t.pieces)-1, 0)
	t.done.Add(helpers)
	for range helpers {
		b.work <- t
	}
	t.guard()
	for range helpers { // no piece is left, so a worker that has not started is not waited for
		select {
		case <-b.work:
			t.done.Done()
		default:
		}
	}
	t.done.Wait()
	if err := t.failed.Swap(nil); err != nil {
		panic(*err)
	}
}

// Name returns "cpu", or "cpu:exact" if networks are computed exactly, with the same bits as on a GPU.
func (b *Backend) Name() string {
	if b.exact {
		return "cpu:exact"
	}
	return "cpu"
}

// Describe reports the processor's architecture and the thread count.
func (b *Backend) Describe() backend.Info {
	return backend.Info{Backend: "cpu", Name: b.Name(), Product: fmt.Sprintf("%s, %d threads", runtime.GOARCH, b.workers)}
}

// Alloc returns a contiguous tensor in Go memory, or a *MemoryError if memory runs out.
func (b *Backend) Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	return backend.NewHost(dtype, shape)
}

// AllocHost is the same as Alloc, because the CPU copies from and to any memory.
func (b *Backend) AllocHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	return b.Alloc(dtype, shape)
}

// Copy copies src to dst before it returns. Both have the same dtype and shape.
func (b *Backend) Copy(dst, src *tensor.Tensor) error { return copyTensor(dst, src) }

func copyTensor(dst, src *tensor.Tensor) error {
	switch dst.DType() {
	case tensor.F32:
		return copyHost[float32](dst, src)
	case tensor.F64:
		return copyHost[float64](dst, src)
	case tensor.F16:
		return copyHost[tensor.Float16](dst, src)
	case tensor.BF16:
		return copyHost[tensor.BFloat16](dst, src)
	case tensor.I32:
		return copyHost[int32](dst, src)
	case tensor.I64:
		return copyHost[int64](dst, src)
	}
	return copyHost[uint8](dst, src)
}

func copyHost[T tensor.Element](dst, src *tensor.Tensor) error {
	to, err1 := tensor.Data[T](dst)
	from, err2 := tensor.Data[T](src)
	copy(to, from)
	return errors.Join(err1, err2)
}

// Close ends the worker goroutines. Close twice is fine.
func (b *Backend) Close() error {
	b.close.Do(func() { close(b.work) })
	return nil
}

// runnable is a plan or a copy on this backend. execute returns the first error found in its values.
type runnable interface {
	execute() error
	stillOpen(op string) error
}

// queue runs work immediately but keeps its errors until Synchronize, as a GPU's stream does.
type queue struct {
	mu       sync.Mutex
	errs     []error
	captured *graph
	closed   bool
}

// NewQueue returns a queue that runs work in the caller's goroutine: Run returns when the work is done, and Synchronize
// returns its errors.
func (b *Backend) NewQueue() (backend.Queue, error) { return &queue{}, nil }

func (s *queue) Synchronize(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.captured != nil {
		return &backend.ArgError{Op: "Synchronize", Arg: "queue", Kind: backend.ErrOption, Got: "a queue that is being captured", Want: "Synchronize after Capture"}
	}
	if s.closed {
		return &backend.ArgError{Op: "Synchronize", Arg: "queue", Kind: backend.ErrClosed}
	}
	return errors.Join(s.collect(), ctx.Err())
}

func (s *queue) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.collect()
}

// collect returns and clears the errors since the last call.
func (s *queue) collect() error {
	err := errors.Join(s.errs...)
	if len(s.errs) == 1 {
		err = s.errs[0]
	}
	s.errs = nil
	return err
}

func (s *queue) give(p runnable) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &backend.ArgError{Op: "Run", Arg: "queue", Kind: backend.ErrClosed}
	}
	if s.captured != nil {
		s.captured.work = append(s.captured.work, p)
		return nil
	}
	if err := p.execute(); err != nil {
		s.errs = append(s.errs, err)
	}
	return nil
}

func (s *queue) Capture(fn func() error, with ...backend.Queue) (backend.Graph, error) {
	g := &graph{joint: len(with) > 0}
	for i, q := range append([]backend.Queue{s}, with...) {
		one, err := queueOf(q)
		if err == nil {
			err = one.begin(g, i)
		}
		if err != nil {
			return nil, err
		}
		defer one.end()
	}
	if err := fn(); err != nil {
		return nil, err
	}
	return g, nil
}

// begin starts recording on the queue, as number i in a capture.
func (s *queue) begin(g *graph, i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.captured != nil {
		return &backend.ArgError{Op: "Capture", Arg: backend.CaptureArg(i), Kind: backend.ErrOption, Got: "a queue that is closed or being captured", Want: "an open queue"}
	}
	s.captured = g
	return nil
}

func (s *queue) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.captured = nil
}

type graph struct {
	joint  bool // records several queues
	work   []runnable
	closed atomic.Bool
}

func (g *graph) Launch(s backend.Queue) error {
	st, err := queueOf(s)
	if err != nil {
		return err
	}
	if g.closed.Load() {
		return &backend.ArgError{Op: "Launch", Arg: "graph", Kind: backend.ErrClosed}
	}
	for _, p := range g.work {
		if err := p.stillOpen("Launch"); err != nil {
			return err
		}
	}
	for _, p := range g.work {
		if err := st.give(p); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) Close() error {
	g.closed.Store(true)
	return nil
}

func queueOf(s backend.Queue) (*queue, error) {
	st, ok := s.(*queue)
	if !ok {
		return nil, &backend.ArgError{Op: "Run", Arg: "queue", Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a queue of this device"}
	}
	return st, nil
}

// lower stores a fault in cell if the cell has none or a greater one.
func lower(cell *atomic.Uint64, f backend.Fault) {
	for {
		old := cell.Load()
		if uint64(f) >= old || cell.CompareAndSwap(old, uint64(f)) {
			return
		}
	}
}

// Opener returns the opener that package ops registers for this backend.
func Opener() backend.Opener { return backend.Opener{Name: "cpu", Auto: 1, Open: open} }
