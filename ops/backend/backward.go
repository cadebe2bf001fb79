package backend

import (
	"slices"

	"github.com/robocache/robocache/tensor"
)

// BackwardJob is a validated ResampleBackward or FuseBackward.
type BackwardJob struct {
	// Forward is the forward operation. In its parts, Src is the gradient to write; Dst is the gradient to read. Valid
	// and Age are nil. For a Resample it has one part.
	Forward *FuseJob
	Alone   bool // for Resample, not Fuse: a row with targets but no samples is an error
}

// Empty reports whether no gradient is written.
func (j *BackwardJob) Empty() bool {
	return !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Src != nil && p.Src.Len() > 0 })
}

// Idle reports whether the job has no work at all, not even a check.
func (j *BackwardJob) Idle() bool {
	return j.Empty() && !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Checks() })
}

// Op returns the operation's name.
func (j *BackwardJob) Op() string {
	if j.Alone {
		return "ResampleBackward"
	}
	return "FuseBackward"
}

// FaultError converts a fault into an error, like [ResampleJob.FaultError].
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
