package backend

import "github.com/robocache/robocache/tensor"

// What the tensors of a Tally hold of a column.
const (
	TallyDigits   = 1 << 11 // numbers of 11 bits
	TallyBins     = 1 << 9  // signs and exponents
	TallyWords    = 3       // sums of each
	TallyPrefixes = 16      // at most
)

// TallyTensors are the fields of ops.TallyArgs.
type TallyTensors struct {
	Counts   *tensor.Tensor
	Sums     *tensor.Tensor
	Src      *tensor.Tensor
	Prefixes *tensor.Tensor
}

// TallyJob is a validated Tally, as a backend gets it.
type TallyJob struct {
	TallyTensors
	Known   int // bits of the prefixes: 0, 11 or 22
	N, D, P int // rows, columns, and prefixes of a column; 1 without
}

// Shift is how many bits follow the digit that is counted, and Width how many it has.
func (j *TallyJob) Shift() int { return max(32-11-j.Known, 0) }

// Width is how many bits the digit has.
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
