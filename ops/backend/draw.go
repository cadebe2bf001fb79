package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// DrawTensors are the fields of ops.DrawArgs.
type DrawTensors struct {
	Episodes *tensor.Tensor
	Ticks    *tensor.Tensor
	Anchors  *tensor.Tensor
	Cursor   *tensor.Tensor

	Streams []DrawStream

	Windows *tensor.Tensor
	Begins  *tensor.Tensor
}

// DrawStream is a stream of the store: where the samples of the drawn episodes lie in its packed values. An episode that is drawn may
// have none.
type DrawStream struct {
	Starts  *tensor.Tensor // [B], written: the first sample, Offsets[e]; 0 where there is no window
	Lengths *tensor.Tensor // [B], written: the number of samples, Offsets[e+1]-Offsets[e]; 0 where there is no window
	Offsets *tensor.Tensor // [E+1]
}

// DrawJob is a validated Draw, as a backend gets it.
type DrawJob struct {
	DrawTensors
	DrawOrder   // Ranks is at least 1
	Rate        float64
	E           int // episodes
	TrustTables bool
	Launch      LaunchMode
}

// Outputs lists what is written; the first two are optional.
func (j *DrawJob) Outputs() []Output {
	out := []Output{{Name: "Episodes", T: &j.Episodes, DType: tensor.I64, Shape: []int{j.Batch}}, {Name: "Ticks", T: &j.Ticks, DType: tensor.I64, Shape: []int{j.Batch}}, {Name: "Anchors", T: &j.Anchors, DType: tensor.I64, Shape: []int{j.Batch}}}
	for m := range j.Streams {
		s, name := &j.Streams[m], fmt.Sprintf("Streams[%d].", m)
		out = append(out, Output{Name: name + "Starts", T: &s.Starts, DType: tensor.I64, Shape: []int{j.Batch}}, Output{Name: name + "Lengths", T: &s.Lengths, DType: tensor.I64, Shape: []int{j.Batch}})
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

// Feistel is what a backend needs of the permutation of an epoch's positions: the part of the rounds' keys that all epochs have, which are the inner
// two steps of each, and the bits of half a number. DrawOptions.Window of package ops has the rest.
func (j *DrawJob) Feistel() (seed Keys, half int) { return seedKeys(j.Seed), halfBits(j.positions()) }

// Length is how many positions an epoch has.
func (j *DrawJob) Length() int64 { return j.positions() }

// Step is how many positions a batch of all ranks takes.
func (j *DrawJob) Step() int64 { return j.step() }

// The classes of a Draw's faults, in the order in which they are reported. A position is a word of the cursor, or an episode; FaultOffsets
// has the stream besides. They have no reasons.
const (
	FaultCursor Fault = iota << 62
	FaultWindows
	FaultBegins
	FaultOffsets
)

// FaultError unpacks a fault of the job.
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
