package write

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// series is the files of one kind, for example data/chunk-000/file-000.parquet. One of them is open.
type series struct {
	in          *outputFolder
	dir         string
	limit       int64 // bytes at which the next file begins
	groups      int   // row groups at which it does
	chunk, file int   // of the one that is being written, or that would be next
	out         *hashedFile
	table       *parquet.Writer
	fields      []parquet.Field // of it
	rows        int             // in it
	finished    []string        // the files that are complete
}

// room makes sure that a file is open that takes n rows: that with them, at its mean size of a row, it stays below the limit,
// and has not too many row groups. Lists of another schema begin the next file.
func (s *series) room(n int, list []parquet.Field, metadata map[string]string) error {
	if s.table != nil {
		size := s.table.Size()
		if float64(size)+float64(size)/float64(s.rows)*float64(n) >= float64(s.limit) || s.table.Groups() == s.groups ||
			!slices.EqualFunc(s.fields, list, func(a, b parquet.Field) bool { return a.Lists.SameSchema(b.Lists) }) {
			if err := s.finish(); err != nil {
				return err
			}
			if s.file++; s.file == layout.ChunkFiles {
				s.chunk, s.file = s.chunk+1, 0
			}
		}
	}
	if s.table != nil {
		return nil
	}
	out, err := s.in.create(filepath.Join(s.dir, fmt.Sprintf("chunk-%03d", s.chunk), fmt.Sprintf("file-%03d.parquet", s.file)))
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

// finish completes the file that is being written, if there is one.
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
