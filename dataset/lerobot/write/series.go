package write

import (
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// series is a sequence of files of one kind, such as data/chunk-000/file-000.parquet. One file is open. With limit 0 each write begins the
// next file.
type series struct {
	in       *outputFolder
	pattern  string // for the files' paths
	limit    int64  // bytes after which the next file begins
	groups   int    // row groups after which the next file begins
	file     int    // number of the open file, or of the next one
	out      *hashedFile
	table    *parquet.Writer
	fields   []parquet.Field // the open file's columns
	rows     int             // rows in the open file
	finished []string        // completed files
}

// room ensures that the open file can take n rows: at its mean row size it stays below the limit, and it has few enough row groups.
// Otherwise it opens the next file. Lists with another schema also begin a new file.
func (s *series) room(n int, list []parquet.Field, metadata map[string]string) error {
	if s.table != nil {
		size := s.table.Size()
		if float64(size)+float64(size)/float64(s.rows)*float64(n) >= float64(s.limit) || s.table.Groups() == s.groups ||
			!slices.EqualFunc(s.fields, list, func(a, b parquet.Field) bool { return a.Lists.SameSchema(b.Lists) }) {
			if err := s.finish(); err != nil {
				return err
			}
			s.file++
		}
	}
	if s.table != nil {
		return nil
	}
	out, err := s.in.create(filepath.FromSlash(layout.File(s.pattern, s.file, "")))
	if err != nil {
		return err
	}
	s.out, s.rows, s.fields = out, 0, list
	s.table = parquet.NewWriter(out, list, metadata)
	return nil
}

// write adds a row group.
func (s *series) write(n int, data []parquet.Values) error {
	s.rows += n
	return s.table.WriteGroup(n, data)
}

// finish completes the open file, if there is one.
func (s *series) finish() error {
	if s.table == nil {
		return nil
	}
	err := s.table.Close()
	if closing := s.out.Close(); err == nil {
		err = closing
	}
	s.finished = append(s.finished, s.out.path)
	s.table, s.out = nil, nil
	return err
}

// abandon closes the open file.
func (s *series) abandon() {
	if s.out != nil {
		s.out.abandon()
		s.table, s.out = nil, nil
	}
}
