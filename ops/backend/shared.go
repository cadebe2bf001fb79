package backend

import "github.com/robocache/robocache/tensor"

// Sharer shares memory with other processes on the machine, and provides a barrier between them.
type Sharer interface {
	// AllocShared is like Alloc, and also returns a handle with which another process can open the memory.
	AllocShared(dtype tensor.DType, shape []int) (*tensor.Tensor, []byte, error)
	// OpenShared opens another process's tensor by its handle. The tensor counts as one on this device. Close it before
	// the other process closes its own.
	OpenShared(handle []byte, dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// Meet prepares a barrier.
	Meet(job *MeetJob) (Meeting, error)
}

// MeetJob is a barrier for a group of ranks, each its own process. Run number n on one rank ends only after every rank
// has begun its run number n. All earlier work on a rank's queue, in its own memory and in others', is then visible to
// every rank.
type MeetJob struct {
	Flags []*tensor.Tensor // one tensor per rank, [ranks] i32 from AllocShared, zeros at first: the number of runs that each rank has begun
	Rank  int
}

// MaxRanks is the largest number of ranks.
const MaxRanks = 16

// Meeting is a plan for a MeetJob.
type Meeting interface {
	Plan
	// Leave ends current and future waits, for example because another rank has died.
	Leave() error
}

// Bound returns the job's tensors.
func (j *MeetJob) Bound() Bound {
	b := Bound{op: "Meet"}
	b.all("Flags", j.Flags)
	b.outputs()
	return b
}
