package tensor

import (
	"fmt"
	"slices"
)

// AsStrided returns a view with the given shape and strides (elements, not negative), beginning offset elements after
// t's first. It fails if the view would leave the memory.
func (t *Tensor) AsStrided(shape, strides []int, offset int) (*Tensor, error) {
	if t.Closed() {
		return nil, &Error{Op: "AsStrided", Kind: ErrClosed}
	}
	if _, err := elements("AsStrided", shape); err != nil {
		return nil, err
	}
	n, err := reach("AsStrided", shape, strides)
	if err != nil {
		return nil, err
	}
	if offset < 0 || t.offset+offset < 0 || n > t.mem.n-t.offset-offset {
		return nil, &Error{Op: "AsStrided", Kind: ErrStride, Got: fmt.Sprintf("offset %d and %d elements", offset, n), Want: fmt.Sprintf("within %d elements", t.mem.n-t.offset)}
	}
	return &Tensor{dtype: t.dtype, shape: slices.Clone(shape), strides: slices.Clone(strides), offset: t.offset + offset, mem: t.mem}, nil
}

// Slice returns a view of the indices lo to hi-1 of dimension dim.
func (t *Tensor) Slice(dim, lo, hi int) (*Tensor, error) {
	if dim < 0 || dim >= len(t.shape) {
		return nil, &Error{Op: "Slice", Kind: ErrShape, Got: fmt.Sprintf("dimension %d", dim), Want: fmt.Sprintf("0 to %d", len(t.shape)-1)}
	}
	if lo < 0 || hi < lo || hi > t.shape[dim] {
		return nil, &Error{Op: "Slice", Kind: ErrShape, Got: fmt.Sprintf("%d:%d", lo, hi), Want: fmt.Sprintf("within 0:%d", t.shape[dim])}
	}
	shape, offset := t.Shape(), 0
	shape[dim] = hi - lo
	if !slices.Contains(shape, 0) { // nothing is nowhere
		offset = lo * t.strides[dim]
	}
	return t.AsStrided(shape, t.strides, offset)
}

// Expand returns a view in which dimensions of length 1 are repeated to the given shape, with stride 0. Missing leading
// dimensions count as length 1.
func (t *Tensor) Expand(shape ...int) (*Tensor, error) {
	lead := len(shape) - len(t.shape)
	ok := lead >= 0
	strides := make([]int, len(shape))
	for i := max(lead, 0); ok && i < len(shape); i++ {
		switch d := t.shape[i-lead]; {
		case d == shape[i]:
			strides[i] = t.strides[i-lead]
		case d != 1:
			ok = false
		}
	}
	if !ok {
		return nil, &Error{Op: "Expand", Kind: ErrShape, Got: FormatShape(shape), Want: FormatShape(t.shape) + " with leading dimensions, and those of length 1, repeated"}
	}
	return t.AsStrided(shape, strides, 0)
}

// Reshape returns a view of a contiguous tensor with another shape of as many elements.
func (t *Tensor) Reshape(shape ...int) (*Tensor, error) {
	n, err := elements("Reshape", shape)
	if err != nil {
		return nil, err
	}
	if n != t.Len() {
		return nil, &Error{Op: "Reshape", Kind: ErrShape, Got: FormatShape(shape), Want: fmt.Sprintf("%d elements, as in %s", t.Len(), FormatShape(t.shape))}
	}
	if !t.IsContiguous() {
		return nil, &Error{Op: "Reshape", Kind: ErrStride, Got: FormatShape(t.strides), Want: "a contiguous tensor"}
	}
	strides := make([]int, len(shape))
	rowMajor(strides, shape)
	return t.AsStrided(shape, strides, 0)
}

// Elements returns the host memory from t's first element to the last that it touches, without copying. A strided
// tensor's other elements are among them: index with Stride. The element type must be the dtype's.
func Elements[T Element](t *Tensor) ([]T, error) {
	if want := DTypeOf[T](); t.dtype != want {
		return nil, &Error{Op: "Elements", Kind: ErrDType, Got: t.dtype.String(), Want: want.String()}
	}
	if !t.OnHost() {
		return nil, &Error{Op: "Elements", Kind: ErrWrongDevice, Got: t.Device(), Want: "host"}
	}
	if t.Closed() {
		return nil, &Error{Op: "Elements", Kind: ErrClosed}
	}
	data := *t.mem.host.(*[]T)
	n, err := reach("Elements", t.shape, t.strides)
	if err != nil {
		return nil, err
	}
	if c, ok := t.mem.owner.(Checker); ok && n > 0 {
		if err := c.Check(t.offset, t.offset+n); err != nil {
			return nil, err
		}
	}
	return data[t.offset : t.offset+n : t.offset+n], nil
}

// Data returns the elements of a contiguous host tensor in row-major order, without copying.
func Data[T Element](t *Tensor) ([]T, error) {
	if !t.IsContiguous() {
		return nil, &Error{Op: "Data", Kind: ErrStride, Got: FormatShape(t.strides), Want: "a contiguous tensor (Contiguous makes one)"}
	}
	return Elements[T](t)
}

// Contiguous returns t itself if it is contiguous, else a contiguous host copy of it. A device tensor that is not
// contiguous is an error, and so is a copy that is larger than what is Available.
func (t *Tensor) Contiguous() (*Tensor, error) {
	if t.IsContiguous() {
		return t, nil
	}
	return t.gather("Contiguous", -1, nil)
}

// Take returns a new host tensor of the indices at of dimension dim of a host tensor, in their order; one may be there more than once.
func (t *Tensor) Take(dim int, at []int) (*Tensor, error) {
	if dim < 0 || dim >= len(t.shape) {
		return nil, &Error{Op: "Take", Kind: ErrShape, Got: fmt.Sprintf("dimension %d", dim), Want: fmt.Sprintf("0 to %d", len(t.shape)-1)}
	}
	for _, i := range at {
		if i < 0 || i >= t.shape[dim] {
			return nil, &Error{Op: "Take", Kind: ErrShape, Got: fmt.Sprintf("index %d", i), Want: fmt.Sprintf("0 to %d", t.shape[dim]-1)}
		}
	}
	return t.gather("Take", dim, at)
}

// gather copies a host tensor of rank 1 or more: of dimension dim, if it is one, the indices at.
func (t *Tensor) gather(op string, dim int, at []int) (*Tensor, error) {
	switch t.dtype {
	case F32:
		return gather[float32](t, op, dim, at)
	case F64:
		return gather[float64](t, op, dim, at)
	case F16:
		return gather[Float16](t, op, dim, at)
	case BF16:
		return gather[BFloat16](t, op, dim, at)
	case I32:
		return gather[int32](t, op, dim, at)
	case I64:
		return gather[int64](t, op, dim, at)
	}
	return gather[uint8](t, op, dim, at)
}

func gather[T Element](t *Tensor, op string, dim int, at []int) (*Tensor, error) {
	src, err := Elements[T](t)
	if err != nil {
		return nil, err
	}
	shape := t.Shape()
	if dim >= 0 {
		shape[dim] = len(at)
	}
	n, err := elements(op, shape)
	if err != nil {
		return nil, err
	}
	out, err := zeros[T](op, n, shape)
	if err != nil {
		return nil, err
	}
	out = out[:0]
	last := len(shape) - 1
	index := make([]int, last)
	for len(out) < n {
		base := 0
		for i, x := range index {
			if i == dim {
				x = at[x]
			}
			base += x * t.strides[i]
		}
		for x := range shape[last] {
			if last == dim {
				x = at[x]
			}
			out = append(out, src[base+x*t.strides[last]])
		}
		for i := last - 1; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return Of(out, shape...)
}

// Overlap reports whether two tensors of one allocation may share an element: whether the ranges from their first to their
// last element meet. Two tensors over the same Go slice, each made by Of, are not seen as one allocation.
func Overlap(a, b *Tensor) bool {
	if a.mem != b.mem || a.Len() == 0 || b.Len() == 0 {
		return false
	}
	_, loA, hiA := a.Extent()
	_, loB, hiB := b.Extent()
	return loA < hiB && loB < hiA
}

// Extent returns the allocation that t lies in, as a value that is equal for tensors of one allocation, and the bytes there from
// its first element to the end of its last; lo and hi are equal if it has none.
func (t *Tensor) Extent() (memory any, lo, hi int) {
	lo = t.offset * t.dtype.Size()
	if t.Len() == 0 {
		return t.mem, lo, lo
	}
	last := t.offset
	for i, d := range t.shape {
		last += (d - 1) * t.strides[i]
	}
	return t.mem, lo, (last + 1) * t.dtype.Size()
}
