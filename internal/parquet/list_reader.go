package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// elements counts the schema elements for a field.
func elements(field *parquet.Column) int {
	n := 1
	for _, below := range field.Columns() {
		n += elements(below)
	}
	return n
}

// newLists returns a column without its rows, or nil if some leaf's type cannot be written.
func newLists(f *handle, field *parquet.Column, schema []format.SchemaElement) (l *Lists, parts []*leaf) {
	l = &Lists{Column: field, schema: schema}
	good := true
	var visit func(field, shared *parquet.Column, inner []int)
	visit = func(field, shared *parquet.Column, inner []int) {
		if field.Repeated() {
			inner = append(slices.Clip(inner), field.MaxDefinitionLevel())
		}
		for i, below := range field.Columns() {
			if i > 0 {
				shared = field
			}
			visit(below, shared, inner)
		}
		if field.Leaf() {
			own := newLeaf(f, field)
			if field.Type().Kind() < 0 { // only nulls: pyarrow derives this type if no element has a value
				own.kind = "int32"
			}
			l.leaves, parts = append(l.leaves, listLeaf{field, shared, inner}), append(parts, own)
			good = good && inner != nil && slices.Contains([]string{"bool", "string", "float32", "float64", "int32", "int64"}, own.kind)
		}
	}
	if visit(field, field, nil); !good {
		return nil, nil
	}
	return l, parts
}

func (c *Column) readLists(ctx context.Context, group int, from, to int64, v *Values) error {
	if v.Lists == nil && c.lists != nil {
		copied := *c.lists
		v.Lists = &copied
	}
	if c.lists == nil || !c.lists.SameSchema(v.Lists) {
		return c.file.bad(dataset.ErrUnsupported, -1, "column "+c.Name, c.Type, "lists of structures with one schema", nil)
	}
	first, count := len(v.Lists.Rows), 0
	v.Lists.Rows = append(v.Lists.Rows, make([]ListRow, to-from)...)
	for i, l := range c.parts {
		part := &listPart{leaf: i, values: count}
		if err := l.read(ctx, group, from, to, &Values{part: part}); err != nil {
			return err
		}
		count = part.values // all leaves share one limit
		for k, values := range part.rows {
			row := &v.Lists.Rows[first+k]
			if *row = append(*row, values); !c.lists.fits(*row, i) {
				return c.file.bad(dataset.ErrCorrupt, -1, "column "+l.name, fmt.Sprintf("levels %+v in row %d", values, from+int64(k)), "those of lists", nil)
			}
		}
	}
	return nil
}
