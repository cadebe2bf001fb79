package topics

// blocks are a series of numbers that grows without being copied; [blocks.take] makes one slice of it.
type blocks[T any] struct {
	full [][]T
	last []T
	n    int
}

// A block has at least firstBlock numbers, as many as there are before it, and at most lastBlock.
const (
	firstBlock = 64
	lastBlock  = 1 << 17
)

func (b *blocks[T]) len() int { return b.n }

func (b *blocks[T]) add(list []T) {
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
	list := make([]T, 0, b.n)
	for i, block := range b.full {
		list = append(list, block...)
		b.full[i] = nil
	}
	list = append(list, b.last...)
	*b = blocks[T]{}
	return list
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
