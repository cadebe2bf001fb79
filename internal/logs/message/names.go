package message

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// MaxNames limits the sets of names for a list's elements.
const MaxNames = 16

// Names is a set of names for a list's elements, such as joint names.
type Names struct {
	List []string
	// Reordered is set if messages have the names in different orders.
	Reordered bool

	index map[string]int32 // index of each name; nil if names do not identify elements: one is empty, too long, or occurs twice
	raw   []byte           // encoded names from the last message with this set
	order []int32          // order in that message; nil if it is List's
}

// NewNames returns a set of names in the order of its first message.
func NewNames(list []string) Names {
	index := make(map[string]int32, len(list))
	for i, s := range list {
		index[s] = int32(i)
	}
	long := slices.ContainsFunc(list, func(s string) bool { return len(s) > maxName })
	if _, empty := index[""]; empty || long || len(index) < len(list) {
		index = nil
	}
	return Names{List: list, index: index}
}

// Distinct reports whether each name identifies one element.
func (n *Names) Distinct() bool { return n.index != nil }

// Order reports whether a list has the same names. It returns each name's index in List, nil if the order is the same. Names that are
// not distinct match only in the same order.
func (n *Names) Order(list []string) (order []int32, same bool) {
	switch {
	case len(list) != len(n.List):
		return nil, false
	case slices.Equal(list, n.List):
		return nil, true
	case n.index == nil:
		return nil, false
	}
	met := make([]bool, len(list))
	order = make([]int32, len(list))
	for i, s := range list {
		at, there := n.index[s]
		if !there || met[at] {
			return nil, false
		}
		order[i], met[at] = at, true
	}
	return order, true
}

// Reorder moves a message's elements, each with `columns` numbers: element i moves to index order[i].
func Reorder[T any](list []T, columns int, order []int32) {
	if order == nil {
		return
	}
	was := slices.Clone(list)
	for i, to := range order {
		copy(list[int(to)*columns:(int(to)+1)*columns], was[i*columns:(i+1)*columns])
	}
}

// name completes a message's list with n elements and names names. encoded holds the names' bytes, and texts decodes them.
func (l *ListRows) name(shape *ListShape, n, names int, encoded []byte, texts func() []string) {
	which := int32(-1)
	switch {
	case n == 0:
	case n != names:
		l.Unnamed = true
	default:
		which = l.find(encoded, texts)
	}
	l.Named = append(l.Named, which)
	l.uneven = l.uneven || n != int(l.Lengths[0])
	switch {
	case l.Dropped:
	case l.Many || l.Unnamed && l.uneven || n*len(shape.Columns) > MaxList || shape.Bytes && n > maxBytes:
		l.Dropped, l.F32, l.F64 = true, nil, nil
	case which >= 0:
		columns, order := len(shape.Columns), l.Names[which].order
		if shape.Wide {
			Reorder(l.F64[len(l.F64)-n*columns:], columns, order)
		} else {
			Reorder(l.F32[len(l.F32)-n*columns:], columns, order)
		}
	}
}

// find returns the index of a message's set of names, or -1 if there are too many sets.
func (l *ListRows) find(encoded []byte, texts func() []string) int32 {
	for i := range l.Names {
		if bytes.Equal(l.Names[i].raw, encoded) {
			return int32(i)
		}
	}
	if l.Many {
		return -1
	}
	list := texts()
	for i := range l.Names {
		in := &l.Names[i]
		if order, same := in.Order(list); same {
			in.order, in.raw = order, append(in.raw[:0], encoded...)
			in.Reordered = in.Reordered || order != nil
			return int32(i)
		}
	}
	if len(l.Names) == MaxNames {
		l.Many = true
		return -1
	}
	in := NewNames(list)
	in.raw = bytes.Clone(encoded)
	l.Names = append(l.Names, in)
	return int32(len(l.Names) - 1)
}

// addText appends a text with its length.
func addText(to, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(to, uint32(len(text))), text...)
}

// splitTexts returns the texts that addText appended.
func splitTexts(b []byte, clean func(b []byte) string) (list []string) {
	for len(b) >= 4 {
		n := int(binary.LittleEndian.Uint32(b))
		list = append(list, clean(b[4:4+n]))
		b = b[4+n:]
	}
	return list
}
