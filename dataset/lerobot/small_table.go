package lerobot

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
)

// smallTable is a Parquet file that is read in whole columns.
type smallTable struct {
	ctx  context.Context
	file *parquet.File
	note func(column string, err error) // receives errors
}

func (s *source) openTable(ctx context.Context, name string) (*smallTable, error) {
	f, err := openParquet(s.path(name))
	if err == nil && f.Rows() > f.Size() { // each task or episode takes more than a byte
		f.Close()
		most := fmt.Sprintf("at most one for each of its %d bytes", f.Size())
		err = formatError(dataset.ErrTooLarge, f.Path(), -1, "rows", fmt.Sprint(f.Rows()), most)
	}
	return &smallTable{ctx, f, func(column string, err error) {
		s.problems.add(dataset.CodeUnreadable, filepath.ToSlash(name), 0, detail{Cause: fmt.Errorf("column %s: %w", column, err)})
	}}, err
}

func (t *smallTable) close() { t.file.Close() }

func (t *smallTable) bad(got string) error {
	return formatError(dataset.ErrCorrupt, t.file.Path(), -1, "columns", got, "one")
}

// column reads a column, if it exists, has the kind, and can be read.
func (t *smallTable) column(name string, kind parquet.Kind) (*parquet.Values, bool) {
	c := t.file.Column(name)
	if c == nil || c.Kind != kind {
		return nil, false
	}
	v := &parquet.Values{}
	for g, group := range t.file.Groups() {
		if err := c.Read(t.ctx, g, 0, group.Rows, v); err != nil {
			t.note(name, err)
			return nil, false
		}
	}
	return v, int64(v.Rows) == t.file.Rows()
}

// numbers reads a column with one number per row; null becomes NaN.
func (t *smallTable) numbers(name string) ([]float64, bool) {
	v, ok := t.column(name, parquet.Numbers)
	if !ok {
		return nil, false
	}
	list, ok := single(v)
	return list, ok
}

// whole reads a column of integers.
func (t *smallTable) whole(name string) ([]int64, bool) {
	v, ok := t.column(name, parquet.Numbers)
	if !ok {
		return nil, false
	}
	return wholes(v)
}

func (t *smallTable) texts(name string) ([]string, bool) {
	v, ok := t.column(name, parquet.Texts)
	if !ok || v.Lens != nil || (v.Width != 1 && v.Rows > 0) {
		return nil, false
	}
	return v.Texts, true
}

// lists reads a column of text lists.
func (t *smallTable) lists(name string) ([][]string, bool) {
	v, ok := t.column(name, parquet.Texts)
	if !ok {
		return nil, false
	}
	list, at := make([][]string, v.Rows), 0
	for i := range list {
		n := v.Width
		if v.Lens != nil {
			n = v.Lens[i]
		}
		list[i] = v.Texts[at : at+n]
		at += n
	}
	return list, true
}
