package ops

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Sizes of the tensors for a Tally, per column.
const (
	TallyDigits      = backend.TallyDigits   // counts per prefix, one for each 11-bit number
	TallyBins        = backend.TallyBins     // bins, one for each sign and exponent
	TallyWords       = backend.TallyWords    // sums in each bin
	MaxTallyPrefixes = backend.TallyPrefixes // the most prefixes in one pass
)

// TallyArgs has the tensors for [Device.Tally]. P is the number of prefixes.
type TallyArgs struct {
	// Counts [D,P,2048] i64 is added to. Counts[d,p,k] is the number of values in column d that begin with prefix p and
	// continue with the 11-bit number k. After 22 known bits, k is a 10-bit number. P is 1 if Known is 0.
	Counts *tensor.Tensor
	// Sums [D,512,3] i64 is added to if Known is 0, else it is nil. The bin is the sign and exponent, which are the
	// first 9 bits of a value. Its three sums add the mantissas, the low 24 bits of the squared mantissas, and the high
	// 24 bits of them. A mantissa has 24 bits, with the leading 1 that float32 does not store; if the exponent is 0,
	// there is no leading 1.
	Sums *tensor.Tensor
	// Src [N,D] has the values: f32, f16 or bf16. 16-bit values count as the f32 with the same value.
	Src *tensor.Tensor
	// Prefixes [D,P] i64, P from 1 to 16, is nil if Known is 0. A value counts for the first prefix that it begins
	// with. A column with fewer prefixes fills its row with a number that is no prefix, for example -1, which matches
	// no value.
	Prefixes *tensor.Tensor
}

// TallyOptions are the options of [Device.Tally].
type TallyOptions struct {
	// Known is the number of bits in the prefixes: 0 in the first pass, then 11, then 22. Example: to find an exact
	// median, package stats makes three passes, and each finds the next bits of its value.
	Known int
}

// Tally is one pass of the exact statistics in package stats. It counts the values in each column by 11 bits. In the
// first pass it also sums the values and their squares without rounding. It adds to the contents of Counts and Sums, so
// begin with zeros, and returns when it is done. Tensors may be on the host or on the device; host tensors are copied
// to a GPU and back. Tally adds only integers, so every backend gives the same bits. A NaN is counted by its bits like
// any value.
//
// One call takes up to 2^31-1 rows. No sum overflows if all calls together have at most 2^39 rows.
func (d *Device) Tally(ctx context.Context, args TallyArgs, opts TallyOptions) error {
	if err := d.begin(ctx, "Tally"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	return s.end(s.tally(args, opts), nil, nil)
}

func (s *staging) tally(a TallyArgs, o TallyOptions) error {
	if _, err := newTallyJob(&checker{op: "Tally", device: s.d.home(), mixed: true}, a, o); err != nil {
		return err
	}
	a = TallyArgs{Counts: s.keep(a.Counts), Sums: s.keep(a.Sums), Src: s.in(a.Src), Prefixes: s.in(a.Prefixes)}
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanTally(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanTally binds Tally to tensors on the device ("host" tensors for the CPU). Each run adds to Counts and Sums again.
// The plan keeps references to the tensors, so they must stay open as long as it is run.
func (d *Device) PlanTally(args TallyArgs, opts TallyOptions) (*Plan, error) {
	return bound(d, &checker{op: "Tally"}, func(c *checker) (*backend.TallyJob, error) { return newTallyJob(c, args, opts) }, backend.Tallier.Tally)
}

// newTallyJob validates the arguments against tensors on the given device.
func newTallyJob(c *checker, a TallyArgs, o TallyOptions) (*backend.TallyJob, error) {
	j := &backend.TallyJob{TallyTensors: backend.TallyTensors(a), Known: o.Known, P: 1}
	if o.Known != 0 && o.Known != 11 && o.Known != 22 {
		c.set("Options.Known", ErrOption, fmt.Sprint(o.Known), "0, 11 or 22 bits")
	}
	if c.tensor("Src", a.Src) {
		c.dtype("Src", a.Src, tensor.F32, tensor.F16, tensor.BF16)
		if c.err == nil && a.Src.Rank() != 2 {
			c.set("Src", ErrShape, tensor.FormatShape(a.Src.Shape()), "[N,D]")
		}
		c.lastContiguous("Src", a.Src)
	}
	if c.err != nil {
		return nil, c.err
	}
	j.N, j.D = a.Src.Dim(0), a.Src.Dim(1)
	c.limit("Src", max(j.N, j.D))
	inputs := []*tensor.Tensor{a.Src}
	if o.Known == 0 {
		c.absent("Prefixes", a.Prefixes, "nil where no bits are known")
	} else if c.tensor("Prefixes", a.Prefixes) {
		c.dtype("Prefixes", a.Prefixes, tensor.I64)
		if c.err == nil && (a.Prefixes.Rank() != 2 || a.Prefixes.Dim(0) != j.D || a.Prefixes.Dim(1) < 1 || a.Prefixes.Dim(1) > MaxTallyPrefixes) {
			c.set("Prefixes", ErrShape, tensor.FormatShape(a.Prefixes.Shape()), fmt.Sprintf("[%d,P], P from 1 to %d", j.D, MaxTallyPrefixes))
		}
		c.packed("Prefixes", a.Prefixes)
		inputs = append(inputs, a.Prefixes)
		if c.err == nil {
			j.P = a.Prefixes.Dim(1)
		}
	}
	c.result("Counts", a.Counts, tensor.I64, &inputs, j.D, j.P, TallyDigits)
	if o.Known != 0 {
		c.absent("Sums", a.Sums, "nil where bits are known")
	} else {
		c.result("Sums", a.Sums, tensor.I64, &inputs, j.D, TallyBins, TallyWords)
	}
	return j, c.err
}
