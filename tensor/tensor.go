package tensor

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

// Buffer is memory on a device. The backend that allocated it passes it to a tensor.
type Buffer interface {
	// Addr is the device address of the first byte.
	Addr() uint64
	// Size is the length in bytes.
	Size() int64
	// Device is the name of the device with the memory, as the backend names it: "cuda:0".
	Device() string
	// Close releases the memory. Close twice is fine.
	Close() error
}

// storage is the memory that a tensor and its views share.
type storage struct {
	host  any       // a pointer to a typed slice, for host memory
	owner io.Closer // owner of host memory that does not belong to Go, otherwise nil
	buf   Buffer
	n     int // elements
	shut  atomic.Bool
}

// Tensor is a view of typed memory. The package comment defines its owner.
type Tensor struct {
	dtype   DType
	shape   []int
	strides []int
	offset  int
	mem     *storage
	owner   bool
}

// block holds a contiguous tensor, its storage and, if they are few, its dimensions and strides, so that all need only one
// allocation.
type block struct {
	t     Tensor
	mem   storage
	lists [8]int
}

// hosted is a block with its slice of host memory.
type hosted[T Element] struct {
	block
	data []T
}

// New returns a contiguous host tensor filled with zeros. If it is larger than Available, the error has the kind
// ErrOutOfMemory.
func New(dtype DType, shape ...int) (*Tensor, error) {
	n, err := sized("New", dtype, shape)
	if err != nil {
		return nil, err
	}
	switch dtype {
	case F32:
		return create[float32](n, shape)
	case F64:
		return create[float64](n, shape)
	case F16:
		return create[Float16](n, shape)
	case BF16:
		return create[BFloat16](n, shape)
	case I32:
		return create[int32](n, shape)
	case I64:
		return create[int64](n, shape)
	}
	return create[uint8](n, shape)
}

func create[T Element](n int, shape []int) (*Tensor, error) {
	data, err := zeros[T]("New", n, shape)
	if err != nil {
		return nil, err
	}
	return host(data, shape), nil
}

// Fits returns the number of elements in the tensor that New would return, or New's error. It allocates nothing.
func Fits(dtype DType, shape ...int) (int, error) {
	n, err := sized("New", dtype, shape)
	if err == nil {
		err = roomFor("New", dtype, n, shape)
	}
	return n, err
}

// Of returns a host tensor over data, without copying it. The length of data must be the product of the shape.
func Of[T Element](data []T, shape ...int) (*Tensor, error) {
	n, err := elements("Of", shape)
	if err != nil {
		return nil, err
	}
	if n != len(data) {
		return nil, &Error{Op: "Of", Kind: ErrShape, Got: fmt.Sprintf("%d elements", len(data)), Want: fmt.Sprintf("%d for shape %s", n, FormatShape(shape))}
	}
	return host(data, shape), nil
}

// Checker is an owner that verifies its memory before it is read, see [Over]. Example: a file with checksums.
type Checker interface {
	io.Closer
	// Check returns an error if the memory is damaged between elements lo and hi-1. Any goroutine may call it.
	Check(lo, hi int) error
}

// Over is like [Of] for host memory that does not belong to Go, for example memory from a device's driver. The tensor
// takes over the owner: Close closes the owner, and then the memory is gone, including earlier slices from [Data]. If
// Over fails, the caller keeps the owner. If the owner is a [Checker], [Elements] and [Data] call its Check and return
// its error.
func Over[T Element](data []T, owner io.Closer, shape ...int) (*Tensor, error) {
	t, err := Of(data, shape...)
	if err == nil {
		t.mem.owner = owner
	}
	return t, err
}

// OnDevice returns a contiguous tensor over a device buffer and takes ownership of the buffer. The buffer must be at
// least as long as the shape needs.
func OnDevice(buf Buffer, dtype DType, shape ...int) (*Tensor, error) {
	n, err := sized("OnDevice", dtype, shape)
	if err != nil {
		return nil, err
	}
	if need := int64(n) * int64(dtype.Size()); buf.Size() < need {
		return nil, &Error{Op: "OnDevice", Kind: ErrShape, Got: fmt.Sprintf("a buffer of %d bytes", buf.Size()), Want: fmt.Sprintf("%d for %s %s", need, dtype, FormatShape(shape))}
	}
	b := &block{mem: storage{buf: buf, n: int(buf.Size() / int64(dtype.Size()))}}
	return b.contiguous(dtype, shape), nil
}

// Must returns t, or panics if err is not nil. Use it for tensors with a shape that is fixed in the program.
func Must(t *Tensor, err error) *Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

func sized(op string, dtype DType, shape []int) (int, error) {
	size := dtype.Size()
	if size == 0 {
		return 0, &Error{Op: op, Kind: ErrDType, Got: dtype.String(), Want: "one of f32, f64, f16, bf16, i32, i64, u8"}
	}
	n, err := elements(op, shape)
	if err == nil && n > MaxBytes/size {
		err = &Error{Op: op, Kind: ErrTooLarge, Got: dtype.String() + " " + FormatShape(shape), Want: "at most 2^62 bytes"}
	}
	return n, err
}

func host[T Element](data []T, shape []int) *Tensor {
	h := &hosted[T]{data: data}
	h.mem.host, h.mem.n = &h.data, len(data)
	return h.contiguous(DTypeOf[T](), shape)
}

// contiguous initialises the block's tensor with a dtype and a shape. The block must have its storage.
func (b *block) contiguous(dtype DType, shape []int) *Tensor {
	rank, lists := len(shape), b.lists[:]
	if 2*rank > len(lists) {
		lists = make([]int, 2*rank)
	}
	b.t.dtype, b.t.mem, b.t.owner = dtype, &b.mem, true
	b.t.shape, b.t.strides = lists[:rank:rank], lists[rank:2*rank:2*rank]
	copy(b.t.shape, shape)
	rowMajor(b.t.strides, shape)
	return &b.t
}

// DType returns the elements' type.
func (t *Tensor) DType() DType { return t.dtype }

// Rank returns the number of dimensions.
func (t *Tensor) Rank() int { return len(t.shape) }

// Dim returns the length of dimension i.
func (t *Tensor) Dim(i int) int { return t.shape[i] }

// Stride returns the distance, in elements, between neighbours along dimension i.
func (t *Tensor) Stride(i int) int { return t.strides[i] }

// Shape returns a copy of the dimensions.
func (t *Tensor) Shape() []int { return slices.Clone(t.shape) }

// Strides returns a copy of the strides, in elements.
func (t *Tensor) Strides() []int { return slices.Clone(t.strides) }

// Len returns the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// Device returns the name of the device with the memory: "host", or the backend's name for the device.
func (t *Tensor) Device() string {
	if t.mem.buf != nil {
		return t.mem.buf.Device()
	}
	return "host"
}

// OnHost reports whether the elements are in host memory.
func (t *Tensor) OnHost() bool { return t.mem.buf == nil }

// Owner returns the owner from [Over] for the memory under t, or nil if the memory has none.
func (t *Tensor) Owner() io.Closer { return t.mem.owner }

// Addr returns the device address of the first element. It returns false for a host tensor or a closed one.
func (t *Tensor) Addr() (uint64, bool) {
	if t.mem.buf == nil || t.Closed() {
		return 0, false
	}
	return t.mem.buf.Addr() + uint64(t.offset)*uint64(t.dtype.Size()), true
}

// Closed reports whether the memory was released.
func (t *Tensor) Closed() bool { return t.mem.shut.Load() }

// Close releases the memory if t owns it, and does nothing for a view. The garbage collector frees Go memory.
func (t *Tensor) Close() error {
	if !t.owner || t.mem.shut.Swap(true) {
		return nil
	}
	switch {
	case t.mem.buf != nil:
		return t.mem.buf.Close()
	case t.mem.owner != nil:
		return t.mem.owner.Close()
	}
	return nil
}

// IsContiguous reports whether the elements are in row-major order without gaps.
func (t *Tensor) IsContiguous() bool {
	if slices.Contains(t.shape, 0) {
		return true
	}
	n := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.strides[i] != n {
			return false
		}
		n *= t.shape[i]
	}
	return true
}

// String describes the tensor without its elements: "f32 [2,3] on host".
func (t *Tensor) String() string {
	return fmt.Sprintf("%s %s on %s", t.dtype, FormatShape(t.shape), t.Device())
}
