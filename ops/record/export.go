package record

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/robocache/robocache/internal/device"
)

// DependsError reports that a plan depends on the place of its buffers. Something that is not an address changed when
// the buffers moved, so the plan cannot be exported. What names it, and First and Second are its two values.
type DependsError struct {
	What          string
	First, Second string
}

func (e *DependsError) Error() string {
	return fmt.Sprintf("record: the plan depends on where its memory lies: %s is %s, and %s with the memory elsewhere", e.What, e.First, e.Second)
}

// exporter combines two recordings into one plan.
type exporter struct {
	*Plan
	both    [2]*recording
	numbers map[*memory]int     // first recording's memories, without slabs, to buffer numbers in the plan
	second  map[*memory]*memory // the second recording's counterparts
	faults  map[int]int         // cells that relocations refer to, to buffer numbers of their faults
	images  map[string]int
}

// same returns an error unless a and b are equal.
func same(what string, a, b any) error {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return &DependsError{what, fmt.Sprint(a), fmt.Sprint(b)}
}

func newExporter(op string, both [2]*recording) *exporter {
	return &exporter{Plan: &Plan{Version: Version, Op: op, Arguments: []Argument{}, Images: []Image{}, Buffers: []Buffer{}, Launches: []Launch{}}, both: both,
		numbers: map[*memory]int{}, second: map[*memory]*memory{}, faults: map[int]int{}, images: map[string]int{}}
}

func export(op string, tensors []Tensor, both [2]*recording) (*Plan, error) {
	x := newExporter(op, both)
	var arguments []*memory
	for i := range tensors {
		m := both[0].memories[slices.IndexFunc(both[0].memories, func(m *memory) bool { return m.argument && m.number == i })]
		arguments = append(arguments, m)
		x.Arguments = append(x.Arguments, Argument{tensors[i].Name, m.bytes, both[0].written[i], tensors[i].Align})
	}
	if err := x.pair(arguments); err != nil {
		return nil, err
	}
	return x.finish()
}

// pair finds each memory's counterpart and numbers the memories: arguments first, then those that the plan allocated.
func (x *exporter) pair(arguments []*memory) error {
	if err := same("the number of buffers", len(x.both[0].memories), len(x.both[1].memories)); err != nil {
		return err
	}
	if err := same("the number of slabs", len(x.both[0].slabs), len(x.both[1].slabs)); err != nil {
		return err
	}
	for i, m := range x.both[0].slabs {
		x.second[m] = x.both[1].slabs[i]
	}
	for i, m := range arguments {
		x.numbers[m] = i
	}
	for i, m := range x.both[0].memories {
		o := x.both[1].memories[i]
		x.second[m] = o
		if err := same(fmt.Sprintf("buffer %d", i), []any{m.bytes, m.sunk}, []any{o.bytes, o.sunk}); err != nil {
			return err
		}
		_, argument := x.numbers[m]
		switch {
		case argument:
		case m.host != nil:
			return fmt.Errorf("record: %d bytes of pinned memory: a plan has none but its flag", m.bytes)
		default:
			x.numbers[m] = len(x.numbers)
			x.Buffers = append(x.Buffers, Buffer{Kind: Memory, Bytes: m.bytes})
		}
	}
	return nil
}

// finish exports the buffers' contents and the launches.
func (x *exporter) finish() (*Plan, error) {
	for _, m := range x.both[0].memories {
		if at := x.numbers[m] - len(x.Arguments); at >= 0 {
			if err := x.content(at, m, x.second[m]); err != nil {
				return nil, err
			}
		}
	}
	if err := same("the number of launches", len(x.both[0].launches), len(x.both[1].launches)); err != nil {
		return nil, err
	}
	for i := range x.both[0].launches {
		if err := x.launch(i, &x.both[0].launches[i], &x.both[1].launches[i]); err != nil {
			return nil, err
		}
	}
	if c, d := x.both[0].counts, x.both[1].counts; c != nil {
		if err := same("the place of the counts", []any{c.at, c.bytes, x.second[c.memory]}, []any{d.at, d.bytes, d.memory}); err != nil {
			return nil, err
		}
		x.Counts = &Range{x.numbers[c.memory], c.at, int64(c.bytes)}
	}
	x.number()
	return x.Plan, x.check()
}

// content exports a buffer's initial content.
func (x *exporter) content(at int, m, o *memory) error {
	b, what := &x.Buffers[at], fmt.Sprintf("the content of buffer %d", at)
	if err := same(what, m.fill, o.fill); err != nil {
		return err
	}
	b.Fill = m.fill
	if len(m.init) == 0 && len(o.init) == 0 {
		return nil
	}
	data, found, err := x.addresses(what, m.init, o.init)
	if err != nil {
		return err
	}
	b.Relocations = found
	b.Init = &Span{int64(len(x.Payload)), int64(len(data))}
	x.Payload = append(x.Payload, data...)
	return nil
}

// launch exports a launch.
func (x *exporter) launch(i int, l, o *launch) error {
	what := fmt.Sprintf("launch %d, of %s", i, l.fn.entry.Name)
	shape := func(l *launch) []any {
		return []any{l.fn.entry.Name, l.fn.image.Hash, l.grid, l.block, l.shared, l.carveout, l.dependent}
	}
	if err := same(what, shape(l), shape(o)); err != nil {
		return err
	}
	out := Launch{Image: x.image(l), Entry: l.fn.entry.Name, Grid: l.grid, Block: l.block, Shared: l.shared, Carveout: l.carveout, Dependent: l.dependent, Params: []Param{}, Relocations: []ParamRelocation{}}
	offset := int64(0)
	for k, p := range l.params {
		data, found, err := x.addresses(fmt.Sprintf("%s: parameter %d", what, k), p, o.params[k])
		if err != nil {
			return err
		}
		for _, r := range found {
			out.Relocations = append(out.Relocations, ParamRelocation{int64(k), r[0], r[1], r[2]})
		}
		align := int64(l.fn.entry.Params[k].Align)
		offset = (offset + align - 1) / align * align
		out.Params = append(out.Params, Param{int64(len(x.Payload)), int64(len(data)), offset})
		offset += int64(len(data))
		x.Payload = append(x.Payload, data...)
	}
	x.Launches = append(x.Launches, out)
	return nil
}

func (x *exporter) image(l *launch) int {
	im := &l.fn.image
	n, ok := x.images[im.File]
	if !ok {
		n = len(x.Images)
		x.images[im.File] = n
		x.Images = append(x.Images, Image{im.Family, im.File, im.Hash, int64(len(im.Data()))})
	}
	return n
}

// addresses compares bytes from the two recordings. It returns them with zeros in place of addresses, and the relocations for these.
func (x *exporter) addresses(what string, a, b []byte) (data []byte, found []Relocation, err error) {
	if err := same("the length of "+what, len(a), len(b)); err != nil {
		return nil, nil, err
	}
	data = slices.Clone(a)
	for at := 0; at < len(a); at += 8 {
		end := min(at+8, len(a))
		if bytes.Equal(a[at:end], b[at:end]) {
			continue
		}
		to, ok := Relocation{}, false
		if end-at == 8 {
			to, ok = x.resolve(word(a[at:]), word(b[at:]))
		}
		if !ok {
			return nil, nil, &DependsError{fmt.Sprintf("%s at byte %d", what, at), fmt.Sprintf("%#x", a[at:end]), fmt.Sprintf("%#x", b[at:end])}
		}
		to[0] = int64(at)
		found = append(found, to)
		clear(data[at:end])
	}
	return data, found, nil
}

// resolve finds the buffer that contains an address from the first recording, or ends there. The second recording's address must have
// the same offset in the counterpart. Cells get provisional numbers from cellNumber.
func (x *exporter) resolve(a, b uint64) (to Relocation, ok bool) {
	for m, o := range x.second {
		at := a - m.base
		if at > uint64(m.bytes) || b-o.base != at {
			continue
		}
		if !m.slab {
			return Relocation{0, int64(x.numbers[m]), int64(at)}, true
		}
		kind, size := 0, uint64(device.CellBytes)
		if m.host != nil {
			kind, size = 1, device.FlagBytes
		}
		if at%size != 0 || at == uint64(m.bytes) {
			return to, false
		}
		cell := cellOf(x.both[0].slabs, m, int64(at))
		x.faults[cell] = 0
		return Relocation{0, int64(cellNumber(cell, kind)), 0}, true
	}
	return to, false
}

// cellNumber returns a provisional, negative number for a cell's fault or flag, because the buffer count is not final yet.
func cellNumber(cell, kind int) int { return -1 - 2*cell - kind }

// number creates buffers for the cells in use, and replaces their provisional numbers.
func (x *exporter) number() {
	final := map[int64]int64{}
	for _, c := range slices.Sorted(maps.Keys(x.faults)) {
		x.faults[c] = len(x.Arguments) + len(x.Buffers)
		for kind, b := range []Buffer{{Kind: Fault, Bytes: device.CellBytes}, {Kind: Flag, Bytes: device.FlagBytes}} {
			final[int64(cellNumber(c, kind))] = int64(len(x.Arguments) + len(x.Buffers))
			x.Buffers = append(x.Buffers, b)
		}
	}
	for i := range x.Launches {
		for k := range x.Launches[i].Relocations {
			if r := &x.Launches[i].Relocations[k]; r[2] < 0 {
				r[2] = final[r[2]]
			}
		}
	}
	for i := range x.Buffers {
		for k := range x.Buffers[i].Relocations {
			if r := &x.Buffers[i].Relocations[k]; r[1] < 0 {
				r[1] = final[r[1]]
			}
		}
	}
}
