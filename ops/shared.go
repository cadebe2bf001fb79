package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// AllocShared is [Device.Alloc] of memory that other processes of the machine may open by the handle, as long as the tensor is open: on a GPU by the
// driver's handles, in whole pieces of 2 MiB. Where that cannot be it is an *ArgError that is ErrUnsupported. The tensor has an element at least.
func (d *Device) AllocShared(dtype tensor.DType, shape ...int) (t *tensor.Tensor, handle []byte, err error) {
	s, err := d.sharer("AllocShared", dtype, shape)
	if err != nil {
		return nil, nil, err
	}
	return s.AllocShared(dtype, shape)
}

// OpenShared opens a tensor of another process by its handle. It is used as one of this device, though it may lie on another, and is closed before the
// other process closes it: that is for the two to agree on.
func (d *Device) OpenShared(handle []byte, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	s, err := d.sharer("OpenShared", dtype, shape)
	if err != nil {
		return nil, err
	}
	return s.OpenShared(handle, dtype, shape)
}

// sharer checks what is to be shared.
func (d *Device) sharer(op string, dtype tensor.DType, shape []int) (backend.Sharer, error) {
	if err := d.allocates(op, dtype, shape); err != nil {
		return nil, err
	}
	if n, _ := tensor.NumElements(shape...); n == 0 {
		return nil, &ArgError{Op: op, Arg: "shape", Kind: ErrShape, Got: tensor.FormatShape(shape), Want: "an element or more"}
	}
	return capable[backend.Sharer](d, op)
}

// MeetPlan makes processes wait for each other: see [Device.PlanMeet].
type MeetPlan struct {
	Plan
	meeting backend.Meeting
}

// PlanMeet prepares a meeting of the ranks of a group, each a process of its own with a device of its own: a run of it ends after every rank has begun
// one as often. What a rank's queue has done before, in its own memory and in others', is there for all ranks after it. Flags are a tensor of each rank,
// [ranks] i32, opened by the others and all zeros before the first run of any; rank is this process's number.
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

// Leave ends the waits of the plan that run, and all to come, since somebody is not there any more; what the queue does after them is of no use. It may be
// called from any goroutine.
func (p *MeetPlan) Leave() error { return p.meeting.Leave() }
