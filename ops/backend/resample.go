package backend

import (
	"fmt"
	"sort"
	"time"

	"github.com/robocache/robocache/tensor"
)

// ResampleTensors are the fields of ops.ResampleArgs.
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

// Inputs are the tensors that are read, of which those that are not there are nil.
func (a *ResampleTensors) Inputs() []*tensor.Tensor {
	return []*tensor.Tensor{a.Src, a.SrcTimes, a.Targets.Times, a.Targets.Anchors, a.Targets.Deltas, a.SrcLengths, a.SrcOffsets, a.SrcStarts, a.DstLengths, a.DstOffsets}
}

// ResampleJob is a validated Resample, as a backend gets it. Strides are in elements; one for a dimension that is missing
// or shared is 0.
type ResampleJob struct {
	ResampleTensors

	B, D int
	S    int // samples a row, or of all rows together if SrcOffsets is there
	T    int // targets a row, or of all rows together if DstOffsets is there

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
	MaxGap, Tolerance    Limit // as given: see Slack
	FillGaps             bool
	Check                bool
	Launch               LaunchMode
}

// ClockType returns the dtype of the times.
func (j *ResampleJob) ClockType() tensor.DType { return j.SrcTimes.DType() }

// Rows returns the number of targets of all rows together.
func (j *ResampleJob) Rows() int {
	if j.DstOffsets != nil {
		return j.T
	}
	return j.B * j.T
}

// Timestamps returns the number of source timestamps that a check reads; of a selection of rows, that there are.
func (j *ResampleJob) Timestamps() int { return j.TimesRows * j.S }

// ShortestWindow returns the shortest window of the channels that have one.
func (j *ResampleJob) ShortestWindow() (shortest Limit) {
	for _, c := range j.Channels {
		if c.Interp.Windowed() && (!shortest.set || c.Window.d < shortest.d) {
			shortest = c.Window
		}
	}
	return shortest
}

// Slack is MaxGap or Tolerance as it counts: longer by Snap.
func (j *ResampleJob) Slack(limit Limit) Limit { return limit.Plus(j.Snap) }

// WindowFrom is how far before a target a window of the given length begins, after which its samples are: the length less Snap. It ends Snap behind the
// target.
func (j *ResampleJob) WindowFrom(length Limit) time.Duration { return length.d - j.Snap.d }

// Empty reports whether there is nothing to write.
func (j *ResampleJob) Empty() bool { return j.Rows() == 0 || j.D == 0 }

// Idle reports whether there is nothing to do, not even a check.
func (j *ResampleJob) Idle() bool { return j.Empty() && !j.Checks() }

// Checks reports whether there are rows or timestamps to check.
func (j *ResampleJob) Checks() bool {
	c := j.Checked()
	ragged := c.SrcLengths != nil || c.SrcOffsets != nil || c.DstLengths != nil || c.DstOffsets != nil
	return j.Check && (ragged || c.Timestamps() > 0)
}

// Checked returns the job whose rows and timestamps are to be checked: j itself, unless it has no rows. The one offset that these have
// must be 0, as the length of a row must be that has no samples and no targets: so it is checked as that.
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

// Packed reports whether the rows of the source follow each other, or are anywhere, in one list of samples.
func (j *ResampleJob) Packed() bool { return j.SrcOffsets != nil || j.SrcStarts != nil }

// Batched reports whether outputs that are not packed have a batch dimension.
func (j *ResampleJob) Batched() bool { return j.Src.Rank() == 3 || j.Packed() }

// OutShape is the shape of Valid and Age, and without its last dimension that of Dst.
func (j *ResampleJob) OutShape() []int {
	if j.DstOffsets == nil && j.Batched() {
		return []int{j.B, j.T}
	}
	return []int{j.T}
}

// Channel is ops.Channel. In a job Period is never 0 and Window that of the options unless it has its own.
type Channel struct {
	Lo, Hi int
	Interp Interp
	Quat   QuatOrder
	Period float64
	Window Limit
}

// FaultError unpacks a fault of the job. For packed tensors it reads the offsets, or starts and lengths; read is given those on the device. What no kernel
// writes, as memory may hold that others have written to, is an error that says so.
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
	chosen := func() { // the first row that has the timestamp, of two out of order both
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
