package topics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// maxFrames limits the coordinate frames in a topic.
const maxFrames = 1024

// moving records which frame moves in which other frame, for messages or a list's elements. Examples are tf transforms, and odometry
// from several robots.
type moving struct {
	names  map[string]int32
	pairs  map[[2]int32]int32 // indices in list, by child and parent
	list   [][2]string
	which  blocks[int32] // each message's or element's index in list
	rows   blocks[int32] // each element's message
	stamps blocks[int64] // each element's timestamp, if elements have one
	local  []int32       // maps a piece's frame numbers to numbers here
}

// number returns a name's number.
func (m *moving) number(name string) int32 {
	if m.names == nil {
		m.names, m.pairs = map[string]int32{}, map[[2]int32]int32{}
	}
	n, there := m.names[name]
	if !there {
		n = int32(len(m.names))
		m.names[name] = n
	}
	return n
}

// join adds a piece's pairs. frames holds the names in the piece.
func (m *moving) join(frames []string, keys, parents []int32) {
	m.local = m.local[:0]
	for _, name := range frames {
		m.local = append(m.local, m.number(name))
	}
	none := m.number("")
	global := func(i int32) int32 {
		if i < 0 {
			return none
		}
		return m.local[i]
	}
	which := make([]int32, len(keys))
	for i := range keys {
		pair := [2]int32{global(keys[i]), global(parents[i])}
		n, there := m.pairs[pair]
		if !there {
			n = int32(len(m.list))
			m.pairs[pair] = n
			name := func(i int32) string {
				if i < 0 {
					return ""
				}
				return frames[i]
			}
			m.list = append(m.list, [2]string{name(keys[i]), name(parents[i])})
		}
		which[i] = n
	}
	m.which.add(which)
}

// joinList adds the pairs for a list's elements in a piece. from is the piece's first message in the topic.
func (m *moving) joinList(frames []string, in *message.ListRows, from int) {
	m.join(frames, in.Keys, in.Parents)
	var rows []int32
	for i, n := range in.Lengths {
		for range n {
			rows = append(rows, int32(from+i))
		}
	}
	m.rows.add(rows)
	m.stamps.add(in.Stamps)
}

// name returns the stream name for a pair: the child, with the parent if the child has several.
func (m *moving) name(topic string, pair int) string {
	child, several := m.list[pair][0], false
	for i, o := range m.list {
		several = several || i != pair && o[0] == child
	}
	name := topic
	if child != "" {
		name += "." + child
	}
	if several {
		name += " (" + m.list[pair][1] + ")"
	}
	return name
}

// byName returns the pairs sorted by name.
func (m *moving) byName() []int {
	pairs := make([]int, len(m.list))
	for i := range pairs {
		pairs[i] = i
	}
	slices.SortFunc(pairs, func(a, b int) int {
		return cmp.Or(dataset.CompareNames(m.list[a][0], m.list[b][0]), dataset.CompareNames(m.list[a][1], m.list[b][1]))
	})
	return pairs
}

// parents adds a note about each frame's parent.
func (m *moving) parents(e *builder, name string) {
	n := dataset.Note{Code: dataset.CodeFrameParents, Subject: name}
	for _, pair := range m.byName() {
		if p := m.list[pair]; p[0] != "" && p[1] != "" {
			n.Names = append(n.Names, p[0]+" in "+p[1])
		}
	}
	if n.Names != nil {
		e.Notes.Add(n)
	}
}

// several reports whether more than one frame moves, or one in several parents.
func (m *moving) several() bool { return len(m.list) > 1 }

// table holds rows of a topic's numbers, f32, or f64 if wide.
type table struct {
	f32     []float32
	f64     []float64
	wide    bool
	columns []dataset.Column
}

// split adds a stream for each moving frame, in the table's memory. times, and which (each row's pair), are in row order.
func (m *moving) split(e *builder, name string, times []int64, which []int32, t table, inexact int) error {
	if len(m.list) > maxFrames {
		e.leave(dataset.Note{Code: dataset.CodeTooWide, Subject: name, Count: len(which),
			Detail: dataset.Detail{Got: strconv.Itoa(len(m.list)), Want: strconv.Itoa(maxFrames), Unit: "coordinate frames"}})
		return nil
	}
	ends := make([]int, len(m.list)) // end of each pair's rows, after grouping
	for _, pair := range which {
		ends[pair]++
	}
	at := 0
	for _, pair := range m.byName() {
		at, ends[pair] = at+ends[pair], at
	}
	order := make([]int, len(which))
	for i, pair := range which {
		order[ends[pair]] = i
		ends[pair]++
	}
	t.arrange(order)
	times = slices.Clone(times)
	arrange(times, 1, order)
	from := 0
	for _, pair := range m.byName() {
		to := ends[pair]
		own := times[from:to:to]
		values, err := t.rows(from, to)
		from = to
		if err != nil {
			return err
		}
		s, err := dataset.NewStream(e.unique(m.name(name, pair), ""), own, values, t.columns)
		if err != nil {
			return err
		}
		s.Inexact, inexact = inexact, 0
		e.Streams = append(e.Streams, s)
	}
	m.parents(e, name)
	return nil
}

// arrange reorders the rows.
func (t *table) arrange(order []int) {
	arrange(t.f32, len(t.columns), order)
	arrange(t.f64, len(t.columns), order)
}

// rows returns rows from to to-1, in the table's memory.
func (t *table) rows(from, to int) (*tensor.Tensor, error) {
	width := len(t.columns)
	if t.wide {
		return tensor.Of(t.f64[from*width:to*width:to*width], to-from, width)
	}
	return tensor.Of(t.f32[from*width:to*width:to*width], to-from, width)
}

// elements returns the timestamps for a list's elements, and their order, nil for file order. times and order belong to the messages.
func (m *moving) elements(e *builder, name string, times []int64, order []int) (own []int64, by []int) {
	rows, stamps := m.rows.take(), m.stamps.take()
	if order != nil {
		rank := make([]int32, len(order))
		for place, r := range order {
			rank[r] = int32(place)
		}
		by = make([]int, len(rows))
		for i := range rows {
			rows[i], by[i] = rank[rows[i]], i
		}
		slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(rows[a], rows[b]) })
	}
	if e.clock == "header" && len(stamps) > 0 {
		if slices.ContainsFunc(stamps, func(ns int64) bool { return ns != 0 }) {
			arrange(stamps, 1, by)
			return stamps, by
		}
		e.note(dataset.CodeHeaderTimeNone, name, 0, 0)
	}
	own = make([]int64, len(rows))
	for i, r := range rows {
		own[i] = times[r]
	}
	arrange(own, 1, by)
	return own, by
}
