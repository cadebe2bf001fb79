package lerobot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
	"github.com/robocache/robocache/internal/summary"
)

// featureStats is the statistics of a feature in an episode.
type featureStats struct {
	columns []summary.Column // of each column, or channel
	levels  []summary.Levels // of images
	frames  int              // that they are of
}

// statNames are the statistics in LeRobot's order.
var statNames = append([]string{"min", "max", "mean", "std", "count"}, summary.QuantileNames[:]...)

// values returns one of the statistics of every column.
func statValues(columns []summary.Column, name string) []float64 {
	out := make([]float64, len(columns))
	for i, c := range columns {
		switch name {
		case "min":
			out[i] = c.Min
		case "max":
			out[i] = c.Max
		case "mean":
			out[i] = c.Mean
		case "std":
			out[i] = c.Std
		default:
			for q, known := range summary.QuantileNames {
				if known == name {
					out[i] = c.Quantiles[q]
				}
			}
		}
	}
	return out
}

// write adds an episode that was looked at.
func (w *Writer) write(p *episodePlan) error {
	if w.features == nil {
		w.begin(p.features)
	}
	if err := w.rows.write(p); err != nil {
		return err
	}
	from := w.report.Frames
	index := w.report.Episodes
	w.taskIndex(p.task)
	for i, f := range w.features {
		f.add(p.data[i], p.stats[i])
	}
	w.report.Episodes++
	w.report.Frames += p.rows
	w.report.Inexact += p.inexact
	w.report.Shift = max(w.report.Shift, p.shift)
	for _, name := range p.left {
		w.leave(name)
	}
	return w.episodes.add(episodeRow{index: index, from: from, chunk: w.rows.chunk, file: w.rows.file, plan: p})
}

// leave counts an attribute that has no place.
func (w *Writer) leave(name string) {
	for i := range w.report.LeftOut {
		if w.report.LeftOut[i].Name == name {
			w.report.LeftOut[i].Count++
			return
		}
	}
	w.report.LeftOut = append(w.report.LeftOut, dataset.LeftOut{Name: name, Count: 1, Reason: "LeRobot has no place for attributes of an episode"})
}

// episodeRow is a row of meta/episodes.
type episodeRow struct {
	index, from, chunk, file int
	plan                     *episodePlan
}

// episodeTable is meta/episodes/: a row for each episode, with its statistics.
type episodeTable struct {
	series
	w       *Writer
	columns []columns.Column
	data    []columns.Data // of the rows that are not written yet
	waiting int
}

// groupEpisodes is how many episodes have a row group of meta/episodes together.
const groupEpisodes = 100

// add takes an episode.
func (t *episodeTable) add(r episodeRow) error {
	p := r.plan
	r.plan = nil
	b := rowBuilder{t: t, first: t.columns == nil}
	if b.first {
		t.data = nil
	}
	b.whole("episode_index", r.index)
	b.text("tasks", p.task)
	b.whole("length", p.rows)
	b.whole("data/chunk_index", r.chunk)
	b.whole("data/file_index", r.file)
	b.whole("dataset_from_index", r.from)
	b.whole("dataset_to_index", r.from+p.rows)
	for i, f := range t.w.features {
		shape := []int{len(p.stats[i].columns)}
		if f.dtype == dtypeImage {
			shape = append(shape, 1, 1)
		}
		for _, name := range statNames {
			column := "stats/" + f.name + "/" + name
			if name == "count" {
				b.wholes(column, []int64{int64(p.stats[i].frames)})
				continue
			}
			b.numbers(column, shape, statValues(p.stats[i].columns, name))
		}
	}
	b.whole("meta/episodes/chunk_index", 0) // set when the file is known
	b.whole("meta/episodes/file_index", 0)
	if t.waiting++; t.waiting == groupEpisodes {
		return t.flush()
	}
	return nil
}

// flush writes the rows that wait.
func (t *episodeTable) flush() error {
	if t.waiting == 0 {
		return nil
	}
	if err := t.room(t.w, t.waiting, t.columns, nil, nil); err != nil {
		return err
	}
	for i, place := range []int{t.chunk, t.file} {
		list := t.data[len(t.data)-2+i].Int64
		for k := range list {
			list[k] = int64(place)
		}
	}
	err := t.series.write(t.w, t.waiting, t.data)
	t.data, t.waiting = make([]columns.Data, len(t.columns)), 0
	return err
}

// rowBuilder appends one row to the table, column after column.
type rowBuilder struct {
	t     *episodeTable
	first bool
	at    int
}

// next returns the next column's data. The first row makes the columns.
func (b *rowBuilder) next(c columns.Column) *columns.Data {
	if b.first {
		b.t.columns, b.t.data = append(b.t.columns, c), append(b.t.data, columns.Data{})
	}
	b.at++
	return &b.t.data[b.at-1]
}

func (b *rowBuilder) whole(name string, v int) {
	d := b.next(columns.Column{Name: name, Kind: columns.Int64})
	d.Int64 = append(d.Int64, int64(v))
}

func (b *rowBuilder) wholes(name string, list []int64) {
	d := b.next(columns.Column{Name: name, Kind: columns.Int64, Shape: []int{len(list)}})
	d.Int64 = append(d.Int64, list...)
}

func (b *rowBuilder) text(name, v string) {
	d := b.next(columns.Column{Name: name, Kind: columns.String, Shape: []int{1}})
	d.String = append(d.String, v)
}

func (b *rowBuilder) numbers(name string, shape []int, list []float64) {
	d := b.next(columns.Column{Name: name, Kind: columns.Float64, Shape: shape})
	d.Float64 = append(d.Float64, list...)
}

// complete finishes every file, and reads all of them back.
func (w *Writer) complete(ctx context.Context) error {
	if err := w.rows.finish(w, w.bin); err != nil {
		return err
	}
	if err := w.episodes.flush(); err != nil {
		return err
	}
	if err := w.episodes.finish(w, nil); err != nil {
		return err
	}
	if err := w.writeTasks(); err != nil {
		return err
	}
	for _, file := range w.proofs {
		if err := w.check(ctx, file); err != nil {
			return err
		}
	}
	stats, err := w.stats()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path    string
		content any
	}{{"meta/info.json", w.info()}, {"meta/stats.json", stats}} {
		if err := w.writeJSON(filepath.FromSlash(file.path), file.content); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// check reads a file back.
func (w *Writer) check(ctx context.Context, file written) error {
	f, err := os.Open(filepath.Join(w.folder.Path(), file.path))
	if err != nil {
		return w.broken(file.path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return w.broken(file.path, err)
	}
	if err := file.proof.Check(ctx, f, st.Size(), file.visit); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &WriteError{Episode: -1, Kind: ErrReadBack, Got: file.path, Err: err}
	}
	w.report.Files++
	w.report.Bytes += st.Size()
	return nil
}

// broken says which file could not be written, by the name that it would have.
func (w *Writer) broken(path string, err error) error {
	if below := (*fs.PathError)(nil); errors.As(err, &below) {
		err = below.Err
	}
	return &fs.PathError{Op: "write", Path: filepath.Join(w.folder.Name(), path), Err: err}
}

// writeTasks writes meta/tasks.parquet: a data frame of pandas whose index is the task's text.
func (w *Writer) writeTasks() error {
	s := series{path: filepath.Join("meta", "tasks.parquet")}
	out, err := w.open(filepath.Join(w.folder.Path(), s.path))
	if err != nil {
		return w.broken(s.path, err)
	}
	s.out = out
	s.table = columns.NewWriter(out, []columns.Column{{Name: "task_index", Kind: columns.Int64}, {Name: "task", Kind: columns.String}},
		map[string]string{"pandas": pandasTasks})
	numbers := make([]int64, len(w.tasks))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	if err := s.write(w, len(numbers), []columns.Data{{Int64: numbers}, {String: w.tasks}}); err != nil {
		s.abandon()
		return err
	}
	return s.finish(w, nil)
}

// pandasTasks is what pandas reads of a frame with the index "task": without it the task would be a column, and the index a number.
const pandasTasks = `{"index_columns": ["task"], "column_indexes": [{"name": null, "field_name": null, "pandas_type": "unicode", ` +
	`"numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], "columns": [{"name": "task_index", "field_name": "task_index", ` +
	`"pandas_type": "int64", "numpy_type": "int64", "metadata": null}, {"name": "task", "field_name": "task", "pandas_type": "unicode", ` +
	`"numpy_type": "object", "metadata": null}], "creator": {"library": "robocache", "version": "1"}, "pandas_version": "2.3.3"}`

// info returns info.json.
func (w *Writer) info() jsonObject {
	features := jsonObject{}
	for _, f := range w.features {
		var names any
		if f.names != nil {
			names = f.names
		}
		features = append(features, jsonMember{f.name, jsonObject{{"dtype", f.dtype}, {"shape", f.shape}, {"names", names}}})
	}
	var robot any
	if w.opt.RobotType != "" {
		robot = w.opt.RobotType
	}
	return jsonObject{
		{"codebase_version", "v3.0"}, {"fps", w.opt.FPS}, {"features", features},
		{"total_episodes", w.report.Episodes}, {"total_frames", w.report.Frames}, {"total_tasks", len(w.tasks)},
		{"chunks_size", chunk}, {"data_files_size_in_mb", w.opt.DataFileMB}, {"video_files_size_in_mb", w.opt.VideoFileMB},
		{"data_path", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"}, {"video_path", nil}, {"robot_type", robot},
		{"splits", jsonObject{{"train", fmt.Sprintf("0:%d", w.report.Episodes)}}},
	}
}

// stats returns stats.json: of all rows, exactly, and of the sampled frames.
func (w *Writer) stats() (jsonObject, error) {
	all := jsonObject{}
	for _, f := range w.features {
		var columns []summary.Column
		count := f.frames
		if f.dtype == dtypeImage {
			for i := range f.levels {
				columns = append(columns, f.levels[i].Column())
			}
		} else {
			var ok bool
			if columns, ok = f.total.Columns(); !ok {
				return nil, &WriteError{Episode: -1, Feature: f.name, Kind: ErrReadBack, Got: "other rows than were written"}
			}
			count = f.total.Rows()
		}
		one := jsonObject{}
		for _, name := range statNames {
			var v any
			switch list := statValues(columns, name); {
			case name == "count":
				v = []int{count}
			case f.dtype == dtypeImage:
				pixels := make([][][]float64, len(list))
				for i, x := range list {
					pixels[i] = [][]float64{{x}}
				}
				v = pixels
			default:
				v = list
			}
			one = append(one, jsonMember{name, v})
		}
		all = append(all, jsonMember{f.name, one})
	}
	return all, nil
}

// writeJSON writes a file and reads it back.
func (w *Writer) writeJSON(path string, content any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(content); err != nil {
		return &WriteError{Episode: -1, Kind: dataset.ErrOption, Got: path, Err: err}
	}
	full := filepath.Join(w.folder.Path(), path)
	out, err := w.open(full)
	if err != nil {
		return w.broken(path, err)
	}
	_, err = out.Write(text.Bytes())
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return w.broken(path, err)
	}
	got, err := os.ReadFile(full)
	if err != nil {
		return w.broken(path, err)
	}
	if !bytes.Equal(got, text.Bytes()) {
		return &WriteError{Episode: -1, Kind: ErrReadBack, Got: path}
	}
	w.report.Files++
	w.report.Bytes += int64(len(got))
	return nil
}

// jsonObject is a JSON object whose members keep their order.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
