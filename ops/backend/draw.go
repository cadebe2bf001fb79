package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// DrawTensors has the fields of ops.DrawArgs.
type DrawTensors struct {
	Episodes *tensor.Tensor
	Ticks    *tensor.Tensor
	Keys     *tensor.Tensor
	Anchors  *tensor.Tensor
	Cursor   *tensor.Tensor

	Streams []DrawStream

	Windows *tensor.Tensor
	Begins  *tensor.Tensor
}

// DrawStream locates the samples of the drawn episodes in one stream's packed values. A drawn episode may have no
// samples.
type DrawStream struct {
	Starts  *tensor.Tensor // [B], written: the first sample, Offsets[e]; 0 if the row has no window
	Lengths *tensor.Tensor // [B], written: the number of samples, Offsets[e+1]-Offsets[e]; 0 if the row has no window
	Offsets *tensor.Tensor // [E+1]
}

// DrawJob is a validated Draw.
type DrawJob struct {
	DrawTensors
	DrawOrder   // Ranks is at least 1
	Rate        float64
	E           int // episodes
	TrustTables bool
	Launch      LaunchMode
}

// DrawOptional is the number of optional outputs, which are first in DrawJob.Outputs.
const DrawOptional = 3

// Outputs lists the outputs.
func (j *DrawJob) Outputs() []Output {
	rows := []int{j.Batch}
	out := []Output{
		{Name: "Episodes", T: &j.Episodes, DType: tensor.I64, Shape: rows}, {Name: "Ticks", T: &j.Ticks, DType: tensor.I64, Shape: rows},
		{Name: "Keys", T: &j.Keys, DType: tensor.I64, Shape: []int{j.Batch, 2}}, {Name: "Anchors", T: &j.Anchors, DType: tensor.I64, Shape: rows},
	}
	for m := range j.Streams {
		s, name := &j.Streams[m], fmt.Sprintf("Streams[%d].", m)
		out = append(out, Output{Name: name + "Starts", T: &s.Starts, DType: tensor.I64, Shape: rows},
			Output{Name: name + "Lengths", T: &s.Lengths, DType: tensor.I64, Shape: rows})
	}
	return out
}

// Bound returns the job's tensors.
func (j *DrawJob) Bound() Bound {
	b := Bound{op: "Draw"}
	b.add("Cursor", j.Cursor)
	for _, o := range j.Outputs() {
		b.add(o.Name, *o.T)
	}
	b.outputs()
	b.add("Windows", j.Windows)
	b.add("Begins", j.Begins)
	for m, s := range j.Streams {
		b.add(fmt.Sprintf("Streams[%d].Offsets", m), s.Offsets)
	}
	return b
}

// Feistel returns the parts of an epoch's permutation that do not depend on the epoch. seed has the inner two mix steps
// of the round keys, and half is the number of bits in half a number. DrawOptions.Window in package ops gives the
// formulas.
func (j *DrawJob) Feistel() (seed Keys, half int) { return seedKeys(j.Seed), halfBits(j.positions()) }

// Length returns the number of positions in an epoch.
func (j *DrawJob) Length() int64 { return j.positions() }

// Step returns the number of positions in a batch for all ranks together.
func (j *DrawJob) Step() int64 { return j.step() }

// The classes of a Draw's faults, in the order in which they are reported. The position is an index into the cursor for
// FaultCursor, and an episode for the others; FaultOffsets also has the stream. These faults have no reason.
const (
	FaultCursor Fault = iota << 62
	FaultWindows
	FaultBegins
	FaultOffsets
)

// FaultError converts a fault into a *ValueError, or nil for NoFault.
func (j *DrawJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	e := &ValueError{Op: "Draw", Row: f.Position(), Kind: ErrRows}
	switch f.Class() {
	case FaultCursor:
		e.Arg, e.Row, e.Index, e.Kind = "Cursor", 0, e.Row, ErrCursor
	case FaultWindows:
		e.Arg = "Windows"
	case FaultBegins:
		e.Arg, e.Kind = "Begins", ErrTimeRange
	default:
		e.Arg = fmt.Sprintf("Streams[%d].Offsets", f.Stream())
	}
	return e
}
