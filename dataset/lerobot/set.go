package lerobot

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/storage"
)

// The values for Options.Clock.
const (
	clockFrames = "frame_index" // frame_index, or else the row number, divided by the rate
	clockStamps = "timestamp"   // the column timestamp
	// The column capture_time, if it exists: each row's recording time in nanoseconds. capture_time.<camera> has the times of a
	// camera's frames.
	clockCaptured = "capture_time"
)

// Options are the options of package dataset. Strict refuses a dataset with a problem in Info.Notes, and an episode with damage.
// Rate overrides fps in info.json, and the timestamps are then not compared with it. Clock is "frame_index" or "timestamp", or
// "capture_time" if the column exists.
type Options = dataset.Options

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	*rowIndex
	opt    Options
	data   openfiles.Cache[*parquet.File]
	videos openfiles.Cache[*footage.File]
	stats  videoStatsCache
}

// captures reports whether the dataset has a column of times in nanoseconds with this name.
func (h *header) captures(name string) bool {
	k := slices.IndexFunc(h.features, func(f feature) bool { return f.Name == name })
	return k >= 0 && h.features[k].DType == "int64" && h.features[k].width == 1
}

// episodeVideo identifies an episode's video.
type episodeVideo struct {
	episode int64
	video   string
}

// statedStats holds the statistics that a dataset declares for an episode's video, by name: a value from 0 to 1 for each channel.
type statedStats map[string][]float64

// videoStatsCache holds the statistics for all episodes' videos. They are read at first use, completely or not at all.
type videoStatsCache struct {
	sync.Mutex
	of map[episodeVideo]statedStats
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

// Info returns the declarations, the number of rows in the data, and notes about contradictions.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// Len returns the number of episodes in the data.
func (s *Set) Len() int { return len(s.episodes) }

// Weights returns the number of rows in each episode.
func (s *Set) Weights() []int64 {
	list := make([]int64, len(s.episodes))
	for i := range s.episodes {
		list[i] = s.episodes[i].rows()
	}
	return list
}

// Close closes the files. Close twice is fine. Numbers in episodes stay valid; frames can no longer be read.
func (s *Set) Close() error {
	s.data.Close()
	s.videos.Close()
	return nil
}
