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

// Writer writes a LeRobot dataset, episode by episode. It is for one goroutine at a time.
//
//	w, err := write.Create(path, write.Options{FPS: 30})
//	defer w.Close()
//	err = w.Add(ctx, episode) // for each
//	err = w.Commit(ctx)
//
// All files are written to a temporary folder next to path. Commit reads them back, compares them with the written bytes, and then
// renames the folder. Before that, and after any error, nothing exists at path. Equal episodes give equal bytes, because a dataset
// does not record when, where or from which file it was made.
//
// The statistics per episode equal LeRobot's bit for bit. stats.json covers all rows and is exact. LeRobot instead merges the
// episodes' statistics, so its means and deviations contain float32 rounding errors, and its quantiles are the smallest or largest
// among the episodes. Version 2.1 has no stats.json and no quantiles, and its grey images have the statistics of their channel three
// times, because LeRobot 2.1 requires [3,1,1]. Image and video statistics use the frames and pixels that LeRobot samples, in exact
// arithmetic; JPEG and video decoders may differ by one level. For copied videos the source dataset's statistics are merged as
// LeRobot does, if it declares them.
//
// Memory is bounded by one episode: its rows as float64, the encoded form, and twice its encoded images. In addition each open file
// keeps its list of row groups, about 1 kB for each column and episode, until it is complete. An episode in a finished file takes a
// few hundred bytes, and in version 2.1 each of its files.
type Writer struct {
	newDataset
	err    error // the error that broke the output
	closed bool
}

// Create begins a dataset that Commit will name path. The parent folder must exist. If path exists, the error is an *fs.PathError
// that is fs.ErrExist. With Overwrite this is only an error if path is neither an empty folder nor a LeRobot dataset.
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

// Add writes an episode: each stream becomes a column, each media stream a column of images or a video, and Attributes.Task the
// task.
//
// All streams must have the same T rows on one clock with rate FPS; otherwise the error is an *Error that is ErrNotAligned. A
// column with whole numbers becomes int64, with booleans bool; others become float32 or float64 like Values, and half precision
// becomes float32. The first episode defines the features, and every other episode must have the same. PNG and JPEG images with 8
// bits in grey or colour are kept byte for byte, and raw images become PNG.
//
// A video from a LeRobot dataset is copied without encoding, together with the statistics that the dataset declares. If these are
// missing or invalid, ffmpeg decodes the video to compute them. Episodes follow each other in a video file, with frame i at exactly
// i/FPS, which repairs videos that were joined with a drift. If rows lack frames or share one, for example after a change of rate,
// the frames must be encoded again, which requires Options.Codec.
//
// If an episode cannot be written, the error is an *Error and the Writer is unchanged. After a failed write, or if ctx ends while a
// video is copied, every call returns that error.
func (w *Writer) Add(ctx context.Context, e *dataset.Episode) error {
	return w.AddWith(ctx, e, EpisodeOptions{})
}

// AddWith is like Add, with options for this episode.
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

// usable returns an error if the Writer is closed or broken.
func (w *Writer) usable() error {
	if w.closed {
		return &Error{Episode: -1, Kind: dataset.ErrClosed, Got: "a Writer after Commit or Close", Want: "an open one"}
	}
	return w.err
}

// Err returns the error that broke the output, which every later call returns too; nil while episodes can be added.
func (w *Writer) Err() error { return w.usable() }

// Commit completes the files, reads them back, compares them, and renames the folder to the dataset's path. Without episodes the
// error is an *Error that is ErrNoEpisodes. After an error the path is free or has its earlier content, unless the error states
// that the new folder is already there.
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

// Close removes the dataset if Commit was not called. Close twice is fine.
func (w *Writer) Close() error {
	w.closed = true
	w.abandon()
	return w.out.Close()
}

// Report returns the counts and losses so far.
func (w *Writer) Report() Report {
	r := w.report
	r.Tasks, r.Files, r.Bytes = len(w.tasks.texts), w.out.files, w.out.bytes
	r.Notes, r.Renamed = slices.Clone(r.Notes), maps.Clone(r.Renamed)
	return r
}

// replaceable returns an error unless the name is free, an empty folder or a LeRobot dataset, because Overwrite must not remove
// anything else.
func replaceable(path string) error {
	list, err := fault.ReadDir(path)
	if err != nil || len(list) == 0 {
		if dataset.IsSystem(err) {
			return err
		}
		return nil // the rename fails if path is a file
	}
	if _, err := fault.Stat(filepath.Join(path, "meta", "info.json")); dataset.IsSystem(err) {
		return err
	} else if err != nil {
		return &fs.PathError{Op: "overwrite", Path: path, Err: errors.New("is no LeRobot dataset: it has no meta/info.json")}
	}
	return nil
}
