package convert

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
)

// RLDS returns the target for RLDS datasets, the layout of TensorFlow Datasets. A piece is one dataset: its folder has the output's name
// and the version 1.0.0 with dataset_info.json, features.json and record files of 256 MiB. A record is an episode.
//
// The stream "observation.images.top" becomes steps/observation/images_top, and so does "images/top". action, reward, discount, is_first,
// is_last, is_terminal and the streams of an RLDS dataset keep their places. Whole numbers keep their
// type. float64 is stored as float32 by TensorFlow Datasets: changed values are counted. With a plan, KEY_valid marks valid rows. Cameras
// keep JPEG and PNG images byte for byte; other frames become PNG, depth in 16 bits or as float32.
//
// steps/time_ns has the times of the rows in nanoseconds, unless they only count steps. language_instruction is the task of each step,
// empty without one. If they are not recorded, discount is 1, reward is 1 in the last step unless the episode failed, and is_terminal is
// true in the last step, as in the datasets of Open X-Embodiment. episode_metadata has file_path, name, success and other attributes.
//
// The first episode defines the features. If a later one lacks some or has other types, it is refused; what it has in addition is left
// out with a note. The splits are those of the inputs, or "train"; an episode in several is in the first of train, val and test, with a
// note about the others. Each split has its own files, so the episodes come in the order of the splits.
func RLDS() Target { return toRLDS{} }

type toRLDS struct{}

const rldsVersion = "1.0.0"

// rldsShardBytes limits a record file with several records. Only tests change it.
var rldsShardBytes = 256 << 20

func (toRLDS) Name() string { return "rlds" }

func (toRLDS) Traits() Traits { return Traits{Rows: true, Whole: true, Integers: true} }

func (toRLDS) Settings() any { return struct{}{} }

func (toRLDS) Create(_ context.Context, path string, p Piece) (Writer, error) {
	named := path
	if p.Shards > 1 { // the folders of shards are in the output
		named = filepath.Dir(path)
	}
	folder, err := atomicfile.NewFolder(path, true)
	if err != nil {
		return nil, err
	}
	w := &rldsWriter{Folder: folder, piece: p, name: rldsWord(filepath.Base(named)), splits: map[string]*rldsSplit{}}
	return w, w.named(fault.MkdirAll(w.file(""), 0o777))
}

type rldsWriter struct {
	*atomicfile.Folder
	piece  Piece
	name   string
	splits map[string]*rldsSplit
	order  []string // the splits' names, as they first occur
	record []byte   // memory for a record

	// About the first written episode: its columns without values, the streams and cameras by their keys, the lost ones, its number, and
	// features.json.
	first    rlds.Columns
	names    map[string]string
	lost     map[string]dataset.Note
	number   int
	features []byte
}

// rldsSplit is a split, and its record file that is not complete.
type rldsSplit struct {
	rlds.SplitFiles
	file *atomicfile.File
	size int
}

// file returns the path of a file while the dataset is written.
func (w *rldsWriter) file(name string) string {
	return filepath.Join(w.Path(), rldsVersion, name)
}

// named replaces the temporary folder in an error by the dataset's path.
func (w *rldsWriter) named(err error) error {
	var below *fs.PathError
	if errors.As(err, &below) {
		err = &fs.PathError{Op: "write", Path: filepath.Join(w.Name(), rldsVersion, filepath.Base(below.Path)), Err: below.Err}
	}
	return err
}

func (w *rldsWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	c, err := columnsOf(ctx, e, w.piece.Inputs[e.Input], w.first)
	if err == nil && w.first != nil {
		err = w.fit(c)
	}
	if err != nil {
		return c.kept, err
	}
	record, err := rlds.AppendRecord(w.record[:0], c.list)
	features := w.features
	if err == nil && w.first == nil {
		features, err = rlds.Features(c.list)
	}
	if err != nil {
		return c.kept, &RefusedError{err}
	}
	w.record = record
	split := splitOf(e.Splits)
	if err := w.write(split, record); err != nil {
		return c.kept, w.named(err)
	}
	for _, name := range e.Splits {
		if rldsWord(name) != split {
			c.kept.leave("split "+name, 1, noPlace("a second split", "RLDS"))
		}
	}
	if w.first == nil {
		w.first, w.names, w.lost, w.number, w.features = c.list, c.names, e.Lost, e.Number, features
		for _, f := range c.list {
			f.Ints, f.Floats, f.Bytes = nil, nil, nil
		}
	}
	return c.kept, nil
}

// fit compares an episode's columns with the first episode's, and leaves out additional ones. Missing texts become empty.
func (w *rldsWriter) fit(c *columns) error {
	var extra []string
	for key, name := range c.names {
		if w.first[key] == nil {
			extra = append(extra, name)
		}
	}
	if err := lostAmong(w.lost, extra); err != nil {
		return &SpoiledError{map[int]error{w.number: err}}
	}
	for _, key := range slices.Sorted(maps.Keys(c.list)) {
		if w.first[key] != nil {
			continue
		}
		delete(c.list, key)
		if name, stream := c.names[key]; stream {
			c.kept.giveUp(name, dataset.Note{Code: dataset.CodeNotInFirst})
		} else if !strings.HasSuffix(key, validEnd) {
			c.kept.leave(key, 1, dataset.Note{Code: dataset.CodeNotInFirst})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.first)) {
		got, want := "none", w.first[key].Declaration()
		if f := c.list[key]; f != nil {
			got = f.Declaration()
		} else if w.first[key].DType == "string" {
			c.text(key, func(int64) string { return "" })
			continue
		} else if err := lostAmong(c.e.Lost, []string{w.names[key]}); err != nil {
			return &RefusedError{err}
		}
		if got != want {
			return &RefusedError{&dataset.StreamError{Stream: key, Arg: "Values", Got: got, Want: want + ", as in the first episode"}}
		}
	}
	return nil
}

// splitOf returns the split that an episode is written to.
func splitOf(splits []string) string {
	for _, name := range []string{"train", "val", "valid", "validation", "test"} {
		if slices.Contains(splits, name) {
			return name
		}
	}
	if len(splits) > 0 {
		return rldsWord(splits[0])
	}
	return "train"
}

// write appends a record to a split.
func (w *rldsWriter) write(split string, record []byte) (err error) {
	s := w.splits[split]
	if s == nil {
		s = &rldsSplit{SplitFiles: rlds.SplitFiles{Name: split}}
		w.splits[split], w.order = s, append(w.order, split)
	}
	if s.file != nil && s.size+len(record) > rldsShardBytes {
		if err := s.complete(); err != nil {
			return err
		}
	}
	if s.file == nil {
		if s.file, err = atomicfile.Create(w.file(rlds.ShardName(w.name, split, len(s.Lengths), 0))); err != nil {
			return err
		}
		s.Lengths, s.size = append(s.Lengths, 0), 0
	}
	s.Lengths[len(s.Lengths)-1]++
	s.size += len(record)
	s.Bytes += int64(len(record) - rlds.Overhead)
	_, err = s.file.Write(record)
	return err
}

// complete completes the open record file.
func (s *rldsSplit) complete() error {
	err := errors.Join(s.file.Commit(), s.file.Close())
	s.file = nil
	return err
}

func (w *rldsWriter) Commit(context.Context) error {
	var list []rlds.SplitFiles
	for _, name := range w.order {
		s := w.splits[name]
		if err := s.complete(); err != nil {
			return w.named(err)
		}
		for i := range s.Lengths {
			from, to := rlds.ShardName(w.name, name, i, 0), rlds.ShardName(w.name, name, i, len(s.Lengths))
			if err := os.Rename(w.file(from), w.file(to)); err != nil {
				return w.named(err)
			}
		}
		list = append(list, s.SplitFiles)
	}
	info, err := rlds.DatasetInfo(w.name, rldsVersion, list)
	if err == nil {
		err = errors.Join(atomicfile.WriteBytes(w.file("features.json"), w.features), atomicfile.WriteBytes(w.file("dataset_info.json"), info))
	}
	if err != nil {
		return w.named(err)
	}
	return w.Folder.Commit()
}

func (w *rldsWriter) Close() error {
	for _, s := range w.splits {
		if s.file != nil {
			s.file.Close()
		}
	}
	return w.Folder.Close()
}
