package topics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// list is an array whose length the messages say, as far as they were joined.
type list struct {
	any               bool // message
	shortest, longest int
	values            []numbers // of the messages of each set of names; of those without, the first
	dropped           bool      // its values, by the decoder
	inexact           int       // integers that float64 does not hold
	moving            moving

	// Of a list whose elements have names: the different sets of these, in whose order the elements are, and which of them each message has, -1 if it
	// has no elements, or not a name for each.
	names         []message.Names
	named         blocks[int32]
	unnamed, many bool // as of message.ListRows
}

// numbers are those of messages, f32 or f64.
type numbers struct {
	f32 blocks[float32]
	f64 blocks[float64]
}

func (n *numbers) add(f32 []float32, f64 []float64) {
	n.f32.add(f32)
	n.f64.add(f64)
}

// take returns all numbers as a table, with its rows in an order, and leaves none.
func (n *numbers) take(wide bool, columns []dataset.Column, order []int) table {
	t := table{n.f32.take(), n.f64.take(), wide, columns}
	t.arrange(order)
	return t
}

// of returns the values of a set of names.
func (l *list) of(set int32) *numbers {
	for int(set) >= len(l.values) {
		l.values = append(l.values, numbers{})
	}
	return &l.values[set]
}

// add appends a piece's values, whose names are those of the list.
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

// byName reports whether its elements are told by their names.
func (l *list) byName() bool { return len(l.names) > 0 && !l.unnamed }

// keeps reports whether the values can still be a stream, or with names several.
func (l *list) keeps(columns int) bool {
	return (l.byName() || l.shortest == l.longest) && l.longest*columns <= maxWidth
}

func (l *list) join(in *message.ListRows, shape *message.ListShape) {
	for _, n := range in.Lengths {
		if !l.any {
			l.any, l.shortest, l.longest = true, int(n), int(n)
		}
		l.shortest, l.longest = min(l.shortest, int(n)), max(l.longest, int(n))
	}
	l.unnamed, l.many = l.unnamed || in.Unnamed, l.many || in.Many
	renamed := l.meet(in)
	if l.dropped = l.dropped || in.Dropped || l.many; l.dropped || !l.keeps(len(shape.Columns)) {
		l.values, l.named = nil, blocks[int32]{}
		return
	}
	if shape.Labels != "" {
		renamed.apply(in, shape)
		l.named.add(in.Named)
	}
	l.add(in, shape)
}

// renaming says for each of a piece's names which of the list's they are, and their elements' places there.
type renaming struct {
	which  []int32
	orders [][]int32
}

// meet finds a piece's names among those that were met before it.
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

// apply brings a piece's elements to the order of the list's names.
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

// refused returns a note about a list that is no stream; it has no code if the list is one.
func (l *list) refused(shape *message.ListShape) (n dataset.Note) {
	span := fmt.Sprintf("%d to %d", l.shortest, l.longest)
	if l.shortest == l.longest {
		span = strconv.Itoa(l.longest)
	}
	several := len(l.names) > 1 || len(l.names) == 1 && l.names[0].Reordered
	switch {
	case l.longest == 0:
		n.Code = dataset.CodeNoElements
	case shape.Bytes && l.dropped && l.longest > 64:
		n.Code, n.Got = dataset.CodeData, span
	case l.many && !l.unnamed:
		n.Code, n.Got, n.Want = dataset.CodeLabelSetLimit, shape.Labels, strconv.Itoa(message.MaxNames)
	case l.unnamed && several:
		n.Code, n.Got = dataset.CodeLabelsChange, shape.Labels
	case !l.byName() && l.shortest != l.longest:
		n.Code, n.Got = dataset.CodeListLength, span
	case !l.keeps(len(shape.Columns)):
		n.Code, n.Got, n.Want, n.Unit = dataset.CodeTooWide, strconv.Itoa(l.longest*len(shape.Columns)), strconv.Itoa(maxWidth), "numbers a message"
	}
	return n
}

// columns returns those of n elements as a stream, by their names if they have some.
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

// split makes a stream of each set of names, of the memory that its values are in: of the messages that have it, with a column for each name. Times are
// in order, which is nil if that is the messages' own.
func (l *list) split(e *making, name string, shape *message.ListShape, times []int64, order []int, inexact int) error {
	width := len(shape.Columns)
	named := l.named.take()
	places := make([]int, len(named)) // of each message among those of its set
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

// labels adds a note about the names that the elements of a list have; sets is their number. Lists of the same labels share a note.
func (e *making) labels(code dataset.Code, subject string, shape *message.ListShape, sets int) {
	e.Notes.Add(dataset.Note{Code: code, Subject: subject, Detail: dataset.Detail{Got: shape.Labels, Of: sets}})
}

// byContent returns the sets of names in the order of their names, whatever came first.
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

// arranged returns names in the order that a stream has them in, and where the elements are: as every message has them, or sorted.
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

// brief says names in a few words.
func brief(names []string) string {
	names = inOrder(names)
	if all := strings.Join(names, ", "); len(all) <= maxBrief {
		return all
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// maxBrief is how long all names may be together in the name of a stream.
const maxBrief = 40

// arrangedRows puts rows in an order, and the elements of each, of so many numbers, in another, in place.
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
