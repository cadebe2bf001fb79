package parquet

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// Lists are rows in a column with lists of structures, with the column's schema.
type Lists struct {
	*parquet.Column
	Rows   []ListRow
	schema []format.SchemaElement
	leaves []*leaf
}

// ListRow is a row: for each leaf, its values and nulls with their levels.
type ListRow [][]parquet.Value

// elements counts a field's elements in a schema.
func elements(field *parquet.Column) int {
	n := 1
	for _, below := range field.Columns() {
		n += elements(below)
	}
	return n
}

// newLists returns a column's schema without rows; nil if a leaf has a type that is not written.
func newLists(f *handle, field *parquet.Column, schema []format.SchemaElement) *Lists {
	l := &Lists{Column: field, schema: schema}
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
			own.inner, own.shared, own.most = inner, shared, field.MaxDefinitionLevel()
			if field.Type().Kind() < 0 { // only nulls: pyarrow writes a field that no element has
				own.kind, own.most = "int32", own.most-1
			}
			l.leaves = append(l.leaves, own)
			good = good && inner != nil && slices.Contains([]string{"bool", "string", "float32", "float64", "int32", "int64"}, own.kind)
		}
	}
	if visit(field, field, nil); !good {
		return nil
	}
	return l
}

// Fields returns a structure's fields.
func (l *Lists) Fields() (list []parquet.Field) {
	for _, c := range l.Columns() {
		list = append(list, &Lists{Column: c})
	}
	return list
}

// Encoding returns the encoding to write, whatever the file has.
func (l *Lists) Encoding() encoding.Encoding {
	if isBytes(l.Column) {
		return &parquet.RLEDictionary
	}
	return nil
}

// Compression returns the compression to write.
func (l *Lists) Compression() compress.Codec { return &parquet.Snappy }

// SameSchema reports whether other lists have the same schema. It is true without lists.
func (l *Lists) SameSchema(o *Lists) bool { return l == nil || reflect.DeepEqual(l.schema, o.schema) }

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
	for i, l := range c.lists.leaves {
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

// fits reports whether part i in a row has levels that a list can have, and the same list as the previous part.
func (l *Lists) fits(row ListRow, i int) bool {
	of := l.leaves[i]
	for k, x := range row[i] {
		rep, def := x.RepetitionLevel(), x.DefinitionLevel()
		if def > of.most || rep > len(of.inner) || rep > 0 && min(def, row[i][k-1].DefinitionLevel()) < of.inner[rep-1] {
			return false
		}
	}
	shared := func(part []parquet.Value) (levels []int) {
		for _, x := range part {
			if rep := x.RepetitionLevel(); rep <= of.shared.MaxRepetitionLevel() {
				levels = append(levels, rep, min(x.DefinitionLevel(), of.shared.MaxDefinitionLevel()))
			}
		}
		return levels
	}
	return i == 0 || slices.Equal(shared(row[i]), shared(row[i-1]))
}

// Join returns one list with the elements from all rows; it is empty if no row has any.
func (l *Lists) Join(rows ...int) ListRow {
	joined := make(ListRow, len(l.leaves))
	for i := range joined {
		for _, row := range rows {
			for _, x := range l.Rows[row][i] {
				joined[i] = append(joined[i], x.Level(max(x.RepetitionLevel(), min(len(joined[i]), 1)), x.DefinitionLevel(), i))
			}
		}
		if len(rows) == 0 {
			joined[i] = []parquet.Value{parquet.Value{}.Level(0, l.leaves[i].inner[0]-1, i)}
		}
	}
	return joined
}

// HasElements reports whether a row's list has elements.
func (l *Lists) HasElements(row int) bool {
	return l.Rows[row][0][0].DefinitionLevel() >= l.leaves[0].inner[0]
}

// Repeats reports whether a row's list equals the previous row's.
func (l *Lists) Repeats(row int) bool {
	return row > 0 && slices.EqualFunc(l.Rows[row], l.Rows[row-1], func(a, b []parquet.Value) bool { return slices.EqualFunc(a, b, parquet.DeepEqual) })
}

// listPart collects a leaf's values by row.
type listPart struct {
	leaf   int
	rows   [][]parquet.Value
	values int
}

// add adds a value from a page, or a null, to its row. A repetition level 0 begins a row.
func (l *listPart) add(rep, def byte, p *decodedPage, at int, there bool) {
	if rep == 0 {
		l.rows = append(l.rows, nil)
	}
	var x parquet.Value
	if there {
		v := Values{}
		p.appendTo(&v, at, at+1)
		switch p.kind {
		case "string":
			x = parquet.ValueOf(v.Texts[0])
		case "float32":
			x = parquet.ValueOf(v.Float32[0])
		case "float64":
			x = parquet.ValueOf(v.Float64[0])
		case "int32":
			x = parquet.ValueOf(int32(v.Int64[0]))
		case "bool":
			x = parquet.ValueOf(v.Int64[0] != 0)
		default:
			x = parquet.ValueOf(v.Int64[0])
		}
	}
	last := len(l.rows) - 1
	l.rows[last] = append(l.rows[last], x.Level(int(rep), int(def), l.leaf))
	l.values++
}
