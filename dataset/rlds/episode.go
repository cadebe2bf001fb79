package rlds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// builder creates an episode from a record.
type builder struct {
	set     *Set
	shard   *shard
	data    []byte // the record
	at      int64  // the record's offset in the file
	room    *room
	e       *dataset.Episode
	steps   int
	times   []int64        // [steps]
	clocked *tensor.Tensor // times as a tensor, shared by the step streams
	shared  []float32      // memory for small streams' numbers
}

// part is a leaf's data in a record.
type part struct {
	*leaf
	feature
	bytes   int   // in the file
	n       int   // values in its list
	there   bool  // whether the record has it
	lengths []int // for a sequence inside the steps: values in each step
}

// build fills the episode. A broken feature loses only itself, unless the set is strict.
func (b *builder) build() error {
	slots, leaves := b.set.slots, b.set.leaves
	b.room.found, b.room.parts = slices.Grow(b.room.found[:0], len(slots))[:len(slots)], slices.Grow(b.room.parts[:0], len(leaves))[:len(leaves)]
	clear(b.room.found)
	clear(b.room.parts)
	others, err := scan(b.data, b.at, slots, b.room.found)
	if err != nil {
		return err
	}
	parts := b.room.parts[:0] // the parts that are read
	votes := map[int]int{}
	for i, l := range leaves {
		p := &b.room.parts[i]
		if err := b.part(l, p); err != nil {
			if err := b.lose(l, p, err); err != nil {
				return err
			}
			continue
		}
		if l.why != "" {
			b.leave(l.name(), p.n, l.why, dataset.Detail{Got: l.got, Want: l.want, Unit: l.unit})
			continue
		}
		if n, ok := p.vote(); ok {
			votes[n]++
		}
		parts = append(parts, *p)
	}
	if err := b.rest(others); err != nil {
		return err
	}
	for n, count := range votes {
		if best := votes[b.steps]; count > best || count == best && n > b.steps {
			b.steps = n
		}
	}
	if err := b.clock(parts); err != nil {
		return err
	}
	b.e.Streams = make([]dataset.Stream, 0, len(parts))
	shared := 0
	for i := range parts {
		shared += parts[i].small()
	}
	b.shared = make([]float32, shared)
	for i := range parts {
		p := &parts[i]
		if err := b.add(p); err != nil {
			if err := b.lose(p.leaf, p, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest adds notes about the features that no leaf used, by name.
func (b *builder) rest(others map[string]feature) error {
	if slices.ContainsFunc(b.room.found, func(f feature) bool { return f.there }) {
		others = maps.Clone(others)
		if others == nil {
			others = map[string]feature{}
		}
		for key, slot := range b.set.slots {
			if f := b.room.found[slot]; f.there {
				others[key] = f
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		f := others[key]
		n, err := f.count()
		if err == nil {
			b.leave(key, n, dataset.CodeUndeclared, dataset.Detail{Want: "features.json"})
		} else if err := b.lose(&leaf{key: key}, &part{bytes: f.size, n: n}, err); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) leave(name string, count int, code dataset.Code, d dataset.Detail) {
	b.e.Notes = append(b.e.Notes, dataset.Note{Code: code, Subject: name, Count: count, Detail: d})
}

// lose counts a broken feature.
func (b *builder) lose(l *leaf, p *part, err error) error {
	bad, ok := dataset.AsBroken(err)
	if !ok || b.set.opt.Strict {
		return err
	}
	b.e.Notes.AddDamage(dataset.CodeArrayBroken, int64(p.bytes), bad)
	b.leave(l.name(), p.n, dataset.CodeBroken, dataset.Detail{Cause: dataset.Bare(bad)})
	return nil
}

// clock reads the step times, or computes them from the rate.
func (b *builder) clock(parts []part) (err error) {
	b.e.Frames = b.steps
	if b.times, err = dataset.StepTimes(b.steps, b.set.rate); err != nil {
		return err
	}
	for i := range parts {
		if p := &parts[i]; p.leaf == b.set.clock && b.set.rate == 0 && p.n == b.steps {
			b.e.Steps, b.times = false, b.times[:0]
			err = p.numbers(func(v uint64) { b.times = append(b.times, int64(v)) })
		}
	}
	if err == nil {
		b.clocked, err = tensor.Of(b.times, b.steps)
	}
	return err
}

// part takes a leaf's features from the record's, and counts their values.
func (b *builder) part(l *leaf, p *part) error {
	p.leaf = l
	take := func(slot int) (f feature, ok bool) {
		f, b.room.found[slot] = b.room.found[slot], feature{}
		p.bytes, p.there = p.bytes+f.size, p.there || f.there
		return f, f.there
	}
	p.feature, _ = take(l.slots.own)
	lengths, measured := feature{}, false
	for i, slot := range l.slots.lengths {
		if f, ok := take(slot); i == 0 {
			lengths, measured = f, ok
		}
	}
	if l.depth > 1 && p.feature.listed == noList {
		p.feature, _ = take(l.slots.flat)
	}
	if l.why != "" {
		take(l.slots.shape)
		if f, ok := take(l.slots.value); ok {
			p.feature = f
		}
	}
	var err error
	if p.n, err = p.feature.count(); err != nil {
		return err
	}
	if l.why == "" && p.n > 0 && p.feature.listed != l.list() {
		return p.body.bad(0, "feature "+quote(l.key), p.feature.listed.String(), l.list().String())
	}
	if measured {
		p.lengths, err = lengthsOf(l, lengths)
	}
	return err
}

// lengthsOf reads each step's value count. The result is not nil.
func lengthsOf(l *leaf, f feature) ([]int, error) {
	lengths, worst := []int{}, uint64(0)
	var err error
	if f.listed == int64List {
		err = f.numbers(func(v uint64) {
			worst = max(worst, v) // a negative length becomes large
			lengths = append(lengths, int(v))
		})
	} else if n, bad := f.count(); bad != nil || n > 0 {
		worst, err = math.MaxUint64, bad
	}
	if err == nil && worst > math.MaxInt32 {
		err = f.body.bad(0, "lengths of feature "+quote(l.key), f.listed.String()+" with "+strconv.FormatInt(int64(worst), 10), "whole numbers from 0 on")
	}
	return lengths, err
}

// width returns how many values a row has, and false if a dimension is open.
func (p *part) width() (int, bool) {
	if p.kind == numbers && p.encoding == "" {
		return len(p.columns), p.columns != nil
	}
	if p.depth == 2 && p.inner >= 0 {
		return p.inner, true
	}
	return 1, true
}

// small returns how many numbers a stream has if it shares memory with other small streams in the episode. It returns 0 for others.
func (p *part) small() int {
	if p.n > 1024 || p.kind != numbers || p.encoding != "" || !p.perStep() || !p.scalar.FitsF32() {
		return 0
	}
	return p.n
}

// vote returns the step count that a feature implies, or false if it implies none.
func (p *part) vote() (int, bool) {
	width, closed := p.width()
	switch {
	case !p.there || !p.perStep():
		return 0, false
	case p.lengths != nil:
		return len(p.lengths), true
	case p.ragged() || !closed || width == 0 || p.n%width != 0:
		return 0, false
	}
	return p.n / width, true
}

// add adds a feature to the episode.
func (b *builder) add(p *part) error {
	if !p.perStep() {
		return b.fact(p)
	}
	if !p.there && p.optional {
		b.leave(p.name(), 0, dataset.CodeNotInEpisode, dataset.Detail{})
		return nil
	}
	rows, times, err := b.rows(p)
	if err != nil {
		return err
	}
	switch {
	case p.leaf == b.set.clock:
		return nil
	case p.kind == texts:
		b.text(p, times)
		return nil
	case p.kind == images:
		b.media(p.leaf, p.name(), p.items(p.n), times)
		return nil
	}
	return b.stream(p, rows, times)
}

// rows returns the expected row count, and each row's time. If the values disagree with the step count, it returns an error.
func (b *builder) rows(p *part) (int, []int64, error) {
	width, closed := p.width()
	bad := func(got, want string) error {
		return p.body.bad(0, "feature "+quote(p.key), got, want)
	}
	if !p.there && b.steps > 0 {
		return 0, nil, formatError(dataset.ErrCorrupt, "", b.at, "feature "+quote(p.key), "none", fmt.Sprintf("%d steps of it", b.steps))
	}
	if p.lengths != nil && len(p.lengths) != b.steps {
		return 0, nil, bad(fmt.Sprintf("lengths of %d steps", len(p.lengths)), fmt.Sprintf("%d steps", b.steps))
	}
	if p.ragged() {
		if p.there && p.lengths == nil && p.n > 0 {
			return 0, nil, bad("no ragged_row_lengths_0", "one, of a sequence within the steps")
		}
		var times []int64
		sum := 0
		for i, n := range p.lengths {
			if sum += n; sum > p.n {
				return 0, nil, bad(fmt.Sprintf("%d values", p.n), "more, by the lengths")
			}
			for range n {
				times = append(times, b.times[i])
			}
		}
		if closed && sum*width != p.n {
			return 0, nil, bad(fmt.Sprintf("%d values", p.n), fmt.Sprintf("%d of %s, by the lengths", sum, shapeText(p.shape)))
		}
		return sum, times, nil
	}
	for i, n := range p.lengths {
		if n != p.inner {
			return 0, nil, bad(fmt.Sprintf("length %d in step %d", n, i), fmt.Sprint(p.inner))
		}
	}
	if closed && p.n != b.steps*width || !closed && (b.steps == 0 && p.n > 0 || b.steps > 0 && p.n%b.steps != 0) {
		return 0, nil, bad(fmt.Sprintf("%d values", p.n), fmt.Sprintf("%d steps of %s", b.steps, shapeText(p.row())))
	}
	times := b.times
	if p.kind == images && width != 1 {
		times = make([]int64, 0, p.n)
		for _, t := range b.times {
			times = append(times, slices.Repeat([]int64{t}, width)...)
		}
	}
	return b.steps, times, nil
}

// stream creates a stream from rows of numbers.
func (b *builder) stream(p *part, rows int, times []int64) error {
	n := p.small()
	v, err := p.decode(p.feature, p.n, b.shared[:0:n])
	if err != nil {
		return err
	}
	b.shared = b.shared[n:]
	columns := p.columns
	if columns == nil { // an open shape follows from the values
		if rows == 0 || v.len() == 0 {
			b.leave(p.name(), 0, dataset.CodeNoValues, dataset.Detail{})
			return nil
		}
		shape := slices.Clone(p.row())
		known := 1
		for _, d := range shape {
			known *= max(d, 1)
		}
		width := v.len() / rows
		if v.len()%rows != 0 || width%known != 0 {
			return p.body.bad(0, "feature "+quote(p.key), fmt.Sprintf("%d values", v.len()), fmt.Sprintf("%d rows of %s", rows, shapeText(shape)))
		}
		if width > maxColumns {
			b.leave(p.name(), p.n, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(width), Want: strconv.Itoa(maxColumns), Unit: "columns"})
			return nil
		}
		shape[slices.Index(shape, -1)] = width / known
		columns = p.columnsOf(shape)
	}
	if v.len() != rows*len(columns) {
		return p.body.bad(0, "feature "+quote(p.key), fmt.Sprintf("%d values", v.len()), fmt.Sprintf("%d rows of %d", rows, len(columns)))
	}
	if p.leaf == b.set.task {
		b.e.Attributes.Task = v.text(len(columns))
	}
	s := dataset.Stream{Name: p.name(), Columns: columns, Inexact: v.inexact}
	if s.Times = b.clocked; p.ragged() {
		if s.Times, err = tensor.Of(times, len(times)); err != nil {
			return err
		}
	}
	if s.Values, err = v.tensor(rows, len(columns)); err == nil && v.exact != nil {
		s.Integers, err = tensor.Of(v.exact, rows, len(columns))
	}
	if err != nil {
		return err
	}
	b.e.Streams = append(b.e.Streams, s)
	return nil
}

// maxFact limits the numbers in an attribute.
const maxFact = 64

// fact adds a value for the whole episode.
func (b *builder) fact(p *part) error {
	if !p.there {
		b.leave(p.key, 0, dataset.CodeNotInEpisode, dataset.Detail{})
		return nil
	}
	wrong := func(n int) error {
		return p.body.bad(0, "feature "+quote(p.key), fmt.Sprintf("%d values", n), "a value of "+shapeText(p.shape))
	}
	switch p.kind {
	case images:
		b.leave(p.key, p.n, dataset.CodeEpisodeImage, dataset.Detail{})
		return nil
	case texts:
		items := p.items(p.n)
		switch {
		case len(items) != 1:
			return wrong(p.n)
		case !utf8.Valid(items[0].b):
			b.leave(p.key, 1, dataset.CodeNotUTF8, dataset.Detail{})
		default:
			b.say(p, string(items[0].b))
		}
		return nil
	}
	width := 1
	for _, d := range p.shape {
		width = min(width*d, maxColumns)
	}
	switch {
	case slices.Contains(p.shape, -1) || width > maxFact:
		b.leave(p.key, p.n, dataset.CodeEpisodeArray, dataset.Detail{Want: strconv.Itoa(maxFact)})
		return nil
	case p.encoding == "" && p.n != width:
		return wrong(p.n)
	}
	list, err := p.print()
	switch {
	case err != nil:
		return err
	case len(list) != width:
		return wrong(len(list))
	case len(p.shape) > 0:
		b.e.Attributes.Other[p.key] = "[" + strings.Join(list, " ") + "]"
		return nil
	}
	b.e.Attributes.Other[p.key] = list[0]
	if p.dtype == "bool" && p.last() == "success" {
		done := list[0] == "true"
		b.e.Attributes.Success = &done
	}
	return nil
}

// print formats numbers exactly.
func (p *part) print() (list []string, err error) {
	if p.encoding == "" && p.feature.listed == int64List {
		err = p.numbers(func(v uint64) {
			switch p.dtype {
			case "bool":
				list = append(list, strconv.FormatBool(v != 0))
			case "uint64":
				list = append(list, strconv.FormatUint(v, 10))
			default:
				list = append(list, strconv.FormatInt(int64(v), 10))
			}
		})
		return list, err
	}
	v, err := p.decode(p.feature, p.n, nil)
	if err != nil {
		return nil, err
	}
	bits := 32
	if v.wide && p.encoding != "" {
		bits = 64
	}
	for _, x := range v.narrow {
		list = append(list, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	for _, x := range v.double {
		list = append(list, strconv.FormatFloat(x, 'g', -1, bits))
	}
	return list, nil
}
