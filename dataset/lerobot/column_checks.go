package lerobot

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// compareSchema compares the first file's columns with the features, and another file's columns with the first file's.
func (x *indexer) compareSchema(f *parquet.File, name string) {
	var b strings.Builder
	for _, c := range f.Columns() {
		if !slices.Contains(layout.Language, c.Name) { // LeRobot derives the type of these columns from a file's values
			fmt.Fprintf(&b, "%s %s %d\n", c.Name, c.Type, c.Rank)
		}
	}
	if x.of != "" {
		if b.String() != x.schema {
			x.set.problems.add(dataset.CodeFileColumns, "data", 0, detail{Want: x.of, Names: []string{name}})
		}
		return
	}
	x.schema, x.of = b.String(), name
	s := x.set
	for i := range s.header.features {
		f1 := &s.header.features[i]
		c := f.Column(f1.Name)
		switch {
		case f1.DType == "video":
			if c != nil {
				s.problems.add(dataset.CodeColumnIsVideo, "feature "+f1.Name, 0, detail{Got: c.Type})
			}
		case c == nil:
			s.problems.add(dataset.CodeColumnNone, "feature "+f1.Name, 0, detail{Want: f1.DType})
		case !fits(f1, c):
			s.problems.add(dataset.CodeColumnType, "feature "+f1.Name, 0, detail{Got: c.Type, Want: f1.DType})
		}
	}
	for _, c := range f.Columns() {
		if s.header.feature(c.Name) == nil {
			s.problems.add(dataset.CodeColumnUndeclared, "column "+c.Name, 0, detail{})
		}
	}
}

// fits reports whether a column has the type that its feature declares.
func fits(f *feature, c *parquet.Column) bool {
	switch f.DType {
	case "image":
		return c.Kind == parquet.Images || c.Kind == parquet.Texts && c.Rank == 0
	case "language":
		return true
	case "string":
		return c.Kind == parquet.Texts
	}
	return c.Type == f.DType
}

// compareIndex checks, by the file's statistics, whether index counts up and whether the timestamps can be frame_index/fps.
func (x *indexer) compareIndex(f *parquet.File, file int32) {
	s := x.set
	index, stamps, frames := f.Column("index"), f.Column("timestamp"), f.Column("frame_index")
	name := filepath.ToSlash(s.files[file])
	row := x.row
	for g, group := range f.Groups() {
		if group.Rows == 0 {
			continue
		}
		if index != nil && x.sure {
			low, high, ok := index.Bounds(g)
			want := float64(row)
			if s.header.major == 2 { // files may be missing on purpose, so index only has to count up inside a file
				want = low
			}
			if ok && (low != want || high != want+float64(group.Rows-1)) {
				s.problems.add(dataset.CodeIndexColumn, "data", dataset.At(g), detail{Names: []string{name},
					Got: fmt.Sprintf("%.0f to %.0f", low, high), Want: fmt.Sprintf("%.0f to %.0f", want, want+float64(group.Rows-1))})
			}
		}
		row += group.Rows
		if stamps == nil || s.header.fps == 0 || s.info.RateFrom == "caller" {
			continue
		}
		begin, end, counted := float64(0), float64(group.Rows-1), s.header.major == 2 && len(f.Groups()) == 1
		if frames != nil {
			begin, end, counted = frames.Bounds(g)
		}
		first, last, ok := stamps.Bounds(g)
		if ok && counted && (departs(first, begin/s.header.fps, stamps.Type) || departs(last, end/s.header.fps, stamps.Type)) {
			s.problems.add(dataset.CodeTimestampColumn, "data", dataset.At(g), detail{Names: []string{name},
				Got: fmt.Sprintf("%g s to %g s", first, last), Want: fmt.Sprintf("%g s to %g s", begin/s.header.fps, end/s.header.fps)})
		}
	}
}
