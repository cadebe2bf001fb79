package cudadrv

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Element lists the Go types that an [Array] can hold: types with one size on every platform, and types derived from them.
type Element interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Array is device memory with elements of one type. Lengths and indices count elements. An Array from [NewArray] or [ArrayOf]
// owns its memory. An Array from [Array.Slice] shares memory and becomes unusable when the owner is closed. An Array may be used
// from any goroutine, but the caller must order concurrent copies of the same elements.
type Array[T Element] struct {
	mem   *DeviceMem
	first int64 // byte
	n     int
	owner bool
}

// NewArray allocates n elements, as [Context.Malloc] does: their values are undefined. n may be 0.
func NewArray[T Element](ctx context.Context, c *Context, n int) (*Array[T], error) {
	if c == nil {
		return nil, &ValueError{Op: "NewArray", What: "the context", Kind: ErrMissing, Got: "nil", Want: "a Context"}
	}
	if most := math.MaxInt64 / elementSize[T](); n < 0 || int64(n) > most {
		return nil, &ValueError{Op: "NewArray", What: "the length", Kind: ErrShape, Got: fmt.Sprint(n), Want: fmt.Sprintf("0 to %d", most)}
	}
	mem, err := c.Malloc(ctx, int64(n)*elementSize[T]())
	if err != nil {
		return nil, err
	}
	return &Array[T]{mem: mem, n: n, owner: true}, nil
}

// ArrayOf allocates as many elements as src has and copies src to them.
func ArrayOf[T Element](ctx context.Context, c *Context, src []T) (*Array[T], error) {
	a, err := NewArray[T](ctx, c, len(src))
	if err != nil {
		return nil, err
	}
	if err := a.CopyFrom(ctx, src); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Len returns the number of elements.
func (a *Array[T]) Len() int { return a.n }

// Size returns the size in bytes.
func (a *Array[T]) Size() int64 { return int64(a.n) * elementSize[T]() }

// Ptr returns the address of the first element, for a kernel's arguments and for copies queued on a [Stream]; 0 after Close.
func (a *Array[T]) Ptr() DevicePtr {
	if p := a.mem.Ptr(); p != 0 {
		return p + DevicePtr(a.first)
	}
	return 0
}

// Slice returns elements lo to hi-1 as an Array that shares the memory and does not own it. A range outside the array is a
// *[ValueError] that matches ErrShape.
func (a *Array[T]) Slice(lo, hi int) (*Array[T], error) {
	if lo < 0 || hi < lo || hi > a.n {
		return nil, &ValueError{Op: "Slice", What: "the range", Kind: ErrShape, Got: fmt.Sprintf("%d:%d", lo, hi), Want: fmt.Sprintf("within 0:%d", a.n)}
	}
	return &Array[T]{mem: a.mem, first: a.first + int64(lo)*elementSize[T](), n: hi - lo}, nil
}

// CopyFrom copies src, which may be any Go memory, to the array. If the lengths differ, it copies nothing and returns a
// *[ValueError] that matches ErrShape. It waits, as [Context.CopyToDevice] does.
func (a *Array[T]) CopyFrom(ctx context.Context, src []T) error {
	return a.copy("CopyFrom", len(src), func(at DevicePtr) error {
		return a.mem.ctx.CopyToDevice(ctx, at, elementBytes(src))
	})
}

// CopyTo copies the array to dst. If the lengths differ, it copies nothing and returns a *[ValueError] that matches ErrShape. It
// waits, as [Context.CopyToHost] does.
func (a *Array[T]) CopyTo(ctx context.Context, dst []T) error {
	return a.copy("CopyTo", len(dst), func(at DevicePtr) error {
		return a.mem.ctx.CopyToHost(ctx, elementBytes(dst), at)
	})
}

// copy checks the length and keeps the memory open while the bytes are copied.
func (a *Array[T]) copy(op string, n int, bytes func(at DevicePtr) error) error {
	if n != a.n {
		return &ValueError{Op: op, What: "the length", Kind: ErrShape, Got: fmt.Sprint(n), Want: fmt.Sprintf("%d, the array's", a.n)}
	}
	a.mem.mu.RLock()
	defer a.mem.mu.RUnlock()
	if a.mem.closed {
		return &ClosedError{Op: op, What: "device memory"}
	}
	return bytes(a.mem.ptr + DevicePtr(a.first))
}

// Close frees the memory if the array owns it, by the rules of [DeviceMem.Close]. Otherwise it does nothing. A second Close does
// nothing.
func (a *Array[T]) Close() error {
	if !a.owner {
		return nil
	}
	return a.mem.Close()
}

// CloseAsync is like Close, but frees memory by the rules of [DeviceMem.CloseAsync].
func (a *Array[T]) CloseAsync(s *Stream) error {
	if !a.owner {
		return nil
	}
	return a.mem.CloseAsync(s)
}
