package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// Field describes a column to write. Type is "float32", "float64", "int64", "bool", "string" or "image", which is a struct with bytes
// and path. With a Shape, a row is a nested list: [26] is 26 values, [3,1,1] lists of lists of lists. If Ragged is set, a row is a list
// with any length except 0. Otherwise a row is a value. With Lists, the field has their schema.
type Field struct {
	Name   string
	Type   string
	Shape  []int
	Ragged bool
	Lists  *Lists
}

// depth returns the list nesting depth.
func (c Field) depth() int {
	if c.Ragged {
		return 1
	}
	return len(c.Shape)
}

// width returns the values per row, 1 if that varies.
func (c Field) width() int {
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// definition returns the definition level for a present value: one for the column, two for each list, one for a struct field.
func (c Field) definition() int {
	d := 1 + 2*c.depth()
	if c.Type == "image" {
		d++
	}
	return d
}

// repetition returns the repetition level for value i in a row: how many enclosing lists continue.
func (c Field) repetition(i int) int {
	if i == 0 {
		return 0
	}
	r, n := c.depth(), 1
	for k := len(c.Shape) - 1; k > 0; k-- {
		if n *= c.Shape[k]; i%n != 0 {
			break
		}
		r--
	}
	return r
}

// repetitions returns the repetition levels for a row's values, if it is not Ragged.
func (c Field) repetitions() []byte {
	row := make([]byte, c.width())
	for i := range row {
		row[i] = byte(c.repetition(i))
	}
	return row
}

// node returns the column in the library's form.
func (c Field) node() parquet.Node {
	if c.Lists != nil {
		return c.Lists
	}
	var n parquet.Node
	switch c.Type {
	case "float32":
		n = encoded(parquet.Leaf(parquet.FloatType))
	case "float64":
		n = encoded(parquet.Leaf(parquet.DoubleType))
	case "int64":
		n = encoded(parquet.Int(64))
	case "bool":
		n = parquet.Encoded(parquet.Leaf(parquet.BooleanType), &parquet.Plain)
	case "string":
		n = encoded(parquet.String())
	case "image":
		n = orderedGroup{names: []string{"bytes", "path"}, Group: parquet.Group{
			"bytes": parquet.Optional(parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.Plain)),
			"path":  parquet.Optional(encoded(parquet.String())),
		}}
	}
	n = parquet.Optional(n)
	for range c.depth() {
		n = parquet.Optional(parquet.List(n))
	}
	return n
}

// encoded returns a column with a dictionary, as pyarrow writes it.
func encoded(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.RLEDictionary) }

// schemaOf returns the file's schema, with the columns in their given order.
func schemaOf(fields []Field) *parquet.Schema {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range fields {
		g.Group[c.Name] = c.node()
		g.names = append(g.names, c.Name)
	}
	return parquet.NewSchema("schema", g)
}

// orderedGroup is a group with fields in their given order, because the library sorts them by name.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g orderedGroup) Fields() []parquet.Field {
	named := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		named[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = named[name]
	}
	return fields
}

// GoType is not used here, but the library's version panics for names with a comma.
func (g orderedGroup) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }
