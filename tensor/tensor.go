package tensor

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

// Buffer is memory on a device, handed to a tensor by the backend that allocated it.
type Buffer interface {
	// Addr is the device address of the first byte.
	Addr() uint64
	// Size is the length in bytes.
	Size() int64
	// Device names the device that holds the memory, as the backend does: "cuda:0".
	Device() string
	// Close releases the memory. Close twice is fine.
	Close() error
}

// storage is the memory that a tensor and its views share.
type storage struct {
	host  any       // a pointer to a typed slice, for host memory
	owner io.Closer // of host memory that is not Go's; else nil
	buf   Buffer
	n     int // elements
	shut  atomic.Bool
}

// Tensor is a view of typed memory. See the package comment for who owns it.
type Tensor struct {
	dtype   DType
	shape   []int
	strides []int
	offset  int
	mem     *storage
	owner   bool
}

// block is a contiguous tensor, its memory's description and, if they are few, its dimensions and strides: one allocation for them all.
type block struct {
	t     Tensor
	mem   storage
	lists [8]int
}

// hosted is a block of host memory.
type hosted[T Element] struct {
	block
	data []T
}

// New returns a host tensor of zeros, contiguous. One that is larger than what is Available is an error, ErrOutOfMemory.
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

// Fits returns how many elements a tensor has that New would return, or the error that it would.
func Fits(dtype DType, shape ...int) (int, error) {
	n, err := sized("New", dtype, shape)
	if err == nil {
		err = roomFor("New", dtype, n, shape)
	}
	return n, err
}

// Of returns a host tensor over data, which it does not copy. The length of data must be the shape's product.
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

// Checker is an owner that compares memory before it is read: see [Over].
type Checker interface {
	io.Closer
	// Check returns an error if elements lo to hi-1 of the memory are damaged. It is called from any goroutine.
	Check(lo, hi int) error
}

// Over is Of for host memory that is not Go's, such as that which a device's driver gave. The tensor takes the owner over: Close closes it, and the
// memory is gone then, slices of it that [Data] gave before too. If Over fails, the owner stays with the caller. If it is a [Checker], [Elements] and
// [Data] return the error of its Check.
func Over[T Element](data []T, owner io.Closer, shape ...int) (*Tensor, error) {
	t, err := Of(data, shape...)
	if err == nil {
		t.mem.owner = owner
	}
	return t, err
}

// OnDevice returns a contiguous tensor over a device buffer, which it owns from then on. The buffer may be longer than
// the shape needs, not shorter.
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

// Must returns t, or panics with err. It is for tensors whose shape is written in the program.
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

// contiguous makes the tensor of a block that has its memory.
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

// DType returns the type of the elements.
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

// Device names the device that holds the memory: "host", or the backend's name for it.
func (t *Tensor) Device() string {
	if t.mem.buf != nil {
		return t.mem.buf.Device()
	}
	return "host"
}

// OnHost reports whether the elements are in host memory.
func (t *Tensor) OnHost() bool { return t.mem.buf == nil }

// Owner returns what [Over] was given for the memory that t lies in; nil of other memory.
func (t *Tensor) Owner() io.Closer { return t.mem.owner }

// Addr returns the device address of the first element, and false for a host or closed tensor.
func (t *Tensor) Addr() (uint64, bool) {
	if t.mem.buf == nil || t.Closed() {
		return 0, false
	}
	return t.mem.buf.Addr() + uint64(t.offset)*uint64(t.dtype.Size()), true
}

// Closed reports whether the memory was released.
func (t *Tensor) Closed() bool { return t.mem.shut.Load() }

// Close releases the memory if t owns it, and does nothing for a view. Host memory of Go's is left to the garbage collector.
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

// IsContiguous reports whether the elements lie in row-major order without holes.
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

// String describes the tensor, not its elements: "f32 [2,3] on host".
func (t *Tensor) String() string {
	return fmt.Sprintf("%s %s on %s", t.dtype, FormatShape(t.shape), t.Device())
}
