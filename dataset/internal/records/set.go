package records

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// MaxFields is how many fields a record may have. Descriptors of points have up to about two thousand.
const MaxFields = 4096

// Field is one scalar of a record.
type Field struct {
	Name   string
	Type   string // the file's own name of the type
	Scalar Scalar
	// Packed is 3 or 4 for a colour in 32 bits, 0xAARRGGBB: it becomes the features red, green, blue and, for 4, alpha.
	Packed int
	Skip   bool // takes room in the record, and is not given
}

// Set is a cloud that is being filled.
type Set struct {
	fields           []Field
	to               []int // [fields]: an axis of the points as axis-3, or the first feature column; skip otherwise
	points, features []float32
	columns          []dataset.Column
	n                int
	inexact          int
}

const skip = math.MinInt

// NewSet makes room for n points. The error says what is missing, or there twice.
func NewSet(fields []Field, n int) (*Set, error) {
	s := &Set{fields: fields, n: n, to: make([]int, len(fields))}
	axes := map[string]int{"x": -3, "y": -2, "z": -1}
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
				s.to[i] = axis
			}
			err = add(f.Name, f.Type, f.Scalar.IsInteger())
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"x", "y", "z"} {
		if !seen[name] {
			return nil, fmt.Errorf("no %q", name)
		}
	}
	s.points, s.features = make([]float32, 3*n), make([]float32, n*len(s.columns))
	return s, nil
}

// Fill reads field i of every point: the numbers lie in data at first, first+stride and so on.
func (s *Set) Fill(i int, data []byte, first, stride int, order binary.ByteOrder) {
	f := s.fields[i]
	if s.to[i] == skip {
		return
	}
	if f.Packed > 0 {
		for row := range s.n {
			s.colour(row, i, order.Uint32(data[first+row*stride:]))
		}
		return
	}
	for row := range s.n {
		v, exact := f.Scalar.load(data[first+row*stride:], order)
		s.put(row, i, v, exact)
	}
}

// Put reads field i of one point, from the start of data.
func (s *Set) Put(row, i int, data []byte, order binary.ByteOrder) {
	if s.to[i] != skip {
		v, exact := s.fields[i].Scalar.load(data, order)
		s.put(row, i, v, exact)
	}
}

// Text reads field i of a point as text files have it. The error says what was wanted.
func (s *Set) Text(row, i int, text string) error {
	f := s.fields[i]
	if s.to[i] == skip {
		return nil
	}
	v, exact, err := f.Scalar.parse(text)
	if err != nil {
		return err
	}
	if f.Packed > 0 {
		bits := math.Float32bits(v)
		if f.Scalar != F32 {
			// f32 cannot hold all 32 bits. parse took the text, so that it is a whole number that fits.
			whole, _ := strconv.ParseInt(text, 10, 64)
			bits = uint32(whole)
		}
		s.colour(row, i, bits)
		return nil
	}
	s.put(row, i, v, exact)
	return nil
}

func (s *Set) put(row, i int, v float32, exact bool) {
	if to := s.to[i]; to < 0 {
		s.points[3*row+to+3] = v
	} else {
		s.features[row*len(s.columns)+to] = v
	}
	if !exact {
		s.inexact++
	}
}

func (s *Set) colour(row, i int, bits uint32) {
	at := row*len(s.columns) + s.to[i]
	for k := range s.fields[i].Packed {
		shift := []int{16, 8, 0, 24}[k]
		s.features[at+k] = float32(bits >> shift & 255)
	}
}

// Cloud returns what was filled.
func (s *Set) Cloud() (*dataset.Cloud, error) {
	c, err := dataset.NewCloud(s.points, s.features, s.columns)
	if err != nil {
		return nil, err
	}
	c.Inexact = s.inexact
	return c, nil
}
