package backend

import (
	"slices"

	"github.com/robocache/robocache/tensor"
)

// BackwardJob is a validated ResampleBackward or FuseBackward, as a backend gets it.
type BackwardJob struct {
	// Forward is the operation whose gradient this is. The Src of its parts are the gradients to write, and Dst is the one to read; it has no
	// Valid and no Age. That of a Resample has one part.
	Forward *FuseJob
	Alone   bool // it is that of a Resample: a row with targets and no samples is an error
}

// Empty reports whether there is nothing to write.
func (j *BackwardJob) Empty() bool {
	return !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Src != nil && p.Src.Len() > 0 })
}

// Idle reports whether there is nothing to do, not even a check.
func (j *BackwardJob) Idle() bool {
	return j.Empty() && !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Checks() })
}

// Op is the operation's name.
func (j *BackwardJob) Op() string {
	if j.Alone {
		return "ResampleBackward"
	}
	return "FuseBackward"
}

// FaultError unpacks a fault of the job, as [ResampleJob.FaultError].
func (j *BackwardJob) FaultError(f Fault, read func(*tensor.Tensor) ([]int64, error)) error {
	of := j.Forward.FaultError
	if j.Alone {
		of = j.Forward.Parts[0].FaultError
	}
	err := of(f, read)
	if e, ok := err.(*ValueError); ok {
		e.Op = j.Op()
	}
	return err
}

// Bound returns the job's tensors.
func (j *BackwardJob) Bound() Bound {
	b := Bound{op: j.Op()}
	prefix := StreamPrefix
	if j.Alone {
		prefix = func(int) string { return "" }
	}
	f := j.Forward
	for m := range f.Parts {
		b.add(prefix(m)+"SrcGrad", f.Parts[m].Src)
	}
	b.outputs()
	b.add("DstGrad", f.Dst)
	b.add("Targets", f.Targets.Times)
	b.add("DstLengths", f.DstLengths)
	b.add("DstOffsets", f.DstOffsets)
	for m := range f.Parts {
		p := &f.Parts[m]
		b.add(prefix(m)+"SrcTimes", p.SrcTimes)
		b.add(prefix(m)+"SrcLengths", p.SrcLengths)
		b.add(prefix(m)+"SrcOffsets", p.SrcOffsets)
	}
	return b
}
