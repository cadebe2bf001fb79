package lerobot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/parquet"
)

// WriteOptions say how a dataset is written.
type WriteOptions struct {
	// FPS is how many rows a second there are. Row i of an episode gets the timestamp i/FPS: LeRobot keeps no other time.
	FPS float64
	// RobotType is what info.json calls the robot; empty is null there.
	RobotType string
	// Task is what is done in episodes that do not say.
	Task string
	// Tasks are what the numbers of a stream "task_index" stand for: dataset.Info.Tasks of the dataset that the episodes come from. It says what is
	// done in each row, where that changes within an episode. Without Tasks such a stream is refused.
	Tasks []string
	// FirstTasks are tasks that the dataset has first, in this order, whether an episode has them or not: columns of annotations may have their numbers.
	FirstTasks []string
	// Names gives streams and media the names that LeRobot's policies look for: {"obs/joint_pos": "observation.state", "actions": "action"}. What is
	// not in it keeps its name, but for slashes, which LeRobot does not take: they become dots. WriteReport.Renamed has all that changed.
	Names map[string]string
	// Overwrite replaces a LeRobot dataset or an empty folder that has the name, when the new one is whole.
	Overwrite bool
	// DataFileMB is how large a file of a table may grow before the next begins, in MiB; 0 is LeRobot's 100. An episode is in one file, whatever its
	// size.
	DataFileMB int
	// VideoFileMB is how large a file of a video may grow before the next begins, in MiB; 0 is LeRobot's 200.
	VideoFileMB int
	// Codec, one of Codecs, makes videos of all media but those that can be copied: ffmpeg encodes them. Without it images stay images, and a video that
	// cannot be copied is refused.
	Codec string
	// Modality is meta/modality.json, with which GR00T finds its parts of states and actions; none unless given.
	Modality json.RawMessage
	// KeepImages leaves PNG and JPEG what they are, also with a Codec.
	KeepImages bool
}

// chunk is how many files a folder has, LeRobot's chunks_size.
const chunk = 1000

// Writer writes a LeRobot v3.0 dataset, episode by episode. It is not for use from several goroutines at once.
//
//	w, err := lerobot.Create(path, lerobot.WriteOptions{FPS: 30})
//	defer w.Close()
//	err = w.Add(ctx, episode) // for each
//	err = w.Commit(ctx)
//
// Everything is written into a folder beside the name. Commit reads all of it back, compares it with what was to be written, and only then gives the
// folder its name; until then, and after any error, there is nothing under it. The same episodes give the same bytes: nothing in a dataset says when,
// where or from which file it was made.
//
// The statistics of an episode, in meta/episodes, are to the bit those that LeRobot computes of the same rows. stats.json is of all rows, and exact:
// LeRobot merges those of the episodes, so that its means and deviations have the rounding errors of float32 sums, and its quantiles are the least or
// the largest of the episodes'. Statistics of images and videos are of the frames and pixels that LeRobot samples, in exact arithmetic; JPEG and
// video decoders differ by a level here and there. Those of videos that were copied are merged as LeRobot does, where the dataset told them.
//
// Memory is bounded by an episode, its rows as float64 beside what is written and twice its encoded images; a file's list of row groups, which is
// written at its end, takes about 1 kB for each column of each episode in it, and an episode that is in a finished file a few hundred bytes.
type Writer struct {
	opt    WriteOptions
	folder *atomicfile.Folder
	open   func(path string) (output, error)

	features  []*writeFeature // nil before the first episode
	rows      *rowTable
	episodes  *episodeTable
	unchecked []*hashedFile // files that were completed and not read back yet
	tasks     []string
	parts     []part
	numbers   map[string]int // of the tasks
	report    WriteReport
	limit     int64 // bytes of a table's file at which the next begins
	groups    int   // row groups of it at which the next begins
	err       error // what broke the output
	closed    bool
}

// WriteReport says what was written, and what could not be kept.
type WriteReport struct {
	Episodes, Frames, Tasks int
	Files                   int
	Bytes                   int64
	// Shift is the largest distance of a timestamp from its row's i/FPS after the episode's first: at most LeRobot's tolerance, 0.1 ms.
	Shift time.Duration
	// Moved is the largest distance of a video's frame, from the first of its episode, from where it is now: at i/FPS exactly.
	Moved time.Duration
	// Inexact counts the integers that the streams had already rounded.
	Inexact int
	// Renamed has the names that features got, by those of the streams and media, where they differ.
	Renamed map[string]string
	// Notes are about content of the episodes that the format has no place for. Count is the number of episodes.
	Notes dataset.Notes
}

// Create begins a dataset that Commit will name path. The folder that it lies in must exist. A name that is taken is an *fs.PathError that is
// fs.ErrExist, unless Overwrite is set; then a folder that is neither empty nor a LeRobot dataset is one.
func Create(path string, opt WriteOptions) (*Writer, error) {
	bad := func(arg string, got any, want string) error {
		return &dataset.OptionError{Arg: arg, Got: fmt.Sprint(got), Want: want}
	}
	if !dataset.IsRate(opt.FPS) {
		return nil, bad("FPS", strconv.FormatFloat(opt.FPS, 'g', -1, 64), "rows a second from 1e-6 to 1e9")
	}
	if opt.DataFileMB == 0 {
		opt.DataFileMB = 100
	}
	if opt.VideoFileMB == 0 {
		opt.VideoFileMB = 200
	}
	for _, size := range []struct {
		arg string
		mb  int
	}{{"DataFileMB", opt.DataFileMB}, {"VideoFileMB", opt.VideoFileMB}} {
		if size.mb < 0 || size.mb > 1<<30 {
			return nil, bad(size.arg, size.mb, "MiB, or 0 for LeRobot's own")
		}
	}
	if opt.Codec != "" && !slices.Contains(Codecs(), opt.Codec) {
		return nil, bad("Codec", strconv.Quote(opt.Codec), strings.Join(Codecs(), ", ")+", or none")
	}
	if !utf8.ValidString(opt.RobotType) {
		return nil, bad("RobotType", strconv.Quote(opt.RobotType), "UTF-8")
	}
	if len(opt.Modality) > 0 && !json.Valid(opt.Modality) {
		return nil, bad("Modality", fmt.Sprintf("%d bytes", len(opt.Modality)), "JSON")
	}
	for _, task := range opt.FirstTasks {
		if !utf8.ValidString(task) {
			return nil, bad("FirstTasks", strconv.Quote(task), "UTF-8")
		}
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
	w := &Writer{opt: opt, folder: folder, open: createFile, numbers: map[string]int{}, limit: int64(opt.DataFileMB) << 20, groups: parquet.MostGroups}
	w.addTasks(opt.FirstTasks)
	return w, nil
}

// Add writes an episode: each stream becomes a column, each media stream a column of images or a video, and
// Attributes.Task the task.
//
// All of them must have the same T rows on one clock of FPS; else it is a *WriteError that is ErrNotAligned. Columns that all hold whole numbers
// become int64, truth values bool; others float32 or float64 as Values are, with half-precision as float32. The first episode says what features the
// dataset has, and every other must have the same. PNG and JPEG images of 8 bits in grey or colour are kept byte for byte, and raw ones become PNG.
//
// A video that was read from a LeRobot dataset stays one: its frames are copied as they are encoded. Its statistics are what that dataset tells of them;
// where it tells none, or what cannot be, ffmpeg decodes it. Episodes lie in a file one behind the other, frame i of the file at i/FPS exactly, so that
// writing mends videos that were joined with a drift. Where rows lack frames, or take one twice, as at another rate, they must be encoded anew, which
// takes WriteOptions.Codec.
//
// An episode that cannot be written is a *WriteError, costs itself only, and leaves the Writer as it was. After a failure to write the files, and after
// the end of ctx while a video is copied, every call returns it.
func (w *Writer) Add(ctx context.Context, e *dataset.Episode) error {
	return w.AddWith(ctx, e, Beside{})
}

// usable returns the error of a Writer that takes no more.
func (w *Writer) usable() error {
	if w.closed {
		return &WriteError{Episode: -1, Kind: dataset.ErrClosed, Got: "a Writer after Commit or Close", Want: "an open one"}
	}
	return w.err
}

// Err returns what broke the output, which every other call returns too; nil while episodes can be added.
func (w *Writer) Err() error { return w.usable() }

// Commit completes the files, reads them back, compares, and gives the dataset its name. Without episodes it is a *WriteError that is ErrNoEpisodes.
// After an error there is nothing under the name, or what was there before, unless it says that the new folder has its name.
func (w *Writer) Commit(ctx context.Context) error {
	if err := w.usable(); err != nil {
		return err
	}
	if w.report.Episodes == 0 {
		return &WriteError{Episode: -1, Kind: ErrNoEpisodes, Got: "none", Want: "at least one: LeRobot does not load a dataset without"}
	}
	if w.err = w.complete(ctx); w.err != nil {
		return w.err
	}
	if w.err = w.folder.Commit(); w.err != nil {
		return w.err
	}
	w.closed = true
	return nil
}

// Close gives up what Commit has not named and removes it. Close twice is fine.
func (w *Writer) Close() error {
	w.closed = true
	if w.rows != nil {
		w.rows.abandon()
	}
	for _, f := range w.features {
		if f.dtype == dtypeVideo {
			f.films.abandon()
		}
	}
	if w.episodes != nil {
		w.episodes.abandon()
	}
	return w.folder.Close()
}

// Report returns what was written so far.
func (w *Writer) Report() WriteReport {
	r := w.report
	r.Tasks = len(w.tasks)
	r.Notes, r.Renamed = slices.Clone(r.Notes), maps.Clone(r.Renamed)
	return r
}

// begin makes the files that the first episode needs.
func (w *Writer) begin(p *episodePlan) {
	w.features = p.features
	for i, f := range w.features {
		f.bare = p.stats[i].bare
		if f.dtype == dtypeVideo {
			f.films = &films{dir: filepath.Join("videos", f.name), limit: int64(w.opt.VideoFileMB) << 20}
		}
	}
	w.rows = &rowTable{w: w, series: series{dir: "data", limit: w.limit, groups: w.groups}}
	w.episodes = &episodeTable{w: w, series: series{dir: filepath.Join("meta", "episodes"), limit: w.limit, groups: w.groups}}
}

// taskNumbers returns the numbers of an episode's tasks, each of which is there once; new ones get the next.
func (w *Writer) taskNumbers(tasks []string) []int {
	next := len(w.tasks)
	list := make([]int, len(tasks))
	for i, task := range tasks {
		n, ok := w.numbers[task]
		if !ok {
			n, next = next, next+1
		}
		list[i] = n
	}
	return list
}

// addTasks takes an episode's tasks, some of which may be new.
func (w *Writer) addTasks(tasks []string) {
	for i, n := range w.taskNumbers(tasks) {
		if n >= len(w.tasks) {
			w.tasks = append(w.tasks, tasks[i])
			w.numbers[tasks[i]] = n
		}
	}
}

// replaceable returns an error unless what has the name is nothing, an empty folder or a LeRobot dataset: Overwrite removes nothing else.
func replaceable(path string) error {
	list, err := os.ReadDir(path)
	if err != nil || len(list) == 0 {
		return nil // what is no folder is refused where it is to be replaced
	}
	if _, err := os.Stat(filepath.Join(path, "meta", "info.json")); err != nil {
		return &fs.PathError{Op: "overwrite", Path: path, Err: errors.New("is no LeRobot dataset: it has no meta/info.json")}
	}
	return nil
}
