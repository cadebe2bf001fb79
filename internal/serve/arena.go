package serve

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// arenaAlign is the alignment of tensors in an arena, in bytes: a cache line.
const arenaAlign = 64

type arenaRequest struct {
	Do
	Bytes int64 `json:"bytes"`
}

func newArena(_ context.Context, c *Conn, r *Request, q arenaRequest) (*Reply, error) {
	if q.Bytes < 0 {
		return nil, &RequestError{Arg: "bytes", Got: fmt.Sprint(q.Bytes), Want: "0 or more"}
	}
	m, err := NewMemory("an arena", q.Bytes)
	if err != nil {
		return nil, err
	}
	err = c.arena.Close()
	c.arena = m
	return &Reply{Value: map[string]any{"bytes": len(m.Bytes())}, File: m.File()}, err
}

// extent returns the number of elements from a tensor's first to its last. If the shape is invalid, or the number is 2^62 or more, it
// returns false.
func (t *Tensor) extent() (int, bool) {
	if len(t.Strides) != len(t.Shape) {
		return 0, false
	}
	last, empty := uint64(0), false
	for i, d := range t.Shape {
		stride := t.Strides[i]
		if d < 0 || stride < 0 {
			return 0, false
		}
		empty = empty || d == 0
		hi, lo := bits.Mul64(uint64(max(d-1, 0)), uint64(stride))
		if last += lo; hi != 0 || lo > math.MaxInt64/2 || last > math.MaxInt64/2 {
			return 0, false
		}
	}
	if empty {
		return 0, true
	}
	return int(last) + 1, true
}

// in returns the tensor as a view on the arena's memory, and its byte range lo to hi-1 there. The error is an *ops.ArgError if the tensor
// has no offset, or does not lie in the arena.
func (t *Tensor) in(m *Memory, op string) (view *tensor.Tensor, lo, hi int, err error) {
	fail := func(kind error, got, want string) (*tensor.Tensor, int, int, error) {
		return nil, 0, 0, &ops.ArgError{Op: op, Arg: t.Name, Kind: kind, Got: got, Want: want}
	}
	n, ok := t.extent()
	size := t.DType.Size()
	switch {
	case t.At == nil:
		return fail(ops.ErrMissing, `no "at"`, "where it begins in the arena")
	case m == nil:
		return fail(ops.ErrMissing, "no arena", "one asked for first")
	case *t.At < 0 || *t.At%arenaAlign != 0:
		return fail(ops.ErrStride, fmt.Sprintf("at %d", *t.At), fmt.Sprintf("a multiple of %d", arenaAlign))
	case !ok || n > math.MaxInt/size:
		return fail(ops.ErrShape, fmt.Sprintf("%s with strides %s", tensor.FormatShape(t.Shape), tensor.FormatShape(t.Strides)), "memory dimensions and strides")
	case int64(n*size) > int64(len(m.Bytes()))-*t.At:
		return fail(ops.ErrShape, fmt.Sprintf("%d bytes at %d", n*size, *t.At), fmt.Sprintf("an end within the arena's %d", len(m.Bytes())))
	}
	lo = int(*t.At)
	hi = lo + n*size
	whole, err := raw.Over(m.Bytes()[lo:hi:hi], nil, t.DType, n)
	if err == nil {
		view, err = whole.AsStrided(t.Shape, t.Strides, 0)
	}
	if err != nil {
		return fail(ops.ErrShape, err.Error(), "")
	}
	return view, lo, hi, nil
}
