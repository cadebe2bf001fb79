package parquet

import (
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// Lists holds the rows and the schema for a column with lists and structures.
type Lists struct {
	*parquet.Column
	Rows   []ListRow
	schema []format.SchemaElement
	leaves []listLeaf
}

// listLeaf is a leaf in a column with lists. shared is the innermost group that also contains the previous leaf. inner holds the definition
// level for elements in each enclosing list, outermost first.
type listLeaf struct {
	column, shared *parquet.Column
	inner          []int
}

// ListRow is a row: for each leaf, its values and nulls with their levels.
type ListRow [][]parquet.Value

// physical maps kinds to the library's types without annotations, because the schema has the annotations.
var physical = map[parquet.Kind]parquet.Type{
	parquet.Boolean: parquet.BooleanType, parquet.Int64: parquet.Int64Type, parquet.Float: parquet.FloatType, parquet.Double: parquet.DoubleType,
	parquet.ByteArray: parquet.ByteArrayType, parquet.Int32: parquet.Int32Type, -1: parquet.Int32Type,
}

// Type returns the physical type.
func (l *Lists) Type() parquet.Type {
	if l.Leaf() {
		return physical[l.Column.Type().Kind()]
	}
	return parquet.Group{}.Type()
}

// Fields returns a structure's fields.
func (l *Lists) Fields() (list []parquet.Field) {
	for _, c := range l.Columns() {
		list = append(list, &Lists{Column: c})
	}
	return list
}

// Encoding returns the encoding to write.
func (l *Lists) Encoding() encoding.Encoding {
	if l.Leaf() && l.Column.Type().Kind() == parquet.ByteArray {
		return &parquet.RLEDictionary
	}
	return nil
}

// Compression returns the compression to write.
func (l *Lists) Compression() compress.Codec { return &parquet.Snappy }

// SameSchema reports whether both have the same schema. It is true if l is nil.
func (l *Lists) SameSchema(o *Lists) bool { return l == nil || reflect.DeepEqual(l.schema, o.schema) }

// fits reports whether part i has valid levels for a list, and the same lists as the part before.
func (l *Lists) fits(row ListRow, i int) bool {
	of := &l.leaves[i]
	for k, x := range row[i] {
		rep, def := x.RepetitionLevel(), x.DefinitionLevel()
		if def > of.column.MaxDefinitionLevel() || rep > len(of.inner) || rep > 0 && min(def, row[i][k-1].DefinitionLevel()) < of.inner[rep-1] {
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

// Join returns one list with the elements from several rows. Each row must have elements. Without rows, the list is empty.
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

// Repeats reports whether a row has the same list as the previous row.
func (l *Lists) Repeats(row int) bool {
	return row > 0 && slices.EqualFunc(l.Rows[row], l.Rows[row-1], func(a, b []parquet.Value) bool { return slices.EqualFunc(a, b, parquet.DeepEqual) })
}

// listPart collects a leaf's values by row.
type listPart struct {
	leaf   int
	rows   [][]parquet.Value
	values int
}
