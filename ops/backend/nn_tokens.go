package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// TokensJob makes a network's input and its targets of a batch of windows, and begins a step: it adds 1 to word StateStep of State, and sets StateValid to
// how many target values count, D of each tick that does.
//
// Input column c of token t of row b is (x - r - Shift[c]) * Scale[c], each operation rounded, where x is that of the source which has the column: one at most
// has it. r is the reference: column Relative[c] of the tick Reference.Tick of row b, or 0 where Relative[c] is -1, and in rows whose reference is not valid.
// Shift is subtracted first, because x*Scale + Shift loses the digits of a column of small spread far from 0.
// Where the source has no such token, or its tick does not count, the input is 0.
// Targets are made likewise; those of ticks that do not count, and of rows whose reference is not valid, are 0 with weight 0.
//
// A value that is used and is not finite is a fault; the step's number goes to word StateBad. Of several the one reported is the first: sources in order
// before the target before the reference, then by row, tick and column. Values that are not used are not looked at.
type TokensJob struct {
	B, T      int
	Sources   []TokenSource  // MaxTokenSources at most
	Width     int            // columns in use; those up to Input's width are 0
	Scale     *tensor.Tensor // [Width] F32
	Shift     *tensor.Tensor
	Relative  *tensor.Tensor // [Width] i32; nil is -1 everywhere
	Reference Reference
	Input     *tensor.Tensor // [B*T, width] Working, written

	Target         *TokenSource   // nil without targets; Token and Column are not looked at
	TargetScale    *tensor.Tensor // [D] F32, and so on, D columns of a tick
	TargetShift    *tensor.Tensor
	TargetRelative *tensor.Tensor
	Targets        *tensor.Tensor // [B*Ticks, D] F32, written
	Weights        *tensor.Tensor // [B*Ticks] F32, written: 1 where the target counts, else 0

	State *tensor.Tensor
}

// MaxTokenSources is how many sources Tokens takes.
const MaxTokenSources = 16

// TokenSource is a stream of a batch: Values [B,Ticks,D], Valid and Pad [B,Ticks] u8 or nil; a tick counts where it is valid, and is not padded if SkipPad.
type TokenSource struct {
	Values, Valid, Pad *tensor.Tensor // Values F32 or BF16, strided
	SkipPad            bool
	Ticks, D           int
	Token              int // of the first tick; the others follow
	Column             int // of the first of the D columns
}

// Reference is where the values lie that others are relative to.
type Reference struct {
	Values *tensor.Tensor // [B,Ticks,D] F32 or BF16; nil without a reference
	Valid  *tensor.Tensor // [B,Ticks] u8, or nil
	Tick   int
}

// The classes of the faults of Tokens. Of FaultToken the stream is the source; a position is (row*Ticks+tick)*D+column.
const (
	FaultToken Fault = iota << 62
	FaultTarget
	FaultReference
)

// FaultError unpacks a fault of the job.
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
