package lerobot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
)

// series is the files of one kind: dir/chunk-000/file-000.parquet, of which one is being written.
type series struct {
	dir         string
	limit       int64 // bytes at which the next file begins
	groups      int   // row groups at which it does
	chunk, file int   // of the one that is being written, or that would be next
	path        string
	out         output
	table       *columns.Writer
	rows        int // in it
	visit       func(columns.Block)
}

// room makes sure that a file is open that takes n rows: that with them, at its mean size of a row, it stays below the limit,
// and has not too many row groups.
func (s *series) room(w *Writer, n int, list []columns.Column, metadata map[string]string, visit func(columns.Block)) error {
	if s.table != nil {
		size := s.table.Size()
		if float64(size)+float64(size)/float64(s.rows)*float64(n) >= float64(s.limit) || s.table.Groups() == s.groups {
			if err := s.finish(w); err != nil {
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
	s.path = filepath.Join(s.dir, fmt.Sprintf("chunk-%03d", s.chunk), fmt.Sprintf("file-%03d.parquet", s.file))
	out, err := w.open(filepath.Join(w.folder.Path(), s.path))
	if err != nil {
		return w.broken(s.path, err)
	}
	s.out, s.rows, s.visit = out, 0, visit
	s.table = columns.NewWriter(out, list, metadata)
	return nil
}

// write adds a row group.
func (s *series) write(w *Writer, n int, data []columns.Data) error {
	s.rows += n
	if err := s.table.WriteGroup(n, data); err != nil {
		return w.broken(s.path, err)
	}
	return nil
}

// finish completes the file that is being written, if there is one.
func (s *series) finish(w *Writer) error {
	if s.table == nil {
		return nil
	}
	proof, err := s.table.Close()
	if closing := s.out.Close(); err == nil {
		err = closing
	}
	s.table, s.out = nil, nil
	if err != nil {
		return w.broken(s.path, err)
	}
	visit := s.visit
	w.proofs = append(w.proofs, written{s.path, func(ctx context.Context, file *os.File, size int64) error {
		return proof.Check(ctx, file, size, visit)
	}, visit != nil})
	return nil
}

// abandon closes what is being written.
func (s *series) abandon() {
	if s.out != nil {
		s.out.Close()
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
	var list []columns.Column
	var data []columns.Data
	for i, f := range t.w.features {
		if f.dtype != dtypeVideo { // which has files of its own
			features, list, data = append(features, f), append(list, f.column()), append(data, p.data[i])
		}
	}
	visit := func(b columns.Block) { features[b.Column].bin(b) }
	if err := t.room(t.w, p.rows, list, map[string]string{"huggingface": huggingface(features)}, visit); err != nil {
		return err
	}
	return t.series.write(t.w, p.rows, data)
}

// bin takes numbers as they were read back, for the quantiles of the dataset.
func (f *writeFeature) bin(b columns.Block) {
	switch {
	case len(b.Float32) > 0:
		f.total.Add32(b.Float32)
	case len(b.Float64) > 0:
		f.total.Add64(b.Float64)
	case len(b.Int64) > 0:
		f.total.Add64(floatsOf(b.Int64))
	default:
		f.total.Add32(truths(b.Bool))
	}
}

// add takes an episode's numbers and pixels, for the dataset's statistics.
func (f *writeFeature) add(d columns.Data, s featureStats) {
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
	f.bin(columns.Block{Data: d})
}

func floatsOf(list []int64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

func truths(list []bool) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		if v {
			out[i] = 1
		}
	}
	return out
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
