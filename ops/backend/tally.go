package backend

import "github.com/robocache/robocache/tensor"

// Sizes of the tensors for a Tally, per column.
const (
	TallyDigits   = 1 << 11 // numbers with 11 bits
	TallyBins     = 1 << 9  // pairs of sign and exponent
	TallyWords    = 3       // sums in each bin
	TallyPrefixes = 16      // largest number of prefixes
)

// TallyTensors has the fields of ops.TallyArgs.
type TallyTensors struct {
	Counts   *tensor.Tensor
	Sums     *tensor.Tensor
	Src      *tensor.Tensor
	Prefixes *tensor.Tensor
}

// TallyJob is a validated Tally.
type TallyJob struct {
	TallyTensors
	Known   int // bits in the prefixes: 0, 11 or 22
	N, D, P int // rows, columns, and prefixes per column; P is 1 if Known is 0
}

// Shift returns the number of bits after the counted digit. Example: 21 in the first pass, because a value has 32 bits.
func (j *TallyJob) Shift() int { return max(32-11-j.Known, 0) }

// Width returns the number of bits in the counted digit: 11, or 10 in the last pass.
func (j *TallyJob) Width() int { return min(32-j.Known, 11) }

// Bound returns the job's tensors.
func (j *TallyJob) Bound() Bound {
	b := Bound{op: "Tally"}
	b.add("Counts", j.Counts)
	b.add("Sums", j.Sums)
	b.outputs()
	b.add("Src", j.Src)
	b.add("Prefixes", j.Prefixes)
	return b
}
