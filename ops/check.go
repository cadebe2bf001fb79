package ops

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// checker validates arguments and keeps the first error. Its methods do nothing once there is one.
type checker struct {
	op     string
	device string            // where tensors must be: "host", or a device's name
	mixed  bool              // host tensors are accepted too
	prefix string            // stands before the argument's name: "Streams[2]."
	names  map[string]string // argument names that differ from the names used in the checks
	err    error
}

func (c *checker) fail(arg string, kind error, got, want string) error {
	c.set(arg, kind, got, want)
	return c.err
}

func (c *checker) set(arg string, kind error, got, want string) {
	if c.err == nil {
		c.err = &ArgError{Op: c.op, Arg: c.prefix + c.name(arg), Kind: kind, Got: got, Want: want}
	}
}

// name returns the name of an argument in error messages.
func (c *checker) name(arg string) string {
	if name, ok := c.names[arg]; ok {
		return name
	}
	return arg
}

// tensor sets an error if t is nil, closed, or on the wrong device. It returns true if there is no error so far.
func (c *checker) tensor(arg string, t *tensor.Tensor) bool {
	switch {
	case c.err != nil:
		return false
	case t == nil:
		c.set(arg, ErrMissing, "nil", "a tensor")
	case t.Closed():
		c.set(arg, ErrClosed, "a closed tensor", "an open one")
	case t.Device() != c.device && !(c.mixed && t.OnHost()):
		c.set(arg, ErrWrongDevice, t.Device(), c.device)
	}
	return c.err == nil
}

// copies sets an error unless a copy from src to dst is possible: both exist, they have the same dtype and shape, and dst is
// contiguous.
func (c *checker) copies(dst, src *tensor.Tensor) {
	c.tensor("dst", dst)
	c.tensor("src", src)
	if c.err != nil {
		return
	}
	switch {
	case dst.DType() != src.DType():
		c.set("src", ErrDType, src.DType().String(), dst.DType().String()+", dst's")
	case !sameShape(dst, src):
		c.set("src", ErrShape, tensor.FormatShape(src.Shape()), tensor.FormatShape(dst.Shape())+", dst's")
	case !dst.IsContiguous():
		c.set("dst", ErrStride, tensor.FormatShape(dst.Strides()), "a contiguous tensor")
	}
}

// sameShape reports whether two tensors have the same dtype and shape, or both are nil.
func sameShape(a, b *tensor.Tensor) bool {
	if a == nil || b == nil {
		return a == b
	}
	same := a.DType() == b.DType() && a.Rank() == b.Rank()
	for i := 0; same && i < a.Rank(); i++ {
		same = a.Dim(i) == b.Dim(i)
	}
	return same
}

func (c *checker) dtype(arg string, t *tensor.Tensor, want ...tensor.DType) {
	if c.err == nil && !slices.Contains(want, t.DType()) {
		c.set(arg, ErrDType, t.DType().String(), "one of "+fmt.Sprint(want))
	}
}

func (c *checker) shape(arg string, t *tensor.Tensor, want ...int) {
	if c.err == nil && !slices.Equal(t.Shape(), want) {
		c.set(arg, ErrShape, tensor.FormatShape(t.Shape()), tensor.FormatShape(want))
	}
}

// lastContiguous sets an error unless neighbours along the last dimension are adjacent in memory.
func (c *checker) lastContiguous(arg string, t *tensor.Tensor) {
	if i := t.Rank() - 1; c.err == nil && i >= 0 && t.Dim(i) > 1 && t.Stride(i) != 1 {
		c.set(arg, ErrStride, fmt.Sprintf("stride %d in the last dimension", t.Stride(i)), "1")
	}
}

// output sets an error if two indices of t share an element, or if t shares memory with one of the other tensors, which may include
// nil.
func (c *checker) output(arg string, t *tensor.Tensor, others ...*tensor.Tensor) {
	if c.err != nil || t.Len() == 0 {
		return
	}
	var dims []int
	for i := range t.Rank() {
		if t.Dim(i) > 1 {
			dims = append(dims, i)
		}
	}
	slices.SortFunc(dims, func(a, b int) int { return t.Stride(a) - t.Stride(b) })
	extent := 1
	for _, i := range dims {
		if t.Stride(i) < extent {
			c.set(arg, ErrOverlap, "strides "+tensor.FormatShape(t.Strides())+" for shape "+tensor.FormatShape(t.Shape()), "no two indices on one element")
			return
		}
		extent += (t.Dim(i) - 1) * t.Stride(i)
	}
	for _, o := range others {
		if o != nil && tensor.Overlap(t, o) {
			c.set(arg, ErrOverlap, "another argument's memory", "its own memory")
		}
	}
}

// packed sets an error unless a tensor is contiguous.
func (c *checker) packed(arg string, t *tensor.Tensor) {
	if c.err == nil && !t.IsContiguous() {
		c.set(arg, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous tensor")
	}
}

// perRow checks the shape of a contiguous tensor with one entry for all rows, or with one for each of b rows. It returns the number of
// elements from a row's entry to the next.
func (c *checker) perRow(arg string, t *tensor.Tensor, b int, shape ...int) (step int) {
	if t.Rank() > len(shape) {
		step = 1
		for _, n := range shape {
			step *= n
		}
		shape = append([]int{b}, shape...)
	}
	c.shape(arg, t, shape...)
	c.packed(arg, t)
	return step
}

// result checks a contiguous output: its dtype, its shape, and its memory, which it may share with no other tensor. It adds the output to
// the others.
func (c *checker) result(arg string, t *tensor.Tensor, dtype tensor.DType, others *[]*tensor.Tensor, shape ...int) {
	if c.tensor(arg, t) {
		c.dtype(arg, t, dtype)
		c.shape(arg, t, shape...)
		c.packed(arg, t)
		c.output(arg, t, *others...)
		*others = append(*others, t)
	}
}

// length returns the first dimension of a tensor with two, or 0 after an error. name stands for it in the error.
func (c *checker) length(arg string, t *tensor.Tensor, name string) int {
	if !c.tensor(arg, t) {
		return 0
	}
	if t.Rank() != 2 {
		c.set(arg, ErrShape, tensor.FormatShape(t.Shape()), "["+name+",3]")
		return 0
	}
	return t.Dim(0)
}

// absent sets an error if an argument is not nil.
func (c *checker) absent(arg string, t *tensor.Tensor, want string) {
	if c.err == nil && t != nil {
		c.set(arg, ErrOption, "a tensor", want)
	}
}

func (c *checker) limit(arg string, n int) {
	if c.err == nil && n > backend.MaxRow {
		c.set(arg, ErrTooLarge, fmt.Sprint(n), fmt.Sprintf("at most %d a row", backend.MaxRow))
	}
}

// covered sets an error if offsets define no rows, but the packed dimension has n elements.
func (c *checker) covered(arg string, rows, n int, what string) {
	if c.err == nil && rows == 0 && n > 0 {
		c.set(arg, ErrShape, fmt.Sprintf("no rows for %d %s", n, what), "[B+1], B at least 1")
	}
}

// checkLaunch sets an error if the launch mode is invalid.
func checkLaunch(c *checker, m LaunchMode) {
	if !m.Valid() {
		c.set("Options.Launch", ErrOption, m.String(), fmt.Sprintf("one of %v", m.Names()))
	}
}

// checkLimit sets an error if a limit is negative.
func checkLimit(c *checker, l Limit, arg string) {
	if d, given := l.Get(); given && d < 0 {
		c.set(arg, ErrOption, d.String(), "0 or more")
	}
}
