package backend

import "github.com/robocache/robocache/tensor"

// Sharer has memory that other processes of the machine use as their own, and a place where these wait for each other.
type Sharer interface {
	// AllocShared is Alloc of memory that another process may open, by a handle.
	AllocShared(dtype tensor.DType, shape []int) (*tensor.Tensor, []byte, error)
	// OpenShared opens another process's tensor by its handle. It counts as one of this device, and is closed before the other process closes it.
	OpenShared(handle []byte, dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// Meet prepares a meeting.
	Meet(job *MeetJob) (Meeting, error)
}

// MeetJob makes the ranks of a group wait for each other, each a process of its own: a run of it ends after every rank has begun one as often. What a
// rank's queue has done before, in its own memory and in others', is there for all ranks after it.
type MeetJob struct {
	Flags []*tensor.Tensor // of each rank, [ranks] i32 of AllocShared, zeros at first: how often each rank was there
	Rank  int
}

// MaxRanks is how many there can be.
const MaxRanks = 16

// Meeting is a plan of a MeetJob.
type Meeting interface {
	Plan
	// Leave ends the waits that run, and all to come: somebody is not there any more.
	Leave() error
}

// Bound returns the job's tensors.
func (j *MeetJob) Bound() Bound {
	b := Bound{op: "Meet"}
	b.all("Flags", j.Flags)
	b.outputs()
	return b
}
