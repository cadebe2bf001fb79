package topics

import (
	"reflect"
	"runtime/debug"

	"github.com/robocache/robocache/internal/raw"
)

// mostGarbage is how many bytes of blocks that were copied stay in memory. Go would let them be until they are as much as all that is in use, and so
// they would double what a recording takes. To give them back is a collection of the whole program's memory, so only series whose length nobody said
// in advance pay for it, once for so many bytes.
const mostGarbage = 32 << 20

// blocks are a series of numbers that grows without being copied; [blocks.take] makes one slice of it.
type blocks[T any] struct {
	full [][]T
	last []T
	n    int
	// expect is how many numbers there may be in the end, 0 where nobody says. It is believed when 1 of 32 is there: then there is one block for
	// all, and nothing is copied at the end.
	expect int
	all    bool // whether there was such a block
}

// A block has at least firstBlock numbers, as many as there are before it, and at most lastBlock.
const (
	firstBlock = 64
	lastBlock  = 1 << 17
)

func (b *blocks[T]) len() int { return b.n }

func (b *blocks[T]) add(list []T) {
	if !b.all && b.n+len(list) <= b.expect && b.n >= max(b.expect/32, lastBlock) {
		last := b.copyTo(make([]T, 0, b.expect))
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

// take returns the whole series, and leaves none.
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

// copyTo appends the series to a list, and lets go of the blocks.
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

// arrange puts the rows, of so many numbers each, in an order, in place: row i becomes what row order[i] was.
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
