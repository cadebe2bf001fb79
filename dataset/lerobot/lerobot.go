package lerobot

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/storage"
)

// The clocks of Options.Clock.
const (
	clockFrames = "frame_index" // the row's number, or that of frame_index, divided by the rate
	clockStamps = "timestamp"   // the column timestamp
	// The column capture_time, if there is one: when a row was recorded, in nanoseconds; capture_time.<camera> of a camera's frame.
	clockCaptured = "capture_time"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "lerobot", Extensions: []string{".json"},
		Match:  isHeader,
		Folder: isFolder,
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(ctx, path, opt)
		},
	})
}

// isHeader tells meta/info.json by its beginning.
func isHeader(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"codebase_version"`))
}

// isFolder tells a dataset by its meta/info.json, or where that is broken by what else lies beside it.
func isFolder(ctx context.Context, path string) bool {
	head, there := headOf(ctx, storage.Join(path, "meta", "info.json"))
	if !there || isHeader(head) {
		return there
	}
	return slices.ContainsFunc(beside, func(name string) bool {
		_, err := storage.Stat(ctx, storage.Join(path, "meta", name))
		return err == nil
	})
}

// beside are files and folders that only LeRobot has beside an info.json.
var beside = []string{"episodes", "episodes.jsonl", "tasks.parquet", "tasks.jsonl", "episodes_stats.jsonl", "stats.json"}

// headOf returns the beginning of a file, if it is there.
func headOf(ctx context.Context, path string) (head []byte, there bool) {
	if st, err := storage.Stat(ctx, path); err != nil || !st.IsRegular() {
		return nil, false
	}
	f, err := storage.Open(ctx, path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	head, _ = io.ReadAll(io.LimitReader(storage.Reader(f), 16*dataset.HeadBytes))
	return head, true
}

// Options are dataset's. Strict refuses a dataset with any of Info.Problems, and an episode with Damage. Rate goes before fps of info.json, and the
// timestamps are not compared with it then. Clock is "frame_index" or "timestamp", or "capture_time" where there is such a column.
type Options = dataset.Options

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	root     string
	opt      Options
	header   header
	info     dataset.Info
	problems problems
	tasks    map[int64]string
	places   map[int64]int       // where in Info.Tasks a task is, if their numbers are not 0, 1, 2, ...
	declared map[int64]*declared // episodes as meta/episodes has them
	order    []int64             // their numbers, as they are listed
	files    []string            // of rows, from the dataset's folder on
	episodes []episode
	data     openfiles.Cache[*parquet.File]
	videos   openfiles.Cache[*footage]
	tellings tellings
}

// How many data files and videos stay open while nobody reads them. An episode has a video for each camera.
const (
	maxData   = 4
	maxVideos = 16
)

// Open opens a dataset: its folder, or its meta/info.json. It reads what the dataset says of itself and the footers of all data files, and finds out
// which rows are of which episode. A version other than 2.x and 3.x, or a storage other than Parquet, is dataset.ErrUnsupported.
func Open(ctx context.Context, path string, opt Options) (*Set, error) {
	header := storage.Join(path, "meta", "info.json")
	root := path
	if st, err := storage.Stat(ctx, path); err != nil {
		return nil, err
	} else if !st.IsDir() {
		header, root = path, storage.Join(storage.Dir(path), "..")
	}
	s := &Set{root: root, opt: opt, tasks: map[int64]string{}, declared: map[int64]*declared{}}
	s.data.Format, s.data.Open, s.data.Most = "lerobot", openParquet, maxData
	s.videos.Format, s.videos.Open, s.videos.Most = "lerobot", openFootage, maxVideos
	if err := s.open(ctx, header); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Set) open(ctx context.Context, header string) error {
	if err := s.readHeader(header); err != nil {
		return err
	}
	s.info.Clocks = []string{clockFrames, clockStamps}
	if s.captures(clockCaptured) {
		s.info.Clocks = append(s.info.Clocks, clockCaptured)
	}
	if s.info.Clock = cmp.Or(s.opt.Clock, clockFrames); !slices.Contains(s.info.Clocks, s.info.Clock) {
		return &dataset.OptionError{Arg: "Clock", Got: fmt.Sprintf("%q", s.opt.Clock), Want: strings.Join(s.info.Clocks, " or ")}
	}
	if err := s.info.ChooseRate(s.opt.Rate, s.header.fps, 0); err != nil {
		return err
	}
	if err := s.readTables(ctx); err != nil {
		return err
	}
	if _, err := storage.Stat(ctx, storage.Join(s.root, "meta", "modality.json")); err == nil {
		s.readModality(storage.Join(s.root, "meta", "modality.json"))
	}
	if err := s.index(ctx); err != nil {
		return err
	}
	if total, told := s.header.totals["total_episodes"]; len(s.files) == 0 && (!told || total != 0 || len(s.order) > 0) {
		return formatError(dataset.ErrNotFound, s.root, -1, "dataset", "none of its data files", "one below "+folderOf(s.header.dataPath, "data"))
	}
	s.compare()
	if err := s.compareVideos(ctx); err != nil {
		return err
	}
	s.readSplits()
	s.info.Problems = s.problems.told()
	if s.opt.Strict && len(s.info.Problems) > 0 {
		p := s.info.Problems[0]
		return formatError(dataset.ErrCorrupt, s.root, -1, p.Where, p.What, "")
	}
	return nil
}

// Name returns the name of the dataset's folder.
func (s *Set) Name() string {
	if abs, err := storage.Abs(s.root); err == nil {
		return storage.Base(abs)
	}
	return storage.Base(s.root)
}

// Format returns "lerobot".
func (s *Set) Format() string { return "lerobot" }

// Info returns what the dataset says of itself, the rows that there are, and what is not as it says.
func (s *Set) Info() dataset.Info {
	info := s.info
	info.Features, info.Tasks, info.Clocks = slices.Clone(info.Features), slices.Clone(info.Tasks), slices.Clone(info.Clocks)
	info.Splits, info.Attributes, info.Problems = slices.Clone(info.Splits), maps.Clone(info.Attributes), slices.Clone(info.Problems)
	return info
}

// Len returns the number of episodes that there are.
func (s *Set) Len() int { return len(s.episodes) }

// Weights returns how many rows each episode has.
func (s *Set) Weights() []int64 {
	list := make([]int64, len(s.episodes))
	for i := range s.episodes {
		list[i] = s.episodes[i].rows()
	}
	return list
}

// Close closes the files. Close twice is fine. Episodes that were read stay; their frames cannot be read any more.
func (s *Set) Close() error {
	s.data.Close()
	s.videos.Close()
	return nil
}

// readSplits turns ranges of episodes, "0:80", into the episodes that there are.
func (s *Set) readSplits() {
	all := make([]int, len(s.episodes)) // in the order of their numbers, so that a split is a part of it
	for i := range all {
		all[i] = i
	}
	place := func(number int64) int {
		return sort.Search(len(s.episodes), func(i int) bool { return s.episodes[i].number >= number })
	}
	for _, m := range s.header.splits {
		var from, to int64
		text, _ := text(m.Value)
		if n, err := fmt.Sscanf(text, "%d:%d", &from, &to); n != 2 || err != nil || from < 0 || to < from {
			s.problems.add("split "+m.Name, "range", fmt.Sprintf("%.40s, want one such as 0:80", plain(m.Value)))
			continue
		}
		begin, end := place(from), place(to)
		if missing := to - from - int64(end-begin); missing > 0 {
			s.problems.add("split "+m.Name, "episodes that are not there", fmt.Sprintf("%d of %d", missing, to-from))
		}
		s.info.Splits = append(s.info.Splits, dataset.Split{Name: m.Name, Episodes: all[begin:end:end]})
	}
}
