package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/tensor"
)

// MaxFields is the most fields that a record may have. Descriptors of points have up to about two thousand.
const MaxFields = 4096

// Field is one scalar of a record.
type Field struct {
	Name   string
	Type   string // the type's name in the file
	Scalar Scalar
	// Packed is 3 or 4 for a colour of 32 bits, 0xAARRGGBB. It becomes the features red, green and blue, and alpha if Packed is 4.
	Packed int
	Skip   bool // has bytes in the record, but does not become a feature
}

// Pack sets Packed if the field is called rgb or rgba and has 32 bits.
func (f *Field) Pack() {
	if name := strings.ToLower(f.Name); f.Scalar.Size() == 4 && (name == "rgb" || name == "rgba") {
		f.Packed, f.Type = len(name), name
	}
}

// Set is a cloud under construction.
type Set struct {
	fields           []Field
	to               []int // [fields]: the axis minus 3 for x, y and z, the first feature column for others, or skip
	points, features table
	columns          []dataset.Column
	n                int
	inexact          int
	before           int // inexact before the last row
}

// table is a tensor [n, width] under construction, of f64 if it is wide.
type table struct {
	width  int
	wide   bool
	narrow []float32
	double []float64
}

// room allocates n rows.
func (t *table) room(n int) (err error) {
	if t.wide {
		t.double, err = memory.Make[float64]("points", n*t.width)
	} else {
		t.narrow, err = memory.Make[float32]("points", n*t.width)
	}
	return err
}

// load is loadAll into a column of the table.
func (t *table) load(row, column, n int, scalar Scalar, data []byte, first, stride int, order binary.ByteOrder) (inexact int) {
	if t.wide {
		return loadAll(t.double, t.width, row, column, n, scalar, data, first, stride, order)
	}
	return loadAll(t.narrow, t.width, row, column, n, scalar, data, first, stride, order)
}

func (t *table) tensor(n int) (*tensor.Tensor, error) {
	if t.wide {
		return tensor.Of(t.double, n, t.width)
	}
	return tensor.Of(t.narrow, n, t.width)
}

const skip = math.MinInt

// axesOf maps the names of x, y and z to 0, 1 and 2. If the small letter is missing, the capital takes its place.
func axesOf(fields []Field) map[string]int {
	axes := map[string]int{}
	for i, name := range []string{"x", "y", "z"} {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name && !f.Skip }) {
			name = strings.ToUpper(name)
		}
		axes[name] = i
	}
	return axes
}

// NewSet returns a set of n points. The error names an axis that is missing, or a field that occurs twice, or is a *memory.Error.
func NewSet(fields []Field, n int) (*Set, error) {
	s := &Set{fields: fields, n: n, to: make([]int, len(fields))}
	axes := axesOf(fields)
	seen := map[string]bool{}
	add := func(name, typ string, integer bool) error {
		if seen[name] {
			return fmt.Errorf("%q twice", name)
		}
		seen[name] = true
		if _, isAxis := axes[name]; !isAxis {
			s.columns = append(s.columns, dataset.Column{Name: name, Type: typ, Integer: integer})
		}
		return nil
	}
	for i, f := range fields {
		var err error
		axis, isAxis := axes[f.Name]
		switch {
		case f.Skip:
			s.to[i] = skip
		case f.Packed > 0:
			s.to[i] = len(s.columns)
			for _, name := range []string{"red", "green", "blue", "alpha"}[:f.Packed] {
				if err == nil {
					err = add(name, f.Type, true)
				}
			}
		default:
			if s.to[i] = len(s.columns); isAxis {
				s.to[i] = axis - 3
			}
			err = add(f.Name, f.Type, f.Scalar.IsInteger())
		}
		if err != nil {
			return nil, err
		}
		if !f.Skip && f.Scalar == F64 {
			s.tableOf(i).wide = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		if !seen[name] {
			return nil, fmt.Errorf("no %q", strings.ToLower(name))
		}
	}
	s.points.width, s.features.width = 3, len(s.columns)
	return s, errors.Join(s.points.room(n), s.features.room(n))
}

// tableOf returns the table of field i, and column its first column there.
func (s *Set) tableOf(i int) *table {
	if s.to[i] < 0 {
		return &s.points
	}
	return &s.features
}

func (s *Set) column(i int) int {
	if s.to[i] < 0 {
		return s.to[i] + 3
	}
	return s.to[i]
}

// Fill reads field i of all points: the numbers are in data at first, first+stride and so on.
func (s *Set) Fill(i int, data []byte, first, stride int, order binary.ByteOrder) {
	s.fill(i, 0, s.n, data, first, stride, order)
}

// Put reads field i of one point from the start of data.
func (s *Set) Put(row, i int, data []byte, order binary.ByteOrder) {
	s.fill(i, row, 1, data, 0, 0, order)
}

// fill reads field i of n points from row on.
func (s *Set) fill(i, row, n int, data []byte, first, stride int, order binary.ByteOrder) {
	switch f := s.fields[i]; {
	case s.to[i] == skip:
	case f.Packed > 0:
		for k := range n {
			s.colour(row+k, i, order.Uint32(data[first+k*stride:]))
		}
	default:
		s.inexact += s.tableOf(i).load(row, s.column(i), n, f.Scalar, data, first, stride, order)
	}
}

// loadAll loads n numbers into a column, from a row on, and returns how many are inexact.
func loadAll[T float32 | float64](to []T, width, row, column, n int, scalar Scalar, data []byte, first, stride int, order binary.ByteOrder) (inexact int) {
	if scalar == F32 && order == binary.LittleEndian { // the common case, without a switch for each number
		for k := range n {
			to[(row+k)*width+column] = T(math.Float32frombits(binary.LittleEndian.Uint32(data[first+k*stride:])))
		}
		return 0
	}
	for k := range n {
		v, exact := Load[T](scalar, data[first+k*stride:], order)
		if to[(row+k)*width+column] = v; !exact {
			inexact++
		}
	}
	return inexact
}

// Text reads field i of a point from text. The error names the expected text.
func (s *Set) Text(row, i int, text string) error {
	f := s.fields[i]
	if s.to[i] == skip {
		return nil
	}
	var exact bool
	var err error
	switch t := s.tableOf(i); {
	case f.Packed > 0:
		return s.textColour(row, i, text)
	case t.wide:
		t.double[row*t.width+s.column(i)], exact, err = parse[float64](f.Scalar, text)
	default:
		t.narrow[row*t.width+s.column(i)], exact, err = parse[float32](f.Scalar, text)
	}
	if err == nil && !exact {
		s.inexact++
	}
	return err
}

func (s *Set) textColour(row, i int, text string) error {
	v, _, err := parse[float32](s.fields[i].Scalar, text)
	if err != nil {
		return err
	}
	bits := math.Float32bits(v)
	if s.fields[i].Scalar == F32 && v != v {
		s.unknownColour(row, i) // a NaN as text has lost the bits of the colour
		return nil
	}
	if s.fields[i].Scalar != F32 {
		// f32 cannot hold all 32 bits. parse accepted the text, so that it is an integer that fits.
		whole, _ := strconv.ParseInt(text, 10, 64)
		bits = uint32(whole)
	}
	s.colour(row, i, bits)
	return nil
}

func (s *Set) colour(row, i int, bits uint32) {
	for k := range s.fields[i].Packed {
		s.part(row, i, k, float32(bits>>[]int{16, 8, 0, 24}[k]&255))
	}
}

func (s *Set) unknownColour(row, i int) {
	for k := range s.fields[i].Packed {
		s.part(row, i, k, float32(math.NaN()))
	}
}

// part writes part k of a colour.
func (s *Set) part(row, i, k int, v float32) {
	at, t := row*s.features.width+s.to[i]+k, &s.features
	if t.wide {
		t.double[at] = float64(v)
	} else {
		t.narrow[at] = v
	}
}

// Row reads a point. If that fails, nothing is counted. A nil set only reads.
func (s *Set) Row(read func() error) error {
	if s == nil {
		return read()
	}
	before := s.inexact
	err := read()
	if err != nil {
		s.inexact = before
	} else {
		s.before = before
	}
	return err
}

// undo takes back the counts of the last row.
func (s *Set) undo() {
	if s != nil {
		s.inexact = s.before
	}
}

// Keep drops all points but the first n.
func (s *Set) Keep(n int) {
	if s == nil {
		return
	}
	s.n = n
	for _, t := range []*table{&s.points, &s.features} {
		if t.wide {
			t.double = t.double[:n*t.width]
		} else {
			t.narrow = t.narrow[:n*t.width]
		}
	}
}

// Cloud returns the cloud of all points.
func (s *Set) Cloud() (*dataset.Cloud, error) {
	points, err := s.points.tensor(s.n)
	if err != nil {
		return nil, err
	}
	features, err := s.features.tensor(s.n)
	if err != nil {
		return nil, err
	}
	c, err := dataset.CloudOf(points, features, s.columns)
	if err != nil {
		return nil, err
	}
	c.Inexact = s.inexact
	return c, nil
}

// NoRoom reports whether an error of NewSet is about memory.
func NoRoom(err error) bool { return errors.Is(err, tensor.ErrOutOfMemory) }
