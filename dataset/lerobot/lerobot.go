package lerobot

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/storage"
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

// isHeader recognises meta/info.json by its first bytes.
func isHeader(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"codebase_version"`))
}

// isFolder recognises a dataset by its meta/info.json, or if that is broken, by other files in the folder.
func isFolder(ctx context.Context, path string) bool {
	head, there := headOf(ctx, storage.Join(path, "meta", "info.json"))
	if !there || isHeader(head) {
		return there
	}
	return slices.ContainsFunc(companions, func(name string) bool {
		_, err := storage.Stat(ctx, storage.Join(path, "meta", name))
		return err == nil
	})
}

// companions lists files and folders that only LeRobot creates next to info.json.
var companions = []string{"episodes", "episodes.jsonl", "tasks.parquet", "tasks.jsonl", "episodes_stats.jsonl", "stats.json"}

// headOf returns a file's first bytes, if it exists.
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

// Limits for unused data files and videos that stay open. An episode has one video per camera.
const (
	maxData   = 4
	maxVideos = 16
)

// Open opens a dataset by its folder, or by its meta/info.json. It reads the declarations and the footers of all data files, and
// finds the rows of each episode. If the version is not 2.x or 3.x, or the storage is not Parquet, the error is
// dataset.ErrUnsupported.
func Open(ctx context.Context, path string, opt Options) (opened *Set, err error) {
	header := storage.Join(path, "meta", "info.json")
	root := path
	if st, err := storage.Stat(ctx, path); err != nil {
		return nil, err
	} else if !st.IsDir() {
		header, root = path, storage.Join(storage.Dir(path), "..")
	}
	defer dataset.WatchedOpen(root, &opened, &err)()
	rows, err := readDataset(ctx, root, header, opt)
	if err != nil {
		return nil, err
	}
	s := &Set{rowIndex: rows, opt: opt}
	s.data.Format, s.data.Open, s.data.Most = "lerobot", openParquet, maxData
	s.videos.Format, s.videos.Open, s.videos.Most = "lerobot", footage.Open, maxVideos
	return s, nil
}

// readDataset reads the declarations, finds the rows, and compares the two.
func readDataset(ctx context.Context, root, path string, opt Options) (*rowIndex, error) {
	from := &source{root: root}
	h, err := from.readHeader(path)
	if err != nil {
		return nil, err
	}
	if err := checkBackend(&opt); err != nil {
		return nil, err
	}
	if err := from.chooseClock(h, opt); err != nil {
		return nil, err
	}
	list, err := readCatalog(ctx, from, h)
	if err != nil {
		return nil, err
	}
	if _, err := storage.Stat(ctx, from.path(layout.ModalityFile)); err == nil {
		from.readModality(h, from.path(layout.ModalityFile))
	}
	s, err := readIndex(ctx, list)
	if err != nil {
		return nil, err
	}
	if from.refused != nil {
		return nil, from.refused
	}
	if total, told := h.totals["total_episodes"]; len(s.files) == 0 && (!told || total != 0 || len(s.order) > 0) {
		return nil, formatError(dataset.ErrNotFound, s.root, -1, "dataset", "none of its data files", "one below "+folderOf(h.dataPath, "data"))
	}
	s.compare()
	if err := s.compareVideos(ctx); err != nil {
		return nil, err
	}
	s.readSplits()
	s.info.SetNumbers(len(s.episodes), func(i int) int { return int(s.episodes[i].number) })
	s.info.Notes = s.problems.list
	if opt.Strict && len(s.info.Notes) > 0 {
		n := s.info.Notes[0]
		return nil, formatError(dataset.ErrCorrupt, s.root, -1, n.Subject, n.String(), "")
	}
	return s, nil
}

// chooseClock sets the rows' clock and rate.
func (s *source) chooseClock(h *header, opt Options) error {
	s.info.Clocks = []string{clockFrames, clockStamps}
	if h.captures(clockCaptured) {
		s.info.Clocks = append(s.info.Clocks, clockCaptured)
	}
	if s.info.Clock = cmp.Or(opt.Clock, clockFrames); !slices.Contains(s.info.Clocks, s.info.Clock) {
		return &dataset.OptionError{Arg: "Clock", Got: fmt.Sprintf("%q", opt.Clock), Want: strings.Join(s.info.Clocks, " or ")}
	}
	return s.info.ChooseRate(opt.Rate, h.fps, 0)
}
