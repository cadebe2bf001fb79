package topics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// list is an array of variable length in a topic's joined messages.
type list struct {
	any               bool // whether a message was added
	shortest, longest int
	values            []numbers // by set of names; one entry if elements have no names
	dropped           bool      // whether the decoder dropped the values
	inexact           int       // integers that float64 cannot hold
	moving            moving
	lengths           blocks[int32] // each message's element count, if the list is padded

	// If the elements have names: the distinct sets of names, and each message's set. Elements are in their set's order. A message
	// without elements, or without a name for each, has -1.
	names                  []message.Names
	named                  blocks[int32]
	unnamed, many, several bool // as in message.ListRows
}

// numbers holds messages' numbers, f32 or f64.
type numbers struct {
	f32 blocks[float32]
	f64 blocks[float64]
}

func (n *numbers) add(f32 []float32, f64 []float64) {
	n.f32.add(f32)
	n.f64.add(f64)
}

// take returns all numbers as a table, with its rows in the given order, and empties n.
func (n *numbers) take(wide bool, columns []dataset.Column, order []int) table {
	t := table{n.f32.take(), n.f64.take(), wide, columns}
	t.arrange(order)
	return t
}

// of returns the values for a set of names.
func (l *list) of(set int32) *numbers {
	for int(set) >= len(l.values) {
		l.values = append(l.values, numbers{})
	}
	return &l.values[set]
}

// add appends a piece's values. The piece's names were mapped to the list's.
func (l *list) add(in *message.ListRows, shape *message.ListShape) {
	if len(l.names) <= 1 {
		l.of(0).add(in.F32, in.F64)
		return
	}
	at := 0
	for i, k := range in.Named {
		to := at + int(in.Lengths[i])*len(shape.Columns)
		if of := l.of(max(k, 0)); shape.Wide {
			of.f64.add(in.F64[at:to])
		} else {
			of.f32.add(in.F32[at:to])
		}
		at = to
	}
}

// byName reports whether names identify the elements.
func (l *list) byName() bool { return len(l.names) > 0 && !l.unnamed }

// keeps reports whether the values can still form a stream, or one stream for each set of names.
func (l *list) keeps(shape *message.ListShape) bool {
	return (l.byName() || shape.Padded || l.shortest == l.longest) && l.longest*len(shape.Columns) <= maxWidth
}

func (l *list) join(in *message.ListRows, shape *message.ListShape) {
	for _, n := range in.Lengths {
		if !l.any {
			l.any, l.shortest, l.longest = true, int(n), int(n)
		}
		l.shortest, l.longest = min(l.shortest, int(n)), max(l.longest, int(n))
	}
	l.unnamed, l.many, l.several = l.unnamed || in.Unnamed, l.many || in.Many, l.several || in.Several
	renamed := l.meet(in)
	if l.dropped = l.dropped || in.Dropped || l.many; l.dropped || !l.keeps(shape) {
		l.values, l.named, l.lengths = nil, blocks[int32]{}, blocks[int32]{}
		return
	}
	if shape.Labels != "" {
		renamed.apply(in, shape)
		l.named.add(in.Named)
	}
	if shape.Padded {
		l.lengths.add(in.Lengths)
	}
	l.add(in, shape)
}

// pad returns a padded list's rows. A shorter message has NaN in its last columns.
func (l *list) pad(e *builder, name string, shape *message.ListShape, order []int) table {
	lengths, width := l.lengths.take(), len(shape.Columns)
	t := l.of(0).take(shape.Wide, nil, nil)
	t.f32, t.f64 = padded(t.f32, lengths, width, l.longest), padded(t.f64, lengths, width, l.longest)
	t.columns = columns(shape, l.longest, nil)
	t.arrange(order)
	n := dataset.Note{Code: dataset.CodeListsPadded, Subject: name, Detail: dataset.Detail{Of: len(lengths), Got: l.span(), Want: strconv.Itoa(l.longest)}}
	for _, k := range lengths {
		if int(k) < l.longest {
			n.Count++
		}
	}
	e.Notes.Add(n)
	return t
}

func padded[T float32 | float64](list []T, lengths []int32, columns, longest int) []T {
	if len(list) == 0 { // the slice for the other width
		return nil
	}
	out := make([]T, 0, len(lengths)*columns*longest)
	for _, n := range lengths {
		out, list = append(out, list[:int(n)*columns]...), list[int(n)*columns:]
		for range (longest - int(n)) * columns {
			out = append(out, T(math.NaN()))
		}
	}
	return out
}

func (l *list) span() string { return fmt.Sprintf("%d to %d", l.shortest, l.longest) }

// renaming maps each set of names in a piece to a set in the list, and its elements to their places there.
type renaming struct {
	which  []int32
	orders [][]int32
}

// meet finds the piece's sets of names in the list, and adds new ones.
func (l *list) meet(in *message.ListRows) (r renaming) {
	for _, names := range in.Names {
		which := -1
		var order []int32
		for i := range l.names {
			var same bool
			if order, same = l.names[i].Order(names.List); same {
				which = i
				break
			}
		}
		switch {
		case which >= 0:
			l.names[which].Reordered = l.names[which].Reordered || names.Reordered || order != nil
		case len(l.names) == message.MaxNames:
			l.many = true
		default:
			which = len(l.names)
			l.names = append(l.names, message.NewNames(names.List))
			l.names[which].Reordered = names.Reordered
		}
		r.which, r.orders = append(r.which, int32(which)), append(r.orders, order)
	}
	return r
}

// apply reorders a piece's elements to the list's order.
func (r *renaming) apply(in *message.ListRows, shape *message.ListShape) {
	columns, at := len(shape.Columns), 0
	for i, k := range in.Named {
		n := int(in.Lengths[i]) * columns
		if k >= 0 {
			in.Named[i] = r.which[k]
			if shape.Wide {
				message.Reorder(in.F64[at:at+n], columns, r.orders[k])
			} else {
				message.Reorder(in.F32[at:at+n], columns, r.orders[k])
			}
		}
		at += n
	}
}

// refused returns the note for a list that cannot become a stream, or a note without a code if it can.
func (l *list) refused(t *topic, shape *message.ListShape) (n dataset.Note) {
	span := l.span()
	if l.shortest == l.longest {
		span = strconv.Itoa(l.longest)
	}
	several := len(l.names) > 1 || len(l.names) == 1 && l.names[0].Reordered
	switch {
	case l.longest == 0 && l.several:
		n.Code = dataset.CodeNestedArrays
	case l.longest == 0:
		n.Code = dataset.CodeNoElements
	case shape.Bytes && l.dropped && l.longest > 64:
		n.Code, n.Got = dataset.CodeData, span
	case l.many && !l.unnamed:
		n.Code, n.Got, n.Want = dataset.CodeLabelSetLimit, shape.Labels, strconv.Itoa(message.MaxNames)
	case l.unnamed && several:
		n.Code, n.Got = dataset.CodeLabelsChange, shape.Labels
	case !l.byName() && l.shortest != l.longest && (!shape.Padded || 8*int64(l.longest*len(shape.Columns)*l.lengths.len()) > mostRoom*t.bytes+freeRoom):
		n.Code, n.Got = dataset.CodeListLength, span
	case !l.keeps(shape):
		n.Code, n.Got, n.Want, n.Unit = dataset.CodeTooWide, strconv.Itoa(l.longest*len(shape.Columns)), strconv.Itoa(maxWidth), "numbers a message"
	}
	return n
}

// columns returns the columns for a stream with n elements, with the elements' names if names is not nil.
func columns(shape *message.ListShape, n int, names []string) []dataset.Column {
	columns := make([]dataset.Column, 0, n*len(shape.Columns))
	for i := range n {
		element := "[" + strconv.Itoa(i) + "]"
		if names != nil {
			element = names[i]
		}
		for _, c := range shape.Columns {
			if c.Name != "" && c.Name[0] != '[' {
				c.Name = "." + c.Name
			}
			c.Name = element + c.Name
			columns = append(columns, c)
		}
	}
	return columns
}

// split adds a stream for each set of names, in the memory of its values. A stream has the messages with that set, and a column for
// each name. times are ascending; order is nil if that is file order.
func (l *list) split(e *builder, name string, shape *message.ListShape, times []int64, order []int, inexact int) error {
	width := len(shape.Columns)
	named := l.named.take()
	places := make([]int, len(named)) // each message's place among the messages with its set
	counts := make([]int, len(l.names))
	empty := 0
	for i, k := range named {
		if k < 0 {
			empty++
			continue
		}
		places[i] = counts[k]
		counts[k]++
	}
	if empty > 0 {
		e.Notes.Add(dataset.Note{Code: dataset.CodeMessagesEmpty, Subject: name + "." + shape.Name, Count: empty, Detail: dataset.Detail{Of: len(named)}})
	}
	switch {
	case len(l.names) > 1:
		e.labels(dataset.CodeLabelSets, name, shape, len(l.names))
	case l.names[0].Reordered:
		e.labels(dataset.CodeLabelsReordered, name, shape, 0)
	}
	for _, k := range l.byContent() {
		names, own := &l.names[k], make([]int64, 0, counts[k])
		from := make([]int, 0, counts[k])
		for i := range named {
			row := i
			if order != nil {
				row = order[i]
			}
			if int(named[row]) == k {
				own, from = append(own, times[i]), append(from, places[row])
			}
		}
		list, elements := arranged(names)
		called := name + "." + shape.Name
		if len(l.names) > 1 {
			called += " (" + brief(list) + ")"
		}
		var values *tensor.Tensor
		var err error
		if shape.Wide {
			values, err = arrangedRows(l.of(int32(k)).f64.take(), from, elements, width)
		} else {
			values, err = arrangedRows(l.of(int32(k)).f32.take(), from, elements, width)
		}
		if err != nil {
			return err
		}
		if !names.Distinct() {
			list = nil
			e.labels(dataset.CodeLabelsUnusable, name+"."+shape.Name, shape, 0)
		}
		s, err := dataset.NewStream(e.unique(called, ""), own, values, columns(shape, len(names.List), list))
		if err != nil {
			return err
		}
		s.Inexact, inexact = inexact, 0
		e.Streams = append(e.Streams, s)
	}
	return nil
}

// labels adds a note about the names of a list's elements. sets is how many sets there are. Lists with the same labels share a note.
func (e *builder) labels(code dataset.Code, subject string, shape *message.ListShape, sets int) {
	e.Notes.Add(dataset.Note{Code: code, Subject: subject, Detail: dataset.Detail{Got: shape.Labels, Of: sets}})
}

// byContent returns the sets of names, sorted by their names instead of first appearance.
func (l *list) byContent() []int {
	sets := make([]int, len(l.names))
	for i := range sets {
		sets[i] = i
	}
	slices.SortStableFunc(sets, func(a, b int) int {
		return slices.CompareFunc(inOrder(l.names[a].List), inOrder(l.names[b].List), dataset.CompareNames)
	})
	return sets
}

func inOrder(names []string) []string {
	return slices.SortedStableFunc(slices.Values(names), dataset.CompareNames)
}

// arranged returns the names in a stream's order, and the elements' places. The order is that of the messages, or sorted if messages
// differ.
func arranged(names *message.Names) (list []string, places []int) {
	list = names.List
	if names.Reordered {
		list = inOrder(list)
	}
	places = make([]int, len(list))
	for i, s := range list {
		places[i] = i
		if names.Reordered {
			places[i] = slices.Index(names.List, s)
		}
	}
	return list, places
}

// brief shortens a list of names.
func brief(names []string) string {
	names = inOrder(names)
	if all := strings.Join(names, ", "); len(all) <= maxBrief {
		return all
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// maxBrief limits the list of names in a stream's name, in bytes.
const maxBrief = 40

// arrangedRows reorders rows in place, and in each row the elements with width numbers.
func arrangedRows[T float32 | float64](list []T, rows, elements []int, width int) (*tensor.Tensor, error) {
	each := len(elements) * width
	if !slices.IsSorted(elements) {
		for row := range slices.Chunk(list, each) {
			arrange(row, width, elements)
		}
	}
	arrange(list, each, rows)
	return tensor.Of(list, len(rows), each)
}
