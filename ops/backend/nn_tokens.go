package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// TokensJob converts a batch of windows into a network's input and targets, and begins a step: it adds 1 to word
// StateStep in State. It sets StateValid to the number of target values that count, which is D for each tick that
// counts.
//
// Column c of token t in row b of Input is (x - r - Shift[c]) * Scale[c], each operation rounded. x comes from the
// source with that column; at most one source has it. r is the reference: column Relative[c] at tick Reference.Tick in
// row b. It is 0 if Relative[c] is -1, or if the row's reference is not valid. Shift is subtracted first, because
// x*Scale + Shift would lose digits if a column has a small spread far from 0. If the source has no such token, or its
// tick does not count, the input is 0. Targets are computed in the same way. If a target's tick does not count, or the
// row's reference is not valid, the target is 0 with weight 0.
//
// If a value is used and is not finite, it is a fault, and the step's number goes to word StateBad. If there are
// several, the first is reported: sources in order, then the target, then the reference; within each by row, tick and
// column. Unused values are not checked.
type TokensJob struct {
	B, T      int
	Sources   []TokenSource  // at most MaxTokenSources
	Width     int            // columns in use; further columns in Input are 0
	Scale     *tensor.Tensor // [Width] F32
	Shift     *tensor.Tensor
	Relative  *tensor.Tensor // [Width] i32; nil means -1 everywhere
	Reference Reference
	Input     *tensor.Tensor // [B*T, width] Working, written

	Target         *TokenSource   // nil without targets; Token and Column are ignored
	TargetScale    *tensor.Tensor // [D] F32; it and the next two have one entry per target column
	TargetShift    *tensor.Tensor
	TargetRelative *tensor.Tensor
	Targets        *tensor.Tensor // [B*Ticks, D] F32, written
	Weights        *tensor.Tensor // [B*Ticks] F32, written: 1 if the target counts, else 0

	State *tensor.Tensor
}

// MaxTokenSources is the largest number of sources for Tokens.
const MaxTokenSources = 16

// TokenSource is one stream in a batch: Values [B,Ticks,D], Valid and Pad [B,Ticks] u8 or nil. A tick counts if it is
// valid and, with SkipPad, not padded.
type TokenSource struct {
	Values, Valid, Pad *tensor.Tensor // Values F32 or BF16, strided
	SkipPad            bool
	Ticks, D           int
	Token              int // the first tick's token; the others follow
	Column             int // the first column; D columns in total
}

// Reference locates the values that others are relative to. Example: the current joint positions, for relative actions.
type Reference struct {
	Values *tensor.Tensor // [B,Ticks,D] F32 or BF16; nil without a reference
	Valid  *tensor.Tensor // [B,Ticks] u8, or nil
	Tick   int
}

// The fault classes for Tokens. For FaultToken the stream is the source's number. The position is
// (row*Ticks+tick)*D+column.
const (
	FaultToken Fault = iota << 62
	FaultTarget
	FaultReference
)

// FaultError converts a fault into a *ValueError, or nil for NoFault.
func (j *TokensJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	e := &ValueError{Op: "Tokens", Kind: ErrValue}
	var ticks, d int
	switch f.Class() {
	case FaultToken:
		s := &j.Sources[f.Stream()]
		e.Arg, ticks, d = fmt.Sprintf("Sources[%d].Values", f.Stream()), s.Ticks, s.D
	case FaultTarget:
		e.Arg, ticks, d = "Target.Values", j.Target.Ticks, j.Target.D
	default:
		e.Arg, ticks, d = "Reference.Values", j.Reference.Values.Dim(1), j.Reference.Values.Dim(2)
	}
	at := f.Position()
	e.Row, e.Index, e.Column = at/(ticks*d), at/d%ticks, at%d
	return e
}
