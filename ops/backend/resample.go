package backend

import (
	"fmt"
	"sort"
	"time"

	"github.com/robocache/robocache/tensor"
)

// ResampleTensors has the fields of ops.ResampleArgs.
type ResampleTensors struct {
	Dst   *tensor.Tensor
	Valid *tensor.Tensor
	Age   *tensor.Tensor
	Pad   *tensor.Tensor

	Src      *tensor.Tensor
	SrcTimes *tensor.Tensor
	Targets  Clock

	SrcLengths, SrcOffsets *tensor.Tensor
	SrcStarts              *tensor.Tensor
	DstLengths, DstOffsets *tensor.Tensor
}

// Inputs returns the tensors that are read. Missing ones are nil.
func (a *ResampleTensors) Inputs() []*tensor.Tensor {
	return []*tensor.Tensor{a.Src, a.SrcTimes, a.Targets.Times, a.Targets.Anchors, a.Targets.Deltas, a.SrcLengths, a.SrcOffsets, a.SrcStarts, a.DstLengths, a.DstOffsets}
}

// ResampleJob is a validated Resample. Strides are in elements. If a dimension is missing or shared, its stride is 0.
type ResampleJob struct {
	ResampleTensors

	B, D int
	S    int // samples in a row, or in all rows together if SrcOffsets is set
	T    int // targets in a row, or in all rows together if DstOffsets is set

	SrcBatch, SrcStep    int
	TimesBatch           int
	DstBatch, DstStep    int
	ValidBatch, AgeBatch int
	ValidStep, AgeStep   int
	PadBatch, PadStep    int
	TargetBatch          int
	TimesRows            int // rows of SrcTimes that differ: B, or 1 if shared or packed
	Channels             []Channel
	Edge                 Edge
	Fill                 float64
	Snap                 Limit
	MaxGap, Tolerance    Limit // without Snap: see Slack
	FillGaps             bool
	Check                bool
	Launch               LaunchMode
}

// ClockType returns the dtype of the times.
func (j *ResampleJob) ClockType() tensor.DType { return j.SrcTimes.DType() }

// Rows returns the number of targets in all rows together.
func (j *ResampleJob) Rows() int {
	if j.DstOffsets != nil {
		return j.T
	}
	return j.B * j.T
}

// Timestamps returns the number of source timestamps that a check reads. With SrcStarts it is the number of all
// timestamps in the packed tensor.
func (j *ResampleJob) Timestamps() int { return j.TimesRows * j.S }

// ShortestWindow returns the shortest window among the channels with a window.
func (j *ResampleJob) ShortestWindow() (shortest Limit) {
	for _, c := range j.Channels {
		if c.Interp.Windowed() && (!shortest.set || c.Window.d < shortest.d) {
			shortest = c.Window
		}
	}
	return shortest
}

// Slack returns the effective MaxGap or Tolerance: the limit plus Snap.
func (j *ResampleJob) Slack(limit Limit) Limit { return limit.Plus(j.Snap) }

// WindowFrom returns the distance from a target back to the beginning of its window: the window length minus Snap. The
// beginning is excluded. The window ends Snap after the target.
func (j *ResampleJob) WindowFrom(length Limit) time.Duration { return length.d - j.Snap.d }

// Empty reports whether nothing is written.
func (j *ResampleJob) Empty() bool { return j.Rows() == 0 || j.D == 0 }

// Idle reports whether the job has no work at all, not even a check.
func (j *ResampleJob) Idle() bool { return j.Empty() && !j.Checks() }

// Checks reports whether there are rows or timestamps to check.
func (j *ResampleJob) Checks() bool {
	c := j.Checked()
	ragged := c.SrcLengths != nil || c.SrcOffsets != nil || c.DstLengths != nil || c.DstOffsets != nil
	return j.Check && (ragged || c.Timestamps() > 0)
}

// Checked returns the job with the rows and timestamps to check. It is j itself if there are rows. Without rows, each
// offsets tensor has one element, which must be 0; Checked returns a job that checks this element as the length of one
// row without samples and targets.
func (j *ResampleJob) Checked() *ResampleJob {
	if j.B > 0 {
		return j
	}
	c := *j
	c.B, c.S, c.T, c.TimesRows = 1, 0, 0, 1
	c.SrcLengths, c.SrcOffsets, c.SrcStarts = j.SrcOffsets, nil, nil
	c.DstLengths, c.DstOffsets = j.DstOffsets, nil
	return &c
}

// Packed reports whether the source rows are parts of one list of samples, in order (SrcOffsets) or anywhere
// (SrcStarts).
func (j *ResampleJob) Packed() bool { return j.SrcOffsets != nil || j.SrcStarts != nil }

// Batched reports whether outputs have a batch dimension, unless they are packed.
func (j *ResampleJob) Batched() bool { return j.Src.Rank() == 3 || j.Packed() }

// OutShape returns the shape of Valid and Age, which is the shape of Dst without its last dimension.
func (j *ResampleJob) OutShape() []int {
	if j.DstOffsets == nil && j.Batched() {
		return []int{j.B, j.T}
	}
	return []int{j.T}
}

// Channel is ops.Channel. In a job, Period is never 0, and Window is the options' Window if the channel has none.
type Channel struct {
	Lo, Hi int
	Interp Interp
	Quat   QuatOrder
	Period float64
	Window Limit
}

// FaultError converts a fault into an error, or nil for NoFault. If tensors are packed, it reads the offsets, or starts
// and lengths, with read, which must accept tensors on the device. If no kernel could have written f, because other
// code has overwritten the memory, the error reports that.
func (j *ResampleJob) FaultError(f Fault, read func(*tensor.Tensor) ([]int64, error)) error {
	if f == NoFault {
		return nil
	}
	e, err := j.fault(f, j.DstOffsets, read)
	if err != nil {
		return err
	}
	return e
}

func (j *ResampleJob) fault(f Fault, dstOffsets *tensor.Tensor, read func(*tensor.Tensor) ([]int64, error)) (e *ValueError, err error) {
	position := f.Position()
	e = &ValueError{Op: "Resample", Row: position}
	chosen := func() { // names the first row that contains the timestamp, or both timestamps that are out of order
		var starts, lengths []int64
		if starts, err = read(j.SrcStarts); err == nil {
			lengths, err = read(j.SrcLengths)
		}
		for b := range lengths {
			k := int64(position) - starts[b]
			if k >= 0 && k < lengths[b] && (k > 0 || f.Reason() != FaultUnsorted) {
				e.Row, e.Index = b, int(k)
				break
			}
		}
	}
	split := func(n int, packed *tensor.Tensor) {
		if packed == nil && position >= j.B*n {
			err = noFault(f)
			return
		}
		if packed == nil {
			e.Row, e.Index = position/n, position%n
			return
		}
		var offsets []int64
		if offsets, err = read(packed); err == nil {
			e.Row = max(sort.Search(len(offsets), func(i int) bool { return offsets[i] > int64(position) })-1, 0)
			e.Index = position - int(offsets[e.Row])
		}
	}
	rowsArg := func(side string, lengths *tensor.Tensor) string {
		if lengths != nil {
			return side + "Lengths"
		}
		return side + "Offsets"
	}
	switch f.Class() {
	case FaultRows:
		e.Arg = rowsArg("Src", j.SrcLengths)
	case FaultTimes:
		e.Arg = "SrcTimes"
		if j.SrcStarts != nil {
			chosen()
		} else {
			split(j.S, j.SrcOffsets)
		}
	default:
		e.Arg = "Targets"
		split(j.T, dstOffsets)
	}
	switch f.Reason() {
	case FaultSrcRows:
		e.Kind = ErrRows
		if j.SrcStarts != nil {
			e.Arg = "SrcStarts"
		}
	case FaultDstRows:
		e.Arg, e.Kind = rowsArg("Dst", j.DstLengths), ErrRows
	case FaultNoSamples:
		e.Kind = ErrNoSamples
	case FaultUnsorted:
		e.Kind = ErrUnsorted
	case FaultNotFinite:
		e.Kind = ErrNotFinite
	case FaultTimeRange:
		e.Kind = ErrTimeRange
	case FaultOutOfRange:
		e.Kind = ErrOutOfRange
	default:
		err = noFault(f)
	}
	return e, err
}

func noFault(f Fault) error {
	return fmt.Errorf("the word %#x is no fault that a kernel writes: what others have written may lie where it was read", uint64(f))
}

// Bound returns the job's tensors.
func (j *ResampleJob) Bound() Bound {
	b := Bound{op: "Resample"}
	b.add("Dst", j.Dst)
	b.add("Valid", j.Valid)
	b.add("Age", j.Age)
	b.add("Pad", j.Pad)
	b.outputs()
	b.add("Src", j.Src)
	b.add("SrcTimes", j.SrcTimes)
	b.addClock(j.Targets)
	b.add("SrcLengths", j.SrcLengths)
	b.add("SrcOffsets", j.SrcOffsets)
	b.add("SrcStarts", j.SrcStarts)
	b.add("DstLengths", j.DstLengths)
	b.add("DstOffsets", j.DstOffsets)
	return b
}
