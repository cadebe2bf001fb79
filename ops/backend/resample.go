package backend

import (
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
