package lerobot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/table"
)

// The clocks of Options.Clock.
const (
	clockFrames = "frame_index" // the row's number, or that of frame_index, divided by the rate
	clockStamps = "timestamp"   // the column timestamp
)

func init() {
	dataset.Register(dataset.Format{
		Name: "lerobot", Extensions: []string{".json"},
		Match:  isHeader,
		Folder: func(path string) bool { return isHeader(headOf(filepath.Join(path, "meta", "info.json"))) },
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(ctx, path, opt)
		},
	})
}

// isHeader tells meta/info.json by its beginning.
func isHeader(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"codebase_version"`))
}

// headOf returns the beginning of a file, or nothing.
func headOf(path string) []byte {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 16*dataset.HeadBytes))
	return head
}

// Options are dataset's. Strict refuses a dataset with any of Info.Problems, and an episode with Damage. Rate goes before fps of info.json, and the
// timestamps are not compared with it then. Clock is "frame_index" or "timestamp".
type Options = dataset.Options

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	root     string
	opt      Options
	header   header
	info     dataset.Info
	problems problems
	tasks    map[int64]string
	declared map[int64]*declared // episodes as meta/episodes has them
	order    []int64             // their numbers, as they are listed
	files    []dataFile
	episodes []episode
	data     cache[*table.File]
	videos   cache[*footage]
}

// Open opens a dataset: its folder, or its meta/info.json. It reads what the dataset says of itself and the footers of all data files, and finds out
// which rows are of which episode. A version other than 2.x and 3.x, or a storage other than Parquet, is dataset.ErrUnsupported.
func Open(ctx context.Context, path string, opt Options) (*Set, error) {
	header := filepath.Join(path, "meta", "info.json")
	root := path
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.IsDir() {
		header, root = path, filepath.Join(filepath.Dir(path), "..")
	}
	s := &Set{root: root, opt: opt, tasks: map[int64]string{}, declared: map[int64]*declared{}}
	s.data.read, s.data.most = table.Open, maxData
	s.videos.read, s.videos.most = openFootage, maxVideos
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
	switch s.info.Clock = s.opt.Clock; s.info.Clock {
	case "":
		s.info.Clock = clockFrames
	case clockFrames, clockStamps:
	default:
		return &dataset.OptionError{Arg: "Clock", Got: fmt.Sprintf("%q", s.opt.Clock), Want: strings.Join(s.info.Clocks, " or ")}
	}
	if err := s.info.ChooseRate(s.opt.Rate, s.header.fps, 0); err != nil {
		return err
	}
	if err := s.readTables(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(s.root, "meta", "modality.json")); err == nil {
		s.readModality(filepath.Join(s.root, "meta", "modality.json"))
	}
	if err := s.index(ctx); err != nil {
		return err
	}
	if len(s.files) == 0 {
		return formatError(dataset.ErrNotFound, s.root, -1, "dataset", "none of its data files", "one below "+folderOf(s.header.dataPath, "data"))
	}
	s.compare()
	s.compareVideos()
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
	if abs, err := filepath.Abs(s.root); err == nil {
		return filepath.Base(abs)
	}
	return filepath.Base(s.root)
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

// Close closes the files. Close twice is fine. Episodes that were read stay; their frames cannot be read any more.
func (s *Set) Close() error {
	s.data.close()
	s.videos.close()
	return nil
}

// readSplits turns ranges of episodes, "0:80", into the episodes that there are.
func (s *Set) readSplits() {
	for _, m := range s.header.splits {
		var from, to int64
		text, _ := text(m.value)
		if n, err := fmt.Sscanf(text, "%d:%d", &from, &to); n != 2 || err != nil {
			s.problems.add("split "+m.key, "range", fmt.Sprintf("%.40s, want one such as 0:80", plain(m.value)))
			continue
		}
		split := dataset.Split{Name: m.key, Episodes: []int{}}
		for i, e := range s.episodes {
			if e.number >= from && e.number < to {
				split.Episodes = append(split.Episodes, i)
			}
		}
		if missing := to - from - int64(len(split.Episodes)); missing > 0 {
			s.problems.add("split "+m.key, "episodes that are not there", fmt.Sprintf("%d of %d", missing, to-from))
		}
		s.info.Splits = append(s.info.Splits, split)
	}
}
