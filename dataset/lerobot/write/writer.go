package write

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/parquet"
)

// Writer writes a LeRobot v3.0 dataset, episode by episode. It is not for use from several goroutines at once.
//
//	w, err := write.Create(path, write.Options{FPS: 30})
//	defer w.Close()
//	err = w.Add(ctx, episode) // for each
//	err = w.Commit(ctx)
//
// Everything is written into a folder next to the name. Commit reads all files back, compares their bytes with those that were written, and
// only then gives the folder its name; until then, and after any error, there is nothing under it. The same episodes give the same bytes: a
// dataset does not record when, where or from which file it was made.
//
// The statistics of an episode, in meta/episodes, are to the bit those that LeRobot computes of the same rows. stats.json is of all rows,
// and exact: LeRobot merges those of the episodes, so that its means and deviations have the rounding errors of float32 sums, and its
// quantiles are the least or the largest of the episodes'. Statistics of images and videos are of the frames and pixels that LeRobot
// samples, in exact arithmetic; JPEG and video decoders differ by a level here and there. Those of videos that were copied are merged as
// LeRobot does, where the dataset states them.
//
// Memory is bounded by an episode, its rows as float64 beside what is written and twice its encoded images; a file's list of row groups,
// which is written at its end, takes about 1 kB for each column of each episode in it, and an episode that is in a finished file a few
// hundred bytes.
type Writer struct {
	newDataset
	err    error // that broke the output
	closed bool
}

// Create begins a dataset that Commit will name path. The folder that it lies in must exist. A name that is taken is an *fs.PathError that
// is fs.ErrExist, unless Overwrite is set; then a folder that is neither empty nor a LeRobot dataset is one.
func Create(path string, opt Options) (*Writer, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Overwrite {
		if err := replaceable(path); err != nil {
			return nil, err
		}
	}
	folder, err := atomicfile.NewFolder(path, opt.Overwrite)
	if err != nil {
		return nil, err
	}
	w := &Writer{newDataset: newDataset{
		opt: opt, out: &outputFolder{Folder: folder}, tasks: taskList{numbers: map[string]int{}},
		limit: int64(opt.DataFileMB) << 20, groups: parquet.MostGroups,
	}}
	w.out.open = w.out.createFile
	w.tasks.add(opt.FirstTasks)
	return w, nil
}

// Add writes an episode: each stream becomes a column, each media stream a column of images or a video, and
// Attributes.Task the task.
//
// All of them must have the same T rows on one clock of FPS; else it is an *Error that is ErrNotAligned. Columns that all hold whole
// numbers become int64, truth values bool; others float32 or float64 as Values are, with half-precision as float32. The first episode
// decides the features of the dataset, and every other must have the same. PNG and JPEG images of 8 bits in grey or colour are kept byte
// for byte, and raw ones become PNG.
//
// A video that was read from a LeRobot dataset stays one: its frames are copied as they are encoded, with the statistics that the dataset
// states. If it states none, or statistics that cannot be, ffmpeg decodes the video. Episodes lie in a file one after the other, frame i
// of the file at i/FPS exactly, so that writing mends videos that were joined with a drift. Where rows lack frames, or take one twice, as
// at another rate, they must be encoded anew, which takes Options.Codec.
//
// An episode that cannot be written is an *Error, costs itself only, and leaves the Writer as it was. After a failure to write the files,
// and after the end of ctx while a video is copied, every call returns it.
func (w *Writer) Add(ctx context.Context, e *dataset.Episode) error {
	return w.AddWith(ctx, e, EpisodeOptions{})
}

// AddWith is Add with options of the episode's own.
func (w *Writer) AddWith(ctx context.Context, e *dataset.Episode, b EpisodeOptions) error {
	if err := w.usable(); err != nil {
		return err
	}
	if e == nil {
		return &Error{Episode: w.report.Episodes, Kind: dataset.ErrMissing, Got: "nil", Want: "an episode"}
	}
	p := &episodePlan{splits: b.Splits, undecoded: b.Undecoded}
	defer p.clean()
	next := planner{opt: &w.opt, out: w.out, tasks: &w.tasks, lists: w.lists, episode: w.report.Episodes, frames: w.report.Frames}
	for _, f := range w.features {
		next.features = append(next.features, f.feature)
	}
	if err := next.plan(ctx, e, b, p); err != nil {
		return err
	}
	if err := w.write(ctx, p); err != nil {
		w.err = err
		return err
	}
	return nil
}

// usable returns the error of a Writer that is closed or broken.
func (w *Writer) usable() error {
	if w.closed {
		return &Error{Episode: -1, Kind: dataset.ErrClosed, Got: "a Writer after Commit or Close", Want: "an open one"}
	}
	return w.err
}

// Err returns the error that broke the output, which every later call also returns; nil while episodes can be added.
func (w *Writer) Err() error { return w.usable() }

// Commit completes the files, reads them back, compares, and gives the dataset its name. Without episodes it is an *Error that is
// ErrNoEpisodes. After an error the name is free or has its earlier content, unless the error states that the new folder has its name.
func (w *Writer) Commit(ctx context.Context) error {
	if err := w.usable(); err != nil {
		return err
	}
	if w.report.Episodes == 0 {
		return &Error{Episode: -1, Kind: ErrNoEpisodes, Got: "none", Want: "at least one: LeRobot does not load a dataset without"}
	}
	if w.err = w.complete(ctx); w.err != nil {
		return w.err
	}
	if w.err = w.out.Commit(); w.err != nil {
		return w.err
	}
	w.closed = true
	return nil
}

// Close removes a dataset without a commit. Close twice is fine.
func (w *Writer) Close() error {
	w.closed = true
	w.abandon()
	return w.out.Close()
}

// Report returns the report so far.
func (w *Writer) Report() Report {
	r := w.report
	r.Tasks, r.Files, r.Bytes = len(w.tasks.texts), w.out.files, w.out.bytes
	r.Notes, r.Renamed = slices.Clone(r.Notes), maps.Clone(r.Renamed)
	return r
}

// replaceable returns an error unless the name is free, an empty folder or a LeRobot dataset: Overwrite removes nothing else.
func replaceable(path string) error {
	list, err := fault.ReadDir(path)
	if err != nil || len(list) == 0 {
		if dataset.IsSystem(err) {
			return err
		}
		return nil // a file is refused when it is to be replaced
	}
	if _, err := fault.Stat(filepath.Join(path, "meta", "info.json")); dataset.IsSystem(err) {
		return err
	} else if err != nil {
		return &fs.PathError{Op: "overwrite", Path: path, Err: errors.New("is no LeRobot dataset: it has no meta/info.json")}
	}
	return nil
}
