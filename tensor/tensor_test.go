package tensor_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

var allTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.U8}

// wantError checks the type, kind and operation of an error, and that it says something.
func wantError(t *testing.T, err error, op string, kind error) {
	t.Helper()
	var e *tensor.Error
	if assert.True(t, errors.As(err, &e), "got %v, want a *tensor.Error", err) {
		assert.Equal(t, op, e.Op)
		assert.ErrorIs(t, err, kind)
		assert.Contains(t, err.Error(), op)
	}
}

func TestDTypeNamesAreRead(t *testing.T) {
	sizes := []int{4, 8, 2, 2, 4, 8, 1}
	for i, d := range allTypes {
		got, err := tensor.ParseDType(d.String())
		require.NoError(t, err)
		assert.Equal(t, d, got)
		assert.Equal(t, sizes[i], d.Size())
		assert.Equal(t, i < 4, d.IsFloat())
	}
	for _, name := range []string{"", "none", "F32", "f8", "float32"} {
		_, err := tensor.ParseDType(name)
		wantError(t, err, "ParseDType", tensor.ErrDType)
	}
	assert.Zero(t, tensor.DType(0).Size())
	assert.Zero(t, tensor.DType(200).Size())
	assert.Equal(t, "dtype(200)", tensor.DType(200).String())
}

func TestDTypeOfEachElement(t *testing.T) {
	got := []tensor.DType{tensor.DTypeOf[float32](), tensor.DTypeOf[float64](), tensor.DTypeOf[tensor.Float16](), tensor.DTypeOf[tensor.BFloat16](),
		tensor.DTypeOf[int32](), tensor.DTypeOf[int64](), tensor.DTypeOf[uint8]()}
	assert.Equal(t, allTypes, got)
}

func TestNumElementsNeverOverflows(t *testing.T) {
	for _, c := range []struct {
		shape []int
		n     int
		kind  error
	}{
		{nil, 1, nil}, {[]int{0}, 0, nil}, {[]int{7}, 7, nil}, {[]int{2, 3, 4}, 24, nil}, {[]int{1 << 31, 1 << 31}, 1 << 62, nil},
		{[]int{1 << 31, 1<<31 + 1}, 0, tensor.ErrTooLarge}, {[]int{math.MaxInt, math.MaxInt}, 0, tensor.ErrTooLarge},
		{[]int{1 << 40, 0, 7}, 0, nil},
		// Strides must fit too, so an empty shape may not be too large either, wherever its 0 is.
		{[]int{math.MaxInt, 2, 0}, 0, tensor.ErrTooLarge}, {[]int{0, math.MaxInt, math.MaxInt}, 0, tensor.ErrTooLarge},
		{[]int{math.MaxInt, 0, math.MaxInt}, 0, tensor.ErrTooLarge}, {[]int{math.MaxInt}, 0, tensor.ErrTooLarge}, {[]int{1 << 32, 1 << 32}, 0, tensor.ErrTooLarge},
		{[]int{-1}, 0, tensor.ErrShape}, {[]int{0, -1}, 0, tensor.ErrShape}, {[]int{math.MinInt, 2}, 0, tensor.ErrShape},
	} {
		n, err := tensor.NumElements(c.shape...)
		if c.kind == nil {
			require.NoError(t, err, "%v", c.shape)
			assert.Equal(t, c.n, n, "%v", c.shape)
		} else {
			wantError(t, err, "NumElements", c.kind)
		}
	}
}

func TestNewIsZeroAndContiguous(t *testing.T) {
	for _, d := range allTypes {
		x, err := tensor.New(d, 3, 1, 5)
		require.NoError(t, err)
		assert.Equal(t, []int{3, 1, 5}, x.Shape())
		assert.Equal(t, []int{5, 5, 1}, x.Strides())
		assert.Equal(t, [4]int{3, 15, 5, 1}, [4]int{x.Rank(), x.Len(), x.Stride(0), x.Dim(1)})
		assert.True(t, x.IsContiguous())
		assert.True(t, x.OnHost())
		assert.Equal(t, d.String()+" [3,1,5] on host", x.String())
		_, ok := x.Addr()
		assert.False(t, ok, "a host tensor has no device address")
	}
	x := tensor.Must(tensor.New(tensor.F32, 4))
	data, err := tensor.Data[float32](x)
	require.NoError(t, err)
	assert.Equal(t, make([]float32, 4), data)
	_, err = tensor.New(tensor.DType(0), 1)
	wantError(t, err, "New", tensor.ErrDType)
	_, err = tensor.New(tensor.F32, -1)
	wantError(t, err, "New", tensor.ErrShape)
	_, err = tensor.New(tensor.F64, 1<<31, 1<<31)
	wantError(t, err, "New", tensor.ErrTooLarge)
}

func TestOfSharesTheSlice(t *testing.T) {
	data := []float32{1, 2, 3, 4, 5, 6}
	x, err := tensor.Of(data, 2, 3)
	require.NoError(t, err)
	data[4] = 50
	got, err := tensor.Data[float32](x)
	require.NoError(t, err)
	assert.Same(t, &data[0], &got[0])
	assert.Equal(t, float32(50), got[4])
	for _, shape := range [][]int{{5}, {7}, {2, 2}, {0}, nil} {
		_, err := tensor.Of(data, shape...)
		wantError(t, err, "Of", tensor.ErrShape)
	}
	_, err = tensor.Of(data, -6)
	wantError(t, err, "Of", tensor.ErrShape)
	_, err = tensor.Of([]float32{1})
	assert.NoError(t, err, "a scalar has no dimensions")
}

func TestShapesAreCopies(t *testing.T) {
	shape := []int{2, 3}
	x := tensor.Must(tensor.New(tensor.U8, shape...))
	shape[0] = 9
	x.Shape()[1], x.Strides()[0] = 9, 9
	assert.Equal(t, "u8 [2,3] on host", x.String())
	assert.Equal(t, 3, x.Stride(0))
}

func TestMustPanicsWithTheError(t *testing.T) {
	assert.Panics(t, func() { tensor.Must(tensor.New(tensor.F32, -1)) })
}

func TestElementsWantsTheRightTypeAndPlace(t *testing.T) {
	x := tensor.Must(tensor.New(tensor.F32, 2))
	_, err := tensor.Elements[float64](x)
	wantError(t, err, "Elements", tensor.ErrDType)
	_, err = tensor.Elements[tensor.Float16](tensor.Must(tensor.New(tensor.BF16, 2)))
	wantError(t, err, "Elements", tensor.ErrDType)
	dev := tensor.Must(tensor.OnDevice(&fakeBuffer{size: 8}, tensor.F32, 2))
	_, err = tensor.Elements[float32](dev)
	wantError(t, err, "Elements", tensor.ErrWrongDevice)
	require.NoError(t, x.Close())
	_, err = tensor.Elements[float32](x)
	wantError(t, err, "Elements", tensor.ErrClosed)
}

// fakeBuffer is device memory that counts its Closes.
type fakeBuffer struct {
	size   int64
	closed int
	err    error
}

func (b *fakeBuffer) Addr() uint64   { return 0x7000 }
func (b *fakeBuffer) Size() int64    { return b.size }
func (b *fakeBuffer) Device() string { return "fake:0" }
func (b *fakeBuffer) Close() error   { b.closed++; return b.err }

func TestOwnerClosesOnceAndViewsNever(t *testing.T) {
	buf := &fakeBuffer{size: 24, err: errors.New("from the buffer")}
	x := tensor.Must(tensor.OnDevice(buf, tensor.F32, 2, 3))
	row := tensor.Must(x.Slice(0, 1, 2))
	assert.Equal(t, "f32 [2,3] on fake:0", x.String())
	addr, ok := row.Addr()
	assert.True(t, ok)
	assert.Equal(t, uint64(0x7000+12), addr)
	require.NoError(t, row.Close())
	assert.False(t, x.Closed())
	assert.False(t, row.Closed(), "a view's Close does nothing")
	assert.ErrorIs(t, x.Close(), buf.err)
	assert.NoError(t, x.Close(), "Close twice")
	assert.Equal(t, 1, buf.closed)
	assert.True(t, row.Closed())
	_, ok = row.Addr()
	assert.False(t, ok)
	_, err := x.Slice(0, 0, 1)
	wantError(t, err, "AsStrided", tensor.ErrClosed)
	_, err = row.Expand(4, 3)
	wantError(t, err, "AsStrided", tensor.ErrClosed)
}

func TestOnDeviceChecksTheBuffer(t *testing.T) {
	_, err := tensor.OnDevice(&fakeBuffer{size: 23}, tensor.F32, 2, 3)
	wantError(t, err, "OnDevice", tensor.ErrShape)
	_, err = tensor.OnDevice(&fakeBuffer{size: 1 << 40}, tensor.F64, 1<<31, 1<<30)
	wantError(t, err, "OnDevice", tensor.ErrTooLarge)
	x, err := tensor.OnDevice(&fakeBuffer{size: 64}, tensor.F32, 2, 3)
	require.NoError(t, err, "a longer buffer is fine")
	_, err = x.AsStrided([]int{16}, []int{1}, 0)
	assert.NoError(t, err)
	_, err = x.AsStrided([]int{17}, []int{1}, 0)
	wantError(t, err, "AsStrided", tensor.ErrStride)
	strided := tensor.Must(x.AsStrided([]int{2, 2}, []int{3, 1}, 0))
	_, err = strided.Contiguous()
	wantError(t, err, "Elements", tensor.ErrWrongDevice)
}
