package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// iota32 returns a tensor whose elements are their own indices.
func iota32(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]int32, n)
	for i := range data {
		data[i] = int32(i)
	}
	return tensor.Must(tensor.Of(data, shape...))
}

// list returns a view's elements in row-major order.
func list(t *testing.T, x *tensor.Tensor) []int32 {
	t.Helper()
	c, err := x.Contiguous()
	require.NoError(t, err)
	data, err := tensor.Data[int32](c)
	require.NoError(t, err)
	return data
}

func TestSliceExpandReshape(t *testing.T) {
	x := iota32(3, 4)
	assert.Equal(t, []int32{4, 5, 6, 7}, list(t, tensor.Must(x.Slice(0, 1, 2))))
	columns := tensor.Must(x.Slice(1, 1, 3))
	assert.Equal(t, []int32{1, 2, 5, 6, 9, 10}, list(t, columns))
	assert.False(t, columns.IsContiguous())
	assert.Equal(t, []int32{5, 6}, list(t, tensor.Must(columns.Slice(0, 1, 2))), "a view of a view")
	assert.Empty(t, list(t, tensor.Must(x.Slice(1, 4, 4))))
	assert.Equal(t, []int32{0, 1, 2, 0, 1, 2}, list(t, tensor.Must(iota32(3).Expand(2, 3))))
	assert.Equal(t, []int32{0, 0, 1, 1}, list(t, tensor.Must(iota32(2, 1).Expand(2, 2))))
	assert.Equal(t, []int32{0, 1, 2, 3, 4, 5}, list(t, tensor.Must(iota32(2, 3).Reshape(3, 1, 2))))
	assert.Equal(t, []int32{7}, list(t, tensor.Must(x.AsStrided(nil, nil, 7))), "a scalar")
}

func TestViewsRefuseWhatTheyCannotShow(t *testing.T) {
	x := iota32(3, 4)
	for _, c := range [][3]int{{-1, 0, 1}, {2, 0, 1}} {
		_, err := x.Slice(c[0], c[1], c[2])
		wantError(t, err, "Slice", tensor.ErrShape)
	}
	for _, c := range [][2]int{{-1, 1}, {2, 1}, {0, 4}, {4, 4}} {
		_, err := x.Slice(0, c[0], c[1])
		wantError(t, err, "Slice", tensor.ErrShape)
	}
	for _, shape := range [][]int{{4}, {3, 5}, {2, 4}, {3, 4, 1}} {
		_, err := x.Expand(shape...)
		wantError(t, err, "Expand", tensor.ErrShape)
	}
	_, err := iota32(1).Expand(1<<40, 1<<40)
	wantError(t, err, "AsStrided", tensor.ErrTooLarge)
	_, err = iota32(1).Expand(-1)
	wantError(t, err, "AsStrided", tensor.ErrShape)
	_, err = x.Reshape(5)
	wantError(t, err, "Reshape", tensor.ErrShape)
	_, err = x.Reshape(-3, -4)
	wantError(t, err, "Reshape", tensor.ErrShape)
	_, err = tensor.Must(x.Slice(1, 0, 2)).Reshape(6)
	wantError(t, err, "Reshape", tensor.ErrStride)
	_, err = tensor.Data[int32](tensor.Must(x.Slice(1, 0, 2)))
	wantError(t, err, "Data", tensor.ErrStride)
	for _, c := range []struct {
		shape, strides []int
		offset         int
		kind           error
	}{
		{[]int{13}, []int{1}, 0, tensor.ErrStride}, {[]int{12}, []int{1}, 1, tensor.ErrStride}, {[]int{2}, []int{12}, 0, tensor.ErrStride},
		{[]int{1}, []int{1}, -1, tensor.ErrStride}, {[]int{1}, []int{1}, math.MaxInt, tensor.ErrStride}, {[]int{2}, []int{-1}, 4, tensor.ErrStride},
		{[]int{2}, []int{1, 1}, 0, tensor.ErrStride}, {[]int{2}, []int{math.MaxInt}, 0, tensor.ErrTooLarge},
		{[]int{3, 3}, []int{1 << 61, 1 << 61}, 0, tensor.ErrTooLarge}, {[]int{-2}, []int{1}, 0, tensor.ErrShape}, {[]int{0}, []int{1}, 13, tensor.ErrStride},
	} {
		_, err := x.AsStrided(c.shape, c.strides, c.offset)
		wantError(t, err, "AsStrided", c.kind)
	}
	// An offset within a view is not an offset within its memory.
	_, err = tensor.Must(x.Slice(0, 2, 3)).AsStrided([]int{1}, []int{1}, math.MaxInt-7)
	wantError(t, err, "AsStrided", tensor.ErrStride)
}

func TestContiguousIsItselfOrACopy(t *testing.T) {
	x := iota32(3, 4)
	same, err := x.Contiguous()
	require.NoError(t, err)
	assert.Same(t, x, same)
	copied, err := tensor.Must(x.Slice(1, 0, 2)).Contiguous()
	require.NoError(t, err)
	assert.False(t, tensor.Overlap(x, copied))
	packed, err := tensor.Packed[int32](tensor.Must(x.Slice(1, 0, 2)))
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 4, 5, 8, 9}, packed)
	for _, d := range allTypes {
		y := tensor.Must(tensor.Must(tensor.New(d, 4, 4)).Slice(1, 1, 3))
		c, err := y.Contiguous()
		require.NoError(t, err)
		assert.Equal(t, d.String()+" [4,2] on host", c.String())
	}
	one := tensor.Must(x.AsStrided([]int{1, 4}, []int{99, 1}, 0))
	assert.True(t, one.IsContiguous(), "the stride of a dimension of length 1 does not matter")
	assert.True(t, tensor.Must(x.AsStrided([]int{0, 2}, []int{9, 5}, 0)).IsContiguous())
}

func TestOverlapSeesSharedElements(t *testing.T) {
	x := iota32(4, 4)
	part := func(lo, hi int) *tensor.Tensor { return tensor.Must(x.Slice(0, lo, hi)) }
	assert.True(t, tensor.Overlap(x, x))
	assert.True(t, tensor.Overlap(part(0, 2), part(1, 3)))
	assert.False(t, tensor.Overlap(part(0, 2), part(2, 4)))
	assert.False(t, tensor.Overlap(part(0, 0), x), "an empty view shares nothing")
	assert.False(t, tensor.Overlap(x, iota32(4, 4)))
	assert.True(t, tensor.Overlap(tensor.Must(x.Slice(1, 0, 1)), tensor.Must(x.Slice(1, 1, 2))), "ranges that interleave count")
	assert.True(t, tensor.Overlap(part(3, 4), tensor.Must(part(3, 4).Expand(5, 4))))
}

// FuzzViews makes views of views, and compares every element with a plain list of indices: none may lie outside, and
// what would is an error.
func FuzzViews(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2})
	f.Add([]byte{1, 2, 2, 3, 0, 1, 0, 2})
	f.Add([]byte{3, 2, 2, 9, 1, 1, 3, 1, 3, 3, 0})
	f.Add([]byte{2, 2, 3, 8, 0, 0, 0, 255})
	f.Add([]byte{3, 1, 5, 128, 255})
	f.Add([]byte{1, 1, 4, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		const n = 24
		x, model := iota32(2, 3, 4), list(t, iota32(n))
		first := 0 // of the view, in the memory
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(int8(b))
		}
		for range 6 {
			if len(data) == 0 {
				return
			}
			var y *tensor.Tensor
			var err error
			want := []int32(nil)
			switch next() & 3 {
			case 0:
				dim, lo, hi := next(), next(), next()
				y, err = x.Slice(dim, lo, hi)
				if ok := dim >= 0 && dim < x.Rank() && lo >= 0 && lo <= hi && hi <= x.Dim(min(max(dim, 0), max(x.Rank()-1, 0))); ok != (err == nil) {
					t.Fatalf("%v Slice(%d,%d,%d): %v", x, dim, lo, hi, err)
				} else if ok {
					inner := 1
					for i := dim + 1; i < x.Rank(); i++ {
						inner *= x.Dim(i)
					}
					for i, v := range model {
						if k := i / inner % x.Dim(dim); k >= lo && k < hi {
							want = append(want, v)
						}
					}
				}
			case 1:
				shape := make([]int, x.Rank()+next()&1)
				lead := len(shape) - x.Rank()
				for i := range shape {
					if shape[i] = next() & 3; i >= lead && x.Dim(i-lead) != 1 {
						shape[i] = x.Dim(i - lead)
					}
				}
				y, err = x.Expand(shape...)
				require.NoError(t, err, "%v to %v", x, shape)
				want = expanded(model, x.Shape(), shape)
			case 2:
				y, err = x.Reshape(x.Len(), 1)
				require.Equal(t, x.IsContiguous(), err == nil, "%v: %v", x, err)
				want = model
			case 3:
				shape, strides := make([]int, next()&3), []int{}
				last, empty := 0, false
				bad := false
				for i := range shape {
					shape[i] = next() % 6
					strides = append(strides, next()%16)
					last += (shape[i] - 1) * strides[i]
					empty, bad = empty || shape[i] == 0, bad || shape[i] < 0 || strides[i] < 0
				}
				offset := next()
				y, err = x.AsStrided(shape, strides, offset)
				if empty && err == nil {
					return // an empty view's place is nobody's concern
				}
				ok := !bad && !empty && offset >= 0 && first+offset+last < n
				if !empty && ok != (err == nil) {
					t.Fatalf("%v AsStrided(%v,%v,%d) at %d: %v", x, shape, strides, offset, first, err)
				}
				if err == nil {
					want = strided(first+offset, shape, strides)
				}
			}
			if err != nil {
				continue
			}
			got := list(t, y)
			require.Equal(t, len(want), len(got))
			for i := range want {
				require.Equal(t, want[i], got[i], "%v, element %d", y, i)
			}
			if len(got) == 0 || y.Len() > 2000 {
				return
			}
			x, model, first = y, want, int(want[0])
		}
	})
}

// A part of nothing is nothing, wherever it would begin.
func TestPartsOfAnEmptyTensorAreEmpty(t *testing.T) {
	for _, shape := range [][]int{{0, 4}, {4, 0}, {3, 0, 5}, {0}} {
		x := tensor.Must(tensor.New(tensor.F32, shape...))
		for dim, n := range shape {
			for lo := range n + 1 {
				part, err := x.Slice(dim, lo, n)
				require.NoError(t, err, "%v, dimension %d from %d", shape, dim, lo)
				want := slices.Clone(shape)
				want[dim] = n - lo
				assert.Equal(t, want, part.Shape())
				data, err := tensor.Elements[float32](part)
				require.NoError(t, err)
				assert.Empty(t, data)
			}
		}
	}
}

// strided lists the indices that a view shows.
func strided(at int, shape, strides []int) []int32 {
	if len(shape) == 0 {
		return []int32{int32(at)}
	}
	var out []int32
	for i := range shape[0] {
		out = append(out, strided(at+i*strides[0], shape[1:], strides[1:])...)
	}
	return out
}

// expanded repeats a row-major list along dimensions of length 1.
func expanded(in []int32, from, to []int) []int32 {
	for len(from) < len(to) {
		from = append([]int{1}, from...)
	}
	if len(to) == 0 {
		return in
	}
	var out []int32
	part := len(in) / max(from[0], 1)
	for i := range to[0] {
		if from[0] == 1 {
			i = 0
		}
		out = append(out, expanded(in[i*part:][:part], from[1:], to[1:])...)
	}
	return out
}
