package cpu

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/internal/mapped"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// AllocShared implements backend.Sharer: the tensor's memory can be opened by other processes.
func (b *Backend) AllocShared(dtype tensor.DType, shape []int) (*tensor.Tensor, []byte, error) {
	var handle string
	t, err := b.tensor("AllocShared", dtype, shape, func(n int64) (m mapped.Shared, err error) {
		m, handle, err = mapped.NewShared(n)
		return m, err
	})
	return t, []byte(handle), err
}

// OpenShared implements backend.Sharer: it opens another process's tensor by its handle.
func (b *Backend) OpenShared(handle []byte, dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	return b.tensor("OpenShared", dtype, shape, func(n int64) (mapped.Shared, error) { return mapped.OpenShared(string(handle), n) })
}

// tensor returns a tensor in memory that processes share.
func (b *Backend) tensor(op string, dtype tensor.DType, shape []int, open func(n int64) (mapped.Shared, error)) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	m, err := open(int64(n) * int64(dtype.Size()))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &backend.ArgError{Op: op, Arg: "device", Kind: backend.ErrUnsupported, Got: "a system where processes do not share memory so", Want: "Linux"}
	}
	if err != nil {
		return nil, err
	}
	t, err := raw.Over(m.Bytes(), m, dtype, shape...)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return t, nil
}

// meeting is the plan of a MeetJob.
type meeting struct {
	nnPlan
	left atomic.Bool
}

// Meet implements backend.Sharer: it plans a barrier between processes.
func (b *Backend) Meet(job *backend.MeetJob) (backend.Meeting, error) {
	var errs []error
	var flags [][]int32
	for _, t := range job.Flags {
		flags = append(flags, elementsOf[int32](t, &errs))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m := &meeting{nnPlan: nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}}
	m.end = func() error {
		own := flags[job.Rank]
		times := own[job.Rank] + 1
		for rank := range flags {
			atomic.StoreInt32(&flags[rank][job.Rank], times)
		}
		for rank := range flags {
			for turn := 0; atomic.LoadInt32(&own[rank])-times < 0 && !m.left.Load(); turn++ {
				if turn < 1000 {
					runtime.Gosched()
				} else {
					time.Sleep(20 * time.Microsecond)
				}
			}
		}
		return nil
	}
	return m, nil
}

func (m *meeting) Leave() error {
	m.left.Store(true)
	return nil
}
