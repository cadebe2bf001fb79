package tensor

import (
	"fmt"
	"slices"
)

// AsStrided returns a view with the given shape and strides, in elements and not negative. It begins offset elements
// after t's first element. If the view would leave the memory, it returns an error.
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

// Slice returns a view of the indices lo to hi-1 in dimension dim. Example: t.Slice(0, 1, 2) is the second row of a
// matrix.
func (t *Tensor) Slice(dim, lo, hi int) (*Tensor, error) {
	if dim < 0 || dim >= len(t.shape) {
		return nil, &Error{Op: "Slice", Kind: ErrShape, Got: fmt.Sprintf("dimension %d", dim), Want: fmt.Sprintf("0 to %d", len(t.shape)-1)}
	}
	if lo < 0 || hi < lo || hi > t.shape[dim] {
		return nil, &Error{Op: "Slice", Kind: ErrShape, Got: fmt.Sprintf("%d:%d", lo, hi), Want: fmt.Sprintf("within 0:%d", t.shape[dim])}
	}
	shape, offset := t.Shape(), 0
	shape[dim] = hi - lo
	if !slices.Contains(shape, 0) { // an empty view has no first element
		offset = lo * t.strides[dim]
	}
	return t.AsStrided(shape, t.strides, offset)
}

// Expand returns a view that repeats dimensions with length 1 to the given shape, with stride 0. Missing leading
// dimensions count as length 1. Example: [3] expands to [4,3].
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

// Reshape returns a view of a contiguous tensor with another shape. Both shapes have the same number of elements.
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

// Elements returns the host memory from t's first element to its last, without copying. If the tensor is strided,
// elements outside the view are included: index with Stride. T must match the dtype.
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

// Data returns the elements of a contiguous host tensor in row-major order, without copying. If t is not contiguous,
// call [Tensor.Contiguous] first.
func Data[T Element](t *Tensor) ([]T, error) {
	if !t.IsContiguous() {
		return nil, &Error{Op: "Data", Kind: ErrStride, Got: FormatShape(t.strides), Want: "a contiguous tensor (Contiguous makes one)"}
	}
	return Elements[T](t)
}

// Packed returns the elements of t in row-major order: those of t itself if it is contiguous, else a copy. The errors are those of Contiguous and Data.
func Packed[T Element](t *Tensor) ([]T, error) {
	t, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	return Data[T](t)
}

// Contiguous returns t itself if it is contiguous, else a contiguous host copy. It returns an error if t is on a device
// and not contiguous, or if the copy would be larger than Available.
func (t *Tensor) Contiguous() (*Tensor, error) {
	if t.IsContiguous() {
		return t, nil
	}
	return t.gather("Contiguous", -1, nil)
}

// Take returns a new host tensor with the indices in at along dimension dim, in that order. An index may repeat. t must
// be on the host. Example: t.Take(0, []int{2, 0}) is the third row and then the first.
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

// gather returns a copy of a host tensor. Along dimension dim it has the indices in at; if dim is negative, it has all elements.
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

// Overlap reports whether two tensors in one allocation may share an element, because the ranges from first to last
// element intersect. If two tensors were made by separate calls to Of, they count as separate allocations, even over
// the same slice.
func Overlap(a, b *Tensor) bool {
	if a.mem != b.mem || a.Len() == 0 || b.Len() == 0 {
		return false
	}
	_, loA, hiA := a.Extent()
	_, loB, hiB := b.Extent()
	return loA < hiB && loB < hiA
}

// Extent returns t's allocation, as a value that is equal for all tensors in it, and t's byte range there, from its
// first element to the end of its last. If t has no elements, lo and hi are equal.
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
