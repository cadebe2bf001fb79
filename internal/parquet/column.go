package parquet

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// Kind is the kind of a column's values.
type Kind int

const (
	Other   Kind = iota // values that cannot be read: structures, 96-bit times
	Numbers             // numbers or booleans, or lists of them
	Texts               // texts or bytes, or lists of them
	Images              // structures with bytes and a path
)

// Column is a top-level field in the file's rows.
type Column struct {
	Name string
	Kind Kind
	// Type is the numpy name of the values' type: "float32", "int64", "bool", "string"; or "image"; for other kinds a description.
	Type string
	Rank int // list nesting depth; 0 if a row has one value

	file  *handle
	leaf  *leaf // for numbers and texts
	bytes *leaf // for images
	paths *leaf
	lists *Lists // without rows; nil if it cannot be read
	parts []*leaf
}

// newColumn returns a field's column. schema holds the field's schema elements. A structure with one member counts as that member.
func newColumn(f *handle, field *parquet.Column, schema []format.SchemaElement) *Column {
	c := &Column{Name: field.Name(), Type: "a structure", file: f}
	below := field
	for !below.Leaf() && len(below.Columns()) == 1 {
		below = below.Columns()[0]
	}
	if below.MaxRepetitionLevel() > 0 {
		c.lists, c.parts = newLists(f, field, schema)
	}
	if !below.Leaf() {
		b, p := field.Column("bytes"), field.Column("path")
		if len(field.Columns()) == 2 && b != nil && p != nil && isBytes(b) && isBytes(p) && b.MaxRepetitionLevel()+p.MaxRepetitionLevel() == 0 {
			c.Kind, c.Type, c.bytes, c.paths = Images, "image", newLeaf(f, b), newLeaf(f, p)
		}
		return c
	}
	c.Rank = below.MaxRepetitionLevel()
	c.Type = typeOf(below)
	switch {
	case c.Type == "string":
		c.Kind = Texts
	case c.Type[0] != '_':
		c.Kind = Numbers
	default:
		c.Type = c.Type[1:]
		return c
	}
	c.leaf = newLeaf(f, below)
	if c.Kind == Texts && c.Rank == 0 {
		c.bytes = c.leaf // they may be images
	}
	return c
}

func isBytes(c *parquet.Column) bool { return c.Leaf() && c.Type().Kind() == parquet.ByteArray }

// Bounds returns the minimum and maximum in a row group, from the file's statistics, for a column with one number per row. It returns
// false if there are none.
func (c *Column) Bounds(group int) (low, high float64, ok bool) {
	if c.Kind != Numbers || c.Rank > 0 {
		return 0, 0, false
	}
	meta := c.leaf.chunk(group)
	if meta == nil {
		return 0, 0, false
	}
	st := &meta.Statistics
	a, b := st.MinValue, st.MaxValue
	if a == nil && b == nil {
		a, b = st.Min, st.Max // the older fields; the order of signed numbers is the same
	}
	low, okLow := c.number(a)
	high, okHigh := c.number(b)
	return low, high, okLow && okHigh && low <= high && (c.leaf.column.MaxDefinitionLevel() == 0 || c.leaf.nullFree(group))
}

// number decodes a value in the statistics.
func (c *Column) number(b []byte) (float64, bool) {
	switch {
	case c.Type == "float32" && len(b) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case c.Type == "float64" && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case c.Type[0] == 'i' && len(b) == 4:
		return float64(int32(binary.LittleEndian.Uint32(b))), true
	case c.Type[0] == 'i' && len(b) == 8:
		return float64(int64(binary.LittleEndian.Uint64(b))), true
	}
	return 0, false
}

// Read appends rows [from,to) in a row group to v. Values already in v must come from the same column.
func (c *Column) Read(ctx context.Context, group int, from, to int64, v *Values) error {
	if v.AsLists {
		return c.readLists(ctx, group, from, to, v)
	}
	if c.leaf == nil {
		return c.file.bad(dataset.ErrUnsupported, -1, "column "+c.Name, c.Type, "numbers or texts", nil)
	}
	return c.leaf.read(ctx, group, from, to, v)
}
