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
// type, unless a plan interpolates. Other numbers become float32, as TensorFlow Datasets stores them: changed values are counted.
// With a plan, KEY_valid marks valid rows. Cameras keep JPEG and PNG images byte for byte; other frames become PNG, depth in 16 bits
// or as float32.
//
// steps/time_ns has the times of the rows in nanoseconds, unless they only count steps. language_instruction is the task of each step,
// empty without one. If they are not recorded, discount is 1, reward is 1 in the last step unless the episode failed, and is_terminal is
// true in the last step, as in the datasets of Open X-Embodiment. episode_metadata has file_path, name, success and other attributes.
//
// The first episode defines the features. If a later one lacks some or has other types, it is refused; its other features are left
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
	w := &rldsWriter{Folder: folder, piece: p, name: rldsWord(filepath.Base(named))}
	return w, w.named(fault.MkdirAll(w.file(""), 0o777))
}

type rldsWriter struct {
	*atomicfile.Folder
	piece    Piece
	name     string
	splits   []*rldsSplit
	record   []byte   // memory for a record
	first    *columns // the first written episode's, without values
	features []byte   // features.json
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
		err = &fs.PathError{Op: "write", Path: w.Name(), Err: below.Err}
	}
	return err
}

func (w *rldsWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	c, err := columnsOf(ctx, e, &w.piece)
	if err == nil && w.first != nil {
		err = w.fit(c)
	}
	if err != nil {
		return c.kept, err
	}
	features := w.features
	if w.first == nil {
		features, err = rlds.Features(c.list)
	}
	if err == nil && !w.piece.Dry {
		w.record, err = rlds.AppendRecord(w.record[:0], c.list)
	}
	if err != nil {
		return c.kept, &RefusedError{err}
	}
	split := splitOf(e.Splits)
	for _, name := range e.Splits {
		if name != split {
			c.kept.leave("split "+name, 1, noPlace("a second split", "RLDS"))
		}
	}
	if w.first == nil {
		w.features, w.first = features, &columns{e: &Episode{Number: e.Number, Lost: e.Lost}, list: c.list, names: c.names}
		for _, f := range c.list {
			f.Ints, f.Floats, f.Bytes = nil, nil, nil
		}
	}
	if w.piece.Dry {
		return c.kept, nil
	}
	return c.kept, w.named(w.write(rldsWord(split)))
}

// fit compares an episode's columns with the first episode's, and leaves out additional ones. Missing texts become empty.
func (w *rldsWriter) fit(c *columns) error {
	var extra []string
	for _, key := range slices.Sorted(maps.Keys(c.list)) {
		if w.first.list[key] != nil {
			continue
		}
		delete(c.list, key)
		if name := c.names[key]; name != "" {
			extra = append(extra, name)
			c.kept.giveUp(name, dataset.Note{Code: dataset.CodeNotInFirst})
		} else if !strings.HasSuffix(key, validEnd) {
			c.kept.leave(key, 1, dataset.Note{Code: dataset.CodeNotInFirst})
		}
	}
	if err := lostAmong(w.first.e.Lost, extra); err != nil {
		return &SpoiledError{map[int]error{w.first.e.Number: err}}
	}
	for _, key := range slices.Sorted(maps.Keys(w.first.list)) {
		got, want := "none", w.first.list[key].Declaration()
		if f := c.list[key]; f != nil {
			got = f.Declaration()
		} else if w.first.list[key].DType == "string" {
			c.missing(key)
			continue
		}
		if got != want {
			return &RefusedError{&dataset.StreamError{Stream: key, Arg: "Values", Got: got, Want: want + ", as in the first episode"}}
		}
	}
	return nil
}

// splitOf returns the split that an episode is written to.
func splitOf(splits []string) string {
	for _, name := range slices.Concat([]string{"train", "val", "test"}, splits) {
		if slices.Contains(splits, name) {
			return name
		}
	}
	return "train"
}

// write appends the record to a split.
func (w *rldsWriter) write(split string) (err error) {
	i := slices.IndexFunc(w.splits, func(s *rldsSplit) bool { return s.Name == split })
	if i < 0 {
		i = len(w.splits)
		w.splits = append(w.splits, &rldsSplit{SplitFiles: rlds.SplitFiles{Name: split}})
	}
	s := w.splits[i]
	if s.file != nil && s.size+len(w.record) > rldsShardBytes {
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
	s.size += len(w.record)
	s.Bytes += int64(len(w.record) - rlds.Overhead)
	_, err = s.file.Write(w.record)
	return err
}

// complete completes the open record file.
func (s *rldsSplit) complete() error {
	err := errors.Join(s.file.Commit(), s.file.Close())
	s.file = nil
	return err
}

func (w *rldsWriter) Commit(context.Context) error {
	if err := w.complete(); err != nil {
		return w.named(err)
	}
	return w.Folder.Commit()
}

// complete completes the dataset's files.
func (w *rldsWriter) complete() error {
	var list []rlds.SplitFiles
	for _, s := range w.splits {
		if err := s.complete(); err != nil {
			return err
		}
		for i := range s.Lengths {
			from, to := rlds.ShardName(w.name, s.Name, i, 0), rlds.ShardName(w.name, s.Name, i, len(s.Lengths))
			if err := os.Rename(w.file(from), w.file(to)); err != nil {
				return err
			}
		}
		list = append(list, s.SplitFiles)
	}
	info, err := rlds.DatasetInfo(w.name, rldsVersion, list)
	return errors.Join(err, atomicfile.WriteBytes(w.file("features.json"), w.features),
		atomicfile.WriteBytes(w.file("dataset_info.json"), info))
}

func (w *rldsWriter) Close() error {
	for _, s := range w.splits {
		if s.file != nil {
			s.file.Close()
		}
	}
	return w.Folder.Close()
}
