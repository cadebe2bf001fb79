package lerobot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
)

// series is the files of one kind: dir/chunk-000/file-000.parquet, of which one is being written.
type series struct {
	dir         string
	limit       int64 // bytes at which the next file begins
	groups      int   // row groups at which it does
	chunk, file int   // of the one that is being written, or that would be next
	out         *hashedFile
	table       *parquet.Writer
	rows        int      // in it
	finished    []string // the files that are complete
}

// room makes sure that a file is open that takes n rows: that with them, at its mean size of a row, it stays below the limit,
// and has not too many row groups.
func (s *series) room(w *Writer, n int, list []parquet.Field, metadata map[string]string) error {
	if s.table != nil {
		size := s.table.Size()
		if float64(size)+float64(size)/float64(s.rows)*float64(n) >= float64(s.limit) || s.table.Groups() == s.groups {
			if err := s.finish(); err != nil {
				return err
			}
			if s.file++; s.file == chunk {
				s.chunk, s.file = s.chunk+1, 0
			}
		}
	}
	if s.table != nil {
		return nil
	}
	out, err := w.create(filepath.Join(s.dir, fmt.Sprintf("chunk-%03d", s.chunk), fmt.Sprintf("file-%03d.parquet", s.file)))
	if err != nil {
		return err
	}
	s.out, s.rows = out, 0
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

// abandon closes what is being written.
func (s *series) abandon() {
	if s.out != nil {
		s.out.abandon()
		s.table, s.out = nil, nil
	}
}

// rowTable is data/: the rows of the episodes, a row group each.
type rowTable struct {
	series
	w *Writer
}

// write adds an episode's rows.
func (t *rowTable) write(p *episodePlan) error {
	var features []*writeFeature
	var list []parquet.Field
	var data []parquet.Values
	for i, f := range t.w.features {
		if f.dtype != dtypeVideo { // which has files of its own
			features, list, data = append(features, f), append(list, f.column()), append(data, p.data[i])
		}
	}
	if err := t.room(t.w, p.rows, list, map[string]string{"huggingface": huggingface(features)}); err != nil {
		return err
	}
	return t.series.write(p.rows, data)
}

// readBack reads the numbers of all rows once more, for a further pass of the statistics: several columns at a time.
func (t *rowTable) readBack(ctx context.Context) error {
	for _, path := range t.finished {
		file, err := openParquet(filepath.Join(t.w.folder.Path(), path))
		if err != nil {
			return &WriteError{Episode: -1, Kind: ErrReadBack, Got: path, Err: err}
		}
		free := make(chan struct{}, runtime.GOMAXPROCS(0))
		errs := make([]error, len(t.w.features))
		var wait sync.WaitGroup
		for i, f := range t.w.features {
			if f.total == nil {
				continue
			}
			free <- struct{}{}
			wait.Go(func() {
				errs[i] = f.readBack(ctx, file)
				<-free
			})
		}
		wait.Wait()
		file.Close()
		if err := errors.Join(errs...); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &WriteError{Episode: -1, Kind: ErrReadBack, Got: path, Err: err}
		}
	}
	return nil
}

// readBack adds a file's numbers to a pass of the statistics.
func (f *writeFeature) readBack(ctx context.Context, file *parquet.File) error {
	column := file.Column(f.name)
	var v parquet.Values
	for i, group := range file.Groups() {
		v = parquet.Values{Float32: v.Float32[:0], Float64: v.Float64[:0], Int64: v.Int64[:0]}
		if err := column.Read(ctx, i, 0, group.Rows, &v); err != nil {
			return err
		}
		f.count(&v)
	}
	return nil
}

// count adds numbers to a pass of the statistics of all rows.
func (f *writeFeature) count(v *parquet.Values) {
	switch f.dtype {
	case dtypeFloat32:
		f.total.Add32(v.Float32)
	case dtypeFloat64:
		f.total.Add64(v.Float64)
	case dtypeInt64:
		f.total.Add64(convert[float64](v.Int64))
	case dtypeBool:
		f.total.Add32(convert[float32](v.Int64))
	}
}

// add takes an episode's numbers and pixels, for the dataset's statistics.
func (f *writeFeature) add(d parquet.Values, s featureStats) {
	if f.visual() {
		if f.levels == nil {
			f.levels = make([]summary.Levels, len(s.columns))
		}
		for i := range s.levels {
			f.levels[i].Merge(&s.levels[i])
		}
		f.frames += s.frames
		f.pool.add(s)
		if s.told {
			f.note(s)
		}
		return
	}
	if f.total == nil {
		f.total = summary.NewExact(f.shape[0], f.dtype == dtypeFloat64 || f.dtype == dtypeInt64, summary.Quantiles[:])
	}
	f.count(&d)
}

// huggingface returns the features as the datasets library writes them into a file's metadata: images are read as images by it.
func huggingface(features []*writeFeature) string {
	type value struct {
		DType string `json:"dtype,omitempty"`
		Type  string `json:"_type"`
	}
	type list struct {
		Feature value  `json:"feature"`
		Length  int    `json:"length"`
		Type    string `json:"_type"`
	}
	columns := orderjson.Object{}
	for _, f := range features {
		var as any = value{f.dtype, "Value"}
		switch {
		case f.dtype == dtypeImage:
			as = value{"", "Image"}
		case f.shape[0] != 1:
			as = list{value{f.dtype, "Value"}, f.shape[0], "List"}
		}
		columns.Add(f.name, as)
	}
	text, err := json.Marshal(orderjson.Of("info", orderjson.Of("features", columns)))
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}
