package store

import (
	"io"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

const (
	memoryLimit = 32 << 20 // packed numbers in memory, in bytes, while a file is written
	roomLimit   = 1 << 20  // capacity, in bytes, that a list keeps after its numbers are written
	pieceSize   = 1 << 16  // numbers that are packed at a time
	firstRoom   = 1 << 20  // bytes of capacity that a list may always reserve
	sureAhead   = 64       // if the estimate is more than this multiple of a list's numbers, the list reserves less
)

// pool is shared by a store's columns. It counts the numbers in memory, and has the file with the others.
type pool struct {
	path     string // of the packed file; empty if all numbers stay in memory
	scratch  *atomicfile.Scratch
	columns  []column
	inMemory int // bytes
	wide     []float64
	ahead    float64 // estimate: all numbers divided by the numbers so far, from the episode counts
}

func (p *pool) close() error {
	if p.scratch == nil {
		return nil
	}
	return p.scratch.Close()
}

// count adds bytes in memory, and writes all columns to the scratch file if they are too many.
func (p *pool) count(bytes int) error {
	if p.inMemory += bytes; p.path == "" || p.inMemory <= memoryLimit {
		return nil
	}
	if p.scratch == nil {
		var err error
		if p.scratch, err = atomicfile.NewScratch(p.path); err != nil {
			return err
		}
	}
	for _, c := range p.columns {
		if err := c.spill(p.scratch); err != nil {
			return err
		}
	}
	p.inMemory = 0
	return nil
}

// column is a packed tensor that grows with each episode.
type column interface {
	len() int // elements
	dtype() tensor.DType
	spill(*atomicfile.Scratch) error
	// write writes the elements in the file's format.
	write(*pool, io.Writer) error
	// tensor returns the elements. The pool must keep all numbers in memory.
	tensor(shape ...int) (*tensor.Tensor, error)
}

// floats is a column that converts numbers to its dtype. It counts the numbers that are rounded, and of these the ones that become
// infinite.
type floats interface {
	column
	floats(*pool, *tensor.Tensor) (rounded, overflowed int, err error)
}

// list is a column with one type.
type list[T tensor.Element] struct {
	rows    []T
	spilled []atomicfile.Part // elements before rows, on the disk
	n       int
	narrow  func(to []T, from []float64) (rounded, overflowed int)
}

func newFloats(p *pool, dtype tensor.DType) floats {
	switch dtype {
	case tensor.F64:
		return addColumn(p, &list[float64]{narrow: func(to, from []float64) (int, int) { copy(to, from); return 0, 0 }})
	case tensor.F16:
		return addColumn(p, &list[tensor.Float16]{narrow: func(to []tensor.Float16, from []float64) (int, int) {
			return halves(to, from, tensor.F16FromF64)
		}})
	case tensor.BF16:
		return addColumn(p, &list[tensor.BFloat16]{narrow: func(to []tensor.BFloat16, from []float64) (int, int) {
			return halves(to, from, tensor.BF16FromF64)
		}})
	}
	return addColumn(p, &list[float32]{narrow: singles})
}

// addColumn adds a column to a pool.
func addColumn[C column](p *pool, c C) C {
	p.columns = append(p.columns, c)
	return c
}

// singles converts to float32. A number between float32's smallest normal number and half its largest is rounded if one of its lowest
// 29 bits is set.
func singles(to []float32, from []float64) (rounded, overflowed int) {
	const lost = 1<<(52-23) - 1
	to = to[:len(from)]
	for i, v := range from {
		b := math.Float64bits(v)
		if b>>52&0x7ff-(1023-126) > 126+126 && b<<1 != 0 {
			r, o := anySingles(to[i:], from[i:])
			return rounded + r, o
		}
		to[i] = float32(v)
		rounded += int((b&lost + lost) >> (52 - 23)) // 1 unless all bits are 0
	}
	return rounded, 0
}

// anySingles converts numbers of any size.
func anySingles(to []float32, from []float64) (rounded, overflowed int) {
	for i, v := range from {
		x := float32(v)
		to[i] = x
		if w := float64(x); w != v && v == v {
			rounded++
			if w-w != 0 { // it is infinite
				overflowed++
			}
		}
	}
	return rounded, overflowed
}

func halves[T interface{ F32() float32 }](to []T, from []float64, narrow func(float64) T) (rounded, overflowed int) {
	for i, v := range from {
		to[i] = narrow(v)
		if w := float64(to[i].F32()); w != v && v == v {
			rounded++
			if math.IsInf(w, 0) {
				overflowed++
			}
		}
	}
	return rounded, overflowed
}

func (l *list[T]) len() int            { return l.n }
func (l *list[T]) dtype() tensor.DType { return tensor.DTypeOf[T]() }

// add appends numbers, piece by piece.
func (l *list[T]) add(p *pool, numbers []T) error {
	for piece := range slices.Chunk(numbers, pieceSize) {
		to, err := l.grow(p, len(piece))
		if err != nil {
			return err
		}
		copy(to, piece)
		if err := l.count(p, len(piece)); err != nil {
			return err
		}
	}
	return nil
}

// grow appends n numbers and returns their memory. If all numbers stay in memory, it reserves the estimate for all episodes, because
// repeated copies of a growing list took longer than reading.
func (l *list[T]) grow(p *pool, n int) ([]T, error) {
	at := len(l.rows)
	if need := at + n; need > cap(l.rows) {
		room := need + need/4
		if p.path == "" {
			likely := 1.05 * p.ahead * float64(need)
			if p.ahead > sureAhead {
				likely = min(likely, float64(max(firstRoom/l.dtype().Size(), 4*need)))
			}
			room = max(room, int(likely))
		}
		t, err := raw.New(l.dtype(), room)
		if err != nil && room > need {
			t, err = raw.New(l.dtype(), need)
		}
		if err != nil {
			return nil, err
		}
		rows, err := tensor.Data[T](t)
		if err != nil {
			return nil, err
		}
		copy(rows, l.rows)
		l.rows = rows
	}
	l.rows = l.rows[:at+n]
	return l.rows[at:], nil
}

func (l *list[T]) count(p *pool, n int) error {
	l.n += n
	return p.count(n * l.dtype().Size())
}

// floats appends a tensor's elements. Elements of the column's dtype keep their bits.
func (l *list[T]) floats(p *pool, t *tensor.Tensor) (rounded, overflowed int, err error) {
	if t.DType() == l.dtype() {
		numbers, err := tensor.Packed[T](t)
		if err != nil {
			return 0, 0, err
		}
		return 0, 0, l.add(p, numbers)
	}
	switch t.DType() {
	case tensor.F64:
		return convert(p, l, t, func(v float64) float64 { return v })
	case tensor.F16:
		return convert(p, l, t, func(v tensor.Float16) float64 { return float64(v.F32()) })
	case tensor.BF16:
		return convert(p, l, t, func(v tensor.BFloat16) float64 { return float64(v.F32()) })
	}
	return convert(p, l, t, func(v float32) float64 { return float64(v) })
}

func convert[T, S tensor.Element](p *pool, l *list[T], t *tensor.Tensor, widen func(S) float64) (rounded, overflowed int, err error) {
	numbers, err := tensor.Packed[S](t)
	if err != nil {
		return 0, 0, err
	}
	for piece := range slices.Chunk(numbers, pieceSize) {
		wide, ok := any(piece).([]float64)
		if !ok {
			wide = p.wide[:0]
			for _, v := range piece {
				wide = append(wide, widen(v))
			}
			p.wide = wide
		}
		to, err := l.grow(p, len(piece))
		if err != nil {
			return 0, 0, err
		}
		r, o := l.narrow(to, wide)
		rounded, overflowed = rounded+r, overflowed+o
		if err := l.count(p, len(piece)); err != nil {
			return 0, 0, err
		}
	}
	return rounded, overflowed, nil
}

func (l *list[T]) spill(s *atomicfile.Scratch) error {
	if len(l.rows) == 0 {
		return nil
	}
	part, err := s.Append(l.writeRows)
	if err != nil {
		return err
	}
	l.spilled, l.rows = append(l.spilled, part), l.rows[:0]
	if cap(l.rows)*l.dtype().Size() > roomLimit {
		l.rows = nil
	}
	return nil
}

func (l *list[T]) writeRows(w io.Writer) error {
	t, err := tensor.Of(l.rows, len(l.rows))
	if err != nil {
		return err
	}
	return npy.WriteData(w, t)
}

func (l *list[T]) write(p *pool, w io.Writer) error {
	for _, part := range l.spilled {
		if err := p.scratch.CopyTo(w, part); err != nil {
			return err
		}
	}
	return l.writeRows(w)
}

func (l *list[T]) tensor(shape ...int) (*tensor.Tensor, error) { return tensor.Of(l.rows, shape...) }
