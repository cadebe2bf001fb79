package ops

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// What the tensors of a Tally hold of a column.
const (
	TallyDigits      = backend.TallyDigits   // 2048 numbers of 11 bits
	TallyBins        = backend.TallyBins     // 512 signs and exponents
	TallyWords       = backend.TallyWords    // 3 sums of each
	MaxTallyPrefixes = backend.TallyPrefixes // 16
)

// TallyArgs are the tensors of [Device.Tally].
type TallyArgs struct {
	// Counts [D,P,2048] i64, added to: how many of column d's values begin with its prefix p and go on with each number of 11 bits; behind 22 bits, of the
	// last 10. P is 1 where no bits are known.
	Counts *tensor.Tensor
	// Sums [D,512,3] i64, added to, where no bits are known: for each sign and exponent, the first 9 bits of a value, the sum of the mantissas, of the
	// 24 bits at the end of their squares, and of the 24 bits before those. A mantissa is of 24 bits, with the leading one that numbers of exponent 0 lack.
	Sums *tensor.Tensor
	// Src [N,D] f32, f16 or bf16: the values. Those of 16 bits count as the f32 that they are equal to.
	Src *tensor.Tensor
	// Prefixes [D,P] i64, P up to 16, where bits are known: a value counts for the first that it begins with. What is no number of so many bits is of no
	// value, and fills a row that others need.
	Prefixes *tensor.Tensor
}

// TallyOptions are the options of [Device.Tally].
type TallyOptions struct {
	// Known is how many bits the prefixes have: 0 in the first pass, 11 and 22 in those that follow.
	Known int
}

// Tally counts the values of each column by 11 of their bits and, in the first pass, sums them and their squares without rounding: a pass of the exact
// statistics of package stats. It adds to what is there: begin with zeros. It returns when it is done. Tensors may be on the host or on the device; those on
// the host are copied to the device and back where that is not the host. All it does is add whole numbers, so every backend gives the same bits. A NaN is
// counted by its bits as any value.
//
// Of up to 2^31-1 rows no sum overflows; several calls together may have 2^39.
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
		return nil // close returns it
	}
	plan, err := s.d.PlanTally(a, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}

// PlanTally binds Tally to tensors on the device ("host" tensors for the CPU): each run adds once more. The plan refers to the tensors: they stay open as
// long as it is run.
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
	c.added("Counts", a.Counts, inputs, j.D, j.P, TallyDigits)
	if o.Known != 0 {
		c.absent("Sums", a.Sums, "nil where bits are known")
	} else {
		c.added("Sums", a.Sums, append(inputs, a.Counts), j.D, TallyBins, TallyWords)
	}
	return j, c.err
}

// absent checks that an argument is not given.
func (c *checker) absent(arg string, t *tensor.Tensor, want string) {
	if c.err == nil && t != nil {
		c.set(arg, ErrOption, "a tensor", want)
	}
}

// added checks an output of i64 that is added to.
func (c *checker) added(arg string, t *tensor.Tensor, others []*tensor.Tensor, shape ...int) {
	if c.tensor(arg, t) {
		c.dtype(arg, t, tensor.I64)
		c.shape(arg, t, shape...)
		c.packed(arg, t)
		c.output(arg, t, others...)
	}
}

// packed checks that a tensor has no holes.
func (c *checker) packed(arg string, t *tensor.Tensor) {
	if c.err == nil && !t.IsContiguous() {
		c.set(arg, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous tensor")
	}
}
