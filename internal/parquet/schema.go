package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// Field describes a column that is written. Type is "float32", "float64", "int64", "bool", "string" or "image", which is a struct of the
// fields bytes and path. The rows of one with a Shape are lists in lists: [26] is 26 values a row, [3,1,1] lists of lists of lists; those
// of a Ragged one are lists with any length but 0; without either, a row is a value. A field with Lists has their schema.
type Field struct {
	Name   string
	Type   string
	Shape  []int
	Ragged bool
	Lists  *Lists
}

// depth is how many lists lie in one another.
func (c Field) depth() int {
	if c.Ragged {
		return 1
	}
	return len(c.Shape)
}

// width returns how many values a row has, 1 if that differs.
func (c Field) width() int {
	n := 1
	for _, d := range c.Shape {
		n *= d
	}
	return n
}

// definition is the level of a value that is there: one for the column, two for each list, one for the field of a struct.
func (c Field) definition() int {
	d := 1 + 2*c.depth()
	if c.Type == "image" {
		d++
	}
	return d
}

// repetition is the level of value i of a row: how many lists go on.
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

// repetitions returns the levels of a row's values, if it is not Ragged.
func (c Field) repetitions() []byte {
	row := make([]byte, c.width())
	for i := range row {
		row[i] = byte(c.repetition(i))
	}
	return row
}

// node returns the column as the library describes it.
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

// schemaOf returns the file's schema, with the columns in their order.
func schemaOf(fields []Field) *parquet.Schema {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range fields {
		g.Group[c.Name] = c.node()
		g.names = append(g.names, c.Name)
	}
	return parquet.NewSchema("schema", g)
}

// orderedGroup is a group whose fields keep their order: the library sorts them by name.
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

// GoType is of no use here, and the library's panics for names with a comma.
func (g orderedGroup) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }
