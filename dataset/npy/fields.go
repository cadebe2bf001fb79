package npy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// Field is a number in a record, or a field of another type.
type Field struct {
	Name string // "x"; in an array or a nested record with its place: "acc[0]", "pose.x"
	at   int    // bytes from the record's start
	element
	wide bool // an array that is too large to be columns
}

// Type returns numpy's name for the field's type, such as "float32".
func (f *Field) Type() string { return f.name() }

// IsClock reports whether the field's type can hold timestamps: see ReadTimes.
func (f *Field) IsClock() bool { return f.clock() }

// note is about a field that makes no column, of count records.
func (f *Field) note(count int) dataset.Note {
	n := dataset.Note{Code: dataset.CodeValueType, Subject: f.Name, Count: count, Detail: dataset.Detail{Got: f.name()}}
	if f.wide {
		n.Code, n.Got, n.Want, n.Unit = dataset.CodeTooWide, "", strconv.Itoa(records.MaxFields), "numbers a record"
	}
	return n
}

// maxName is how long the name of a field may be that is given number by number.
const maxName = 1024

// flatten lists the fields of the records, and works out their size. The header's text begins at a byte.
func (h *Header) flatten(base int64) error {
	size, _, err := measure(&h.dtype, base)
	if err != nil {
		return err
	}
	h.element = element{kind: recordKind, item: size}
	h.Fields = []Field{}
	return h.add(&h.dtype, "", 0, base)
}

// measure returns the size of a type in bytes, and the number of its parts: numbers, paddings and others. Both must fit in an
// int32.
func measure(d *dtype, base int64) (bytes, parts int, err error) {
	fail := func(kind error, at int, got, want string) (int, int, error) {
		return 0, 0, &dataset.FormatError{Format: "npy", Offset: base + int64(at), Kind: kind, Msg: "record", Got: got, Want: want}
	}
	parts = 1
	if !d.record {
		e, err := elementOf(d.text, base+int64(d.at))
		if err != nil {
			return 0, 0, err
		}
		bytes = e.item
	}
	seen := map[string]bool{}
	for i := range d.fields {
		f := &d.fields[i]
		if seen[f.name] && f.name != "" {
			return fail(dataset.ErrCorrupt, f.at, "field "+records.Quote(f.name)+" twice", "each once")
		}
		seen[f.name] = true
		b, n, err := measure(&f.dtype, base)
		if err != nil {
			return 0, 0, err
		}
		bytes, parts = bytes+b, parts+n // the text has room for a few thousand fields
	}
	times, err := tensor.NumElements(d.shape...)
	if err != nil || len(d.shape) > maxRank || times > 0 && max(bytes, parts) > math.MaxInt32/times {
		return fail(dataset.ErrTooLarge, d.at, fmt.Sprintf("an array of %d dimensions", len(d.shape)), "less than 2^31 bytes")
	}
	return bytes * times, parts * max(times, 1), nil
}

// add lists the fields in a type that begins at a byte of the record.
func (h *Header) add(d *dtype, path string, at int, base int64) error {
	if !d.record {
		e, err := elementOf(d.text, base+int64(d.at))
		if err == nil {
			h.Fields = append(h.Fields, Field{Name: path, at: at, element: e})
		}
		return err
	}
	for i := range d.fields {
		f := &d.fields[i]
		size, parts, err := measure(&f.dtype, base)
		if err != nil {
			return err
		}
		if f.name == "" && !f.record && strings.HasPrefix(f.text, "|V") { // padding
			at += size
			continue
		}
		name := f.name
		if path != "" {
			name = path + "." + f.name
		}
		times, _ := tensor.NumElements(f.shape...) // which measure has looked at
		if times == 0 || parts > records.MaxFields-len(h.Fields) || len(name) > maxName {
			h.Fields = append(h.Fields, Field{Name: name[:min(len(name), maxName)], at: at, wide: true})
			at += size
			continue
		}
		one := f.dtype
		one.shape = nil
		for k := range times {
			if err := h.add(&one, name+place(f.shape, k), at, base); err != nil {
				return err
			}
			at += size / times
		}
	}
	return nil
}

// place is element k of an array in brackets: "[0]", "[1][2]".
func place(shape []int, k int) (s string) {
	for _, d := range slices.Backward(shape) {
		s = "[" + strconv.Itoa(k%d) + "]" + s
		k /= d
	}
	return s
}
