package nn

import (
	"fmt"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// check returns an *Error if the model, the shape or the options cannot make a step, and fills in defaults.
func (s *Step) check() error {
	o, net := &s.opts, s.model.net
	fail := func(arg string, kind error, got any, want string) error {
		return &Error{Op: "NewStep", Arg: arg, Kind: kind, Got: fmt.Sprint(got), Want: want}
	}
	end := net.values[len(net.values)-1]
	if o.Chunk == 0 {
		o.Chunk = 1
	}
	if o.Ring == 0 {
		o.Ring = 1024
	}
	switch {
	case s.model.params.Closed():
		return fail("m", ops.ErrClosed, "a model after Close", "an open one")
	case s.b < 1 || s.t < 1 || s.b > maxElements/s.t:
		return fail("batch", ops.ErrShape, fmt.Sprintf("%d rows of %d tokens", s.b, s.t), "1 or more, and no more than 2^31-1 tokens")
	case s.b*s.t > maxElements/net.widest():
		return fail("batch", ops.ErrTooLarge, fmt.Sprintf("%d rows of %d tokens of up to %d columns", s.b, s.t, net.widest()), "at most 2^31-1 elements")
	case o.Loss > CrossEntropy:
		return fail("Loss", ops.ErrOption, o.Loss, "MSE, L1 or CrossEntropy")
	case o.Predict && o.Train != nil:
		return fail("Predict", ops.ErrOption, "Train too", "one of them")
	case o.Chunk < 1 || end.width%o.Chunk != 0 || o.Loss == CrossEntropy && o.Chunk > 1:
		return fail("Chunk", ops.ErrOption, fmt.Sprintf("%d for a prediction of %d columns", o.Chunk, end.width), "a number that divides them; 1 for CrossEntropy")
	case o.Ring < 1 || o.Ring > maxSteps:
		return fail("Ring", ops.ErrOption, o.Ring, fmt.Sprintf("1 to %d", maxSteps))
	case net.ids > 0 && o.IDs == nil:
		return fail("IDs", ops.ErrMissing, "nil", "those of the Embedding")
	case net.memory != nil && o.Pad != nil:
		return fail("Pad", ops.ErrOption, o.Pad, "nil, as there is a Memory")
	case net.tokens >= s.t:
		return fail("batch", ops.ErrShape, fmt.Sprintf("%d tokens", s.t), fmt.Sprintf("more than %d, as Memory has", net.tokens))
	case net.ids == 0 && o.IDs != nil:
		return fail("IDs", ops.ErrOption, o.IDs, "nil, as there is no Embedding")
	}
	if err := s.denoises(); err != nil {
		return err
	}
	for _, v := range net.values {
		if v.flat > 0 && v.flat != s.t {
			return fail("batch", ops.ErrShape, fmt.Sprintf("%d tokens", s.t), fmt.Sprintf("%d, as Flatten has", v.flat))
		}
		if p, ok := v.from.(*product); ok && p.position != nil && p.position.rows < s.perRow(v) {
			return fail("batch", ops.ErrShape, fmt.Sprintf("%d tokens", s.perRow(v)), fmt.Sprintf("at most %d, as %s has rows", p.position.rows, p.position.name))
		}
	}
	if err := s.takes("IDs", o.IDs, tensor.I32, s.b); err != nil {
		return err
	}
	if err := s.takes("Pad", o.Pad, tensor.U8, s.b, s.t); err != nil {
		return err
	}
	if j := o.Tokens; j != nil {
		if err := s.tokens(j); err != nil {
			return err
		}
	}
	if o.Train != nil {
		train := *o.Train
		o.Train = &train
		return train.check()
	}
	return nil
}

// takes returns an *Error unless a tensor is nil, or contiguous on the device with the given dtype and shape.
func (s *Step) takes(arg string, t *tensor.Tensor, dtype tensor.DType, shape ...int) error {
	if t == nil {
		return nil
	}
	e := &Error{Op: "NewStep", Arg: arg, Got: t.String(), Want: fmt.Sprintf("%v %s", dtype, tensor.FormatShape(shape))}
	switch {
	case t.DType() != dtype:
		e.Kind = ops.ErrDType
	case tensor.FormatShape(t.Shape()) != tensor.FormatShape(shape):
		e.Kind = ops.ErrShape
	case !t.IsContiguous():
		e.Kind, e.Want = ops.ErrStride, "a contiguous tensor"
	case t.Device() != s.model.params.Device():
		e.Kind, e.Want = ops.ErrWrongDevice, "a tensor on "+s.model.params.Device()
	default:
		return nil
	}
	return e
}

// tokens checks the caller's fields of the job that makes the input.
func (s *Step) tokens(j *backend.TokensJob) error {
	fail := func(arg string, kind error, got any, want string) error {
		return &Error{Op: "NewStep", Arg: "Tokens." + arg, Kind: kind, Got: fmt.Sprint(got), Want: want}
	}
	in := s.model.net.values[0].width
	if j.Width != in {
		return fail("Width", ops.ErrShape, j.Width, fmt.Sprintf("%d, as Config.In", in))
	}
	if n := len(j.Sources); n > backend.MaxTokenSources {
		return fail("Sources", ops.ErrOption, n, fmt.Sprintf("at most %d", backend.MaxTokenSources))
	}
	source := func(arg string, from *backend.TokenSource, tokens, columns int) error {
		switch {
		case from.Values == nil:
			return fail(arg+".Values", ops.ErrMissing, "nil", "a tensor")
		case from.Values.Rank() != 3 || from.Values.Dim(0) != s.b || from.Values.Dim(1) < from.Ticks || from.Values.Dim(2) != from.D:
			return fail(arg+".Values", ops.ErrShape, from.Values, fmt.Sprintf("[%d,%d,%d]", s.b, from.Ticks, from.D))
		case from.Values.DType() != tensor.F32 && from.Values.DType() != tensor.BF16:
			return fail(arg+".Values", ops.ErrDType, from.Values.DType(), "f32 or bf16")
		case from.Values.Device() != s.model.params.Device():
			return fail(arg+".Values", ops.ErrWrongDevice, from.Values.Device(), "a tensor on "+s.model.params.Device())
		case from.Ticks < 1 || from.Token < 0 || from.Token+from.Ticks > tokens:
			return fail(arg+".Ticks", ops.ErrShape, fmt.Sprintf("%d from token %d on", from.Ticks, from.Token), fmt.Sprintf("within %d tokens", tokens))
		case from.D < 1 || from.Column < 0 || from.Column+from.D > columns:
			return fail(arg+".Column", ops.ErrShape, fmt.Sprintf("%d from column %d on", from.D, from.Column), fmt.Sprintf("within %d columns", columns))
		}
		for _, flags := range []*tensor.Tensor{from.Valid, from.Pad} {
			if flags != nil && (flags.DType() != tensor.U8 || flags.Rank() != 2 || flags.Dim(0) != s.b || flags.Dim(1) < from.Ticks) {
				return fail(arg, ops.ErrShape, flags, fmt.Sprintf("u8 [%d,%d]", s.b, from.Ticks))
			}
		}
		return nil
	}
	for i := range j.Sources {
		if err := source(fmt.Sprintf("Sources[%d]", i), &j.Sources[i], s.t, in); err != nil {
			return err
		}
	}
	if r := j.Reference; r.Values != nil {
		of := backend.TokenSource{Values: r.Values, Valid: r.Valid, Ticks: r.Tick + 1}
		if r.Values.Rank() == 3 {
			of.D = r.Values.Dim(2)
		}
		if err := source("Reference", &of, r.Tick+1, of.D); err != nil {
			return err
		}
	}
	if err := s.affine("", j.Scale, j.Shift, j.Relative, in); err != nil {
		return err
	}
	_, ticks, d := s.targets()
	if s.opts.Denoise != nil {
		ticks = s.opts.Denoise.Chunk
	}
	switch {
	case s.opts.Predict || s.opts.Loss == CrossEntropy:
		if j.Target != nil {
			return fail("Target", ops.ErrOption, "a target", "nil, as the step's loss does not use one")
		}
		return nil
	case j.Target == nil:
		return fail("Target", ops.ErrMissing, "nil", "the reference for the prediction")
	case j.Target.Ticks != ticks || j.Target.D != d:
		return fail("Target", ops.ErrShape, fmt.Sprintf("%d ticks of %d columns", j.Target.Ticks, j.Target.D), fmt.Sprintf("%d of %d", ticks, d))
	default:
		if err := source("Target", j.Target, ticks, d); err != nil {
			return err
		}
		return s.affine("Target", j.TargetScale, j.TargetShift, j.TargetRelative, d)
	}
}

func (s *Step) affine(of string, scale, shift, relative *tensor.Tensor, n int) error {
	for _, c := range []struct {
		arg   string
		t     *tensor.Tensor
		dtype tensor.DType
	}{{"Scale", scale, tensor.F32}, {"Shift", shift, tensor.F32}, {"Relative", relative, tensor.I32}} {
		if c.t == nil && c.dtype == tensor.F32 {
			return &Error{Op: "NewStep", Arg: "Tokens." + of + c.arg, Kind: ops.ErrMissing, Got: "nil", Want: "a value for each column"}
		}
		if err := s.takes("Tokens."+of+c.arg, c.t, c.dtype, n); err != nil {
			return err
		}
	}
	return nil
}

// targets returns the number of rows in the prediction, and the shape of the targets for a batch row: ticks and columns.
func (s *Step) targets() (rows, ticks, d int) {
	end := s.model.net.values[len(s.model.net.values)-1]
	per := s.perRow(end)
	return s.b * per, per * s.opts.Chunk, end.width / s.opts.Chunk
}

// widest returns the width of the widest matrix in a batch.
func (n *network) widest() int {
	w := 16
	for _, v := range n.values {
		if v.flat == 0 { // otherwise the tokens are side by side in its rows
			w = max(w, pad(v.width))
		}
	}
	return w
}
