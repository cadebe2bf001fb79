package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// AllocShared is like [Device.Alloc], but returns a handle too. While the tensor is open, other processes on the
// machine can open its memory with the handle, see [Device.OpenShared]. A GPU uses the driver's handles and allocates
// in units of 2 MiB. If the system cannot share memory, the error is an *ArgError with the kind ErrUnsupported. The
// tensor must have at least one element.
func (d *Device) AllocShared(dtype tensor.DType, shape ...int) (t *tensor.Tensor, handle []byte, err error) {
	s, err := d.sharer("AllocShared", dtype, shape)
	if err != nil {
		return nil, nil, err
	}
	return s.AllocShared(dtype, shape)
}

// OpenShared opens another process's tensor by its handle. The result is used like a tensor on this device, although
// its memory may be on another device. Close it before the other process closes its own; the two processes must agree
// on the time themselves.
func (d *Device) OpenShared(handle []byte, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	s, err := d.sharer("OpenShared", dtype, shape)
	if err != nil {
		return nil, err
	}
	return s.OpenShared(handle, dtype, shape)
}

// sharer returns the backend as a Sharer. It returns an error if the backend cannot share memory, or if the dtype or the shape is
// invalid.
func (d *Device) sharer(op string, dtype tensor.DType, shape []int) (backend.Sharer, error) {
	if err := d.allocates(op, dtype, shape); err != nil {
		return nil, err
	}
	if n, _ := tensor.NumElements(shape...); n == 0 {
		return nil, &ArgError{Op: op, Arg: "shape", Kind: ErrShape, Got: tensor.FormatShape(shape), Want: "an element or more"}
	}
	return capable[backend.Sharer](d, op)
}

// MeetPlan is a barrier between processes, see [Device.PlanMeet].
type MeetPlan struct {
	Plan
	meeting backend.Meeting
}

// PlanMeet prepares a barrier for a group of ranks, each a process with its own device. Run number n on one rank ends
// only after every rank has begun its run number n. All earlier work on a rank's queue, in its own memory and in
// others', is visible to every rank after the barrier. flags has one tensor per rank, [ranks] i32, opened with
// [Device.OpenShared] if it belongs to another rank, and all zeros before the first run on any rank. rank is this
// process's number.
func (d *Device) PlanMeet(rank int, flags []*tensor.Tensor) (*MeetPlan, error) {
	fail := func(arg string, kind error, got any, want string) (*MeetPlan, error) {
		return nil, &ArgError{Op: "PlanMeet", Arg: arg, Kind: kind, Got: fmt.Sprint(got), Want: want}
	}
	if err := d.open("PlanMeet"); err != nil {
		return nil, err
	}
	n := len(flags)
	if n < 1 || n > backend.MaxRanks {
		return fail("flags", ErrOption, n, fmt.Sprintf("1 to %d", backend.MaxRanks))
	}
	if rank < 0 || rank >= n {
		return fail("rank", ErrOption, rank, fmt.Sprintf("less than %d", n))
	}
	for i, t := range flags {
		arg := fmt.Sprintf("flags[%d]", i)
		switch {
		case t == nil:
			return fail(arg, ErrMissing, "nil", "a tensor")
		case t.DType() != tensor.I32 || t.Len() != n || !t.IsContiguous():
			return fail(arg, ErrShape, t.String(), fmt.Sprintf("i32 [%d], contiguous", n))
		case t.Device() != d.home():
			return fail(arg, ErrWrongDevice, t.Device(), d.home())
		}
	}
	s, err := capable[backend.Sharer](d, "PlanMeet")
	if err != nil {
		return nil, err
	}
	m, err := s.Meet(&backend.MeetJob{Flags: flags, Rank: rank})
	if err != nil {
		return nil, err
	}
	return &MeetPlan{Plan{m}, m}, nil
}

// Leave ends the plan's current and future waits, for example because another rank has died. Results of later work on
// the queue are then meaningless. It may be called from any goroutine.
func (p *MeetPlan) Leave() error { return p.meeting.Leave() }
