package topics

import (
	"reflect"
	"runtime/debug"

	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/raw"
)

// mostGarbage limits the bytes of copied blocks that stay in memory. Go's garbage collector lets garbage grow to the size of live
// memory, so that blocks would double a recording's memory. A forced collection covers the whole program. Therefore it runs once per
// mostGarbage, and only for series of unknown length.
const mostGarbage = 32 << 20

// blocks is a growing series of numbers, stored without copying. [blocks.take] joins it to one slice.
type blocks[T any] struct {
	full [][]T
	last []T
	n    int
	// expect is the expected length, 0 if it is unknown. After 1/32 of it, one block for all numbers is allocated, and the end needs no
	// copy.
	expect int
	all    bool // whether that block was allocated
}

// A block has as many numbers as all earlier blocks together, but at least firstBlock and at most lastBlock.
const (
	firstBlock = 64
	lastBlock  = 1 << 17
)

func (b *blocks[T]) len() int { return b.n }

func (b *blocks[T]) add(list []T) {
	if !b.all && b.n+len(list) <= b.expect && b.n >= max(b.expect/32, lastBlock) {
		last := b.copyTo(memory.Must[T]("samples", b.expect)[:0])
		*b = blocks[T]{last: last, n: b.n, expect: b.expect, all: true}
	}
	for len(list) > 0 {
		if len(b.last) == cap(b.last) {
			if b.n > 0 {
				b.full = append(b.full, b.last)
			}
			b.last = make([]T, 0, min(max(b.n, firstBlock, len(list)), lastBlock))
		}
		k := min(len(list), cap(b.last)-len(b.last))
		b.last = append(b.last, list[:k]...)
		b.n += k
		list = list[k:]
	}
}

// take returns the whole series, and empties it.
func (b *blocks[T]) take() []T {
	if len(b.full) == 0 && b.n > 0 && b.n >= cap(b.last)/2 {
		list := b.last
		*b = blocks[T]{}
		return list
	}
	list := b.copyTo(raw.Room[T](b.n))
	*b = blocks[T]{}
	return list
}

// copyTo appends the series to a list, and frees the blocks.
func (b *blocks[T]) copyTo(list []T) []T {
	size, garbage := int(reflect.TypeFor[T]().Size()), 0
	for i, block := range b.full {
		if garbage += len(block) * size; garbage > mostGarbage {
			debug.FreeOSMemory()
			garbage = 0
		}
		list = append(list, block...)
		b.full[i] = nil
	}
	return append(list, b.last...)
}

// arrange reorders rows of width numbers in place: row i becomes the former row order[i]. A nil order changes nothing.
func arrange[T any](list []T, width int, order []int) {
	if order == nil || width == 0 || len(list) == 0 {
		return
	}
	done := make([]bool, len(order))
	kept := make([]T, width)
	row := func(i int) []T { return list[i*width : (i+1)*width] }
	for start := range order {
		if done[start] || order[start] == start {
			continue
		}
		copy(kept, row(start))
		at := start
		for ; order[at] != start; at = order[at] {
			copy(row(at), row(order[at]))
			done[at] = true
		}
		copy(row(at), kept)
		done[at] = true
	}
}
