package backend

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/tensor"
)

// FuseJob is a validated Fuse.
type FuseJob struct {
	Dst, Valid, Age, Pad   *tensor.Tensor
	Targets                Clock
	DstLengths, DstOffsets *tensor.Tensor

	Parts []FusePart // one for each stream
	B, D  int        // D is the sum over the streams' features
	T     int        // as in ResampleJob
	Clock tensor.DType
	Check bool

	Launch LaunchMode
}

// FusePart is one stream as a Resample. Its Dst is the stream's columns in the Fuse's Dst, and its Valid and Age are
// the stream's elements in the Fuse's. If the stream is missing, Src and SrcTimes are nil and S is 0.
type FusePart struct {
	*ResampleJob
	Offset           time.Duration
	Shift, Scale     []float32 // nil, or D long
	ClipMin, ClipMax []float32 // nil, or D long
}

// Rows returns the number of targets in all rows together.
func (j *FuseJob) Rows() int { return j.Parts[0].Rows() }

// Empty reports whether nothing is written.
func (j *FuseJob) Empty() bool { return j.Rows() == 0 }

// Idle reports whether the job has no work at all, not even a check.
func (j *FuseJob) Idle() bool {
	return !slices.ContainsFunc(j.Parts, func(p FusePart) bool { return !p.Idle() })
}

// Checked returns the job with the rows and timestamps to check, like [ResampleJob.Checked].
func (j *FuseJob) Checked() *FuseJob {
	if j.B > 0 {
		return j
	}
	c := *j
	c.B, c.T, c.DstLengths, c.DstOffsets = 1, 0, j.DstOffsets, nil
	c.Parts = slices.Clone(j.Parts)
	for m := range c.Parts {
		c.Parts[m].ResampleJob = c.Parts[m].Checked()
	}
	return &c
}

// StreamPrefix returns the prefix for the argument names of stream m. Example: "Streams[2]." for m = 2.
func StreamPrefix(m int) string { return fmt.Sprintf("Streams[%d].", m) }

// OutShape returns the shape of Valid and Age without the stream dimension, which is the shape of Dst without the
// features.
func (j *FuseJob) OutShape() []int {
	for _, p := range j.Parts {
		if p.Src != nil {
			return p.OutShape()
		}
	}
	return nil
}

// FaultError converts a fault into an error, like [ResampleJob.FaultError].
func (j *FuseJob) FaultError(f Fault, read func(*tensor.Tensor) ([]int64, error)) error {
	if f == NoFault {
		return nil
	}
	if f.Stream() >= len(j.Parts) {
		return noFault(f)
	}
	e, err := j.Parts[f.Stream()].fault(f, j.DstOffsets, read)
	if err != nil {
		return err
	}
	e.Op = "Fuse"
	if e.Arg != "DstLengths" && e.Arg != "DstOffsets" {
		e.Arg = StreamPrefix(f.Stream()) + e.Arg
	}
	return e
}

// Bound returns the job's tensors.
func (j *FuseJob) Bound() Bound {
	b := Bound{op: "Fuse"}
	b.add("Dst", j.Dst)
	b.add("Valid", j.Valid)
	b.add("Age", j.Age)
	b.add("Pad", j.Pad)
	b.outputs()
	b.addClock(j.Targets)
	b.add("DstLengths", j.DstLengths)
	b.add("DstOffsets", j.DstOffsets)
	for m := range j.Parts {
		p, prefix := &j.Parts[m], StreamPrefix(m)
		b.add(prefix+"Src", p.Src)
		b.add(prefix+"SrcTimes", p.SrcTimes)
		b.add(prefix+"SrcLengths", p.SrcLengths)
		b.add(prefix+"SrcOffsets", p.SrcOffsets)
		b.add(prefix+"SrcStarts", p.SrcStarts)
	}
	return b
}

// Normalised reports whether features are shifted, scaled or clipped before they are written.
func (p *FusePart) Normalised() bool { return p.Shift != nil || p.Scale != nil || p.Clips() }

// Clips reports whether features are clipped.
func (p *FusePart) Clips() bool { return p.ClipMin != nil || p.ClipMax != nil }

// Affine returns Shift, Scale, ClipMin and ClipMax with D elements each. Missing ones are 0, 1, -Inf and +Inf.
func (p *FusePart) Affine() (shift, scale, least, most []float32) {
	full := func(list []float32, x float64) []float32 {
		if list != nil {
			return list
		}
		return slices.Repeat([]float32{float32(x)}, p.D)
	}
	return full(p.Shift, 0), full(p.Scale, 1), full(p.ClipMin, math.Inf(-1)), full(p.ClipMax, math.Inf(1))
}
