package layout

import (
	"slices"
	"time"

	"github.com/robocache/robocache/internal/summary"
)

// Files of every version, by their paths in the dataset.
const (
	InfoFile     = "meta/info.json"
	StatsFile    = "meta/stats.json"
	TasksFile    = "meta/tasks.parquet"
	ModalityFile = "meta/modality.json" // GR00T's parts of states and actions, which LeRobot does not read
	// VideoPath is the pattern of a video's files in version 3.
	VideoPath = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
)

// LevelsKey is the key of a dataset's pixel levels in the footer of the last file of meta/episodes: JSON, footage.Levels by the name of the
// video. With them, joined datasets have the exact statistics of all frames, and no frame is decoded. LeRobot ignores the key, and drops it
// when it rewrites the file, so that levels never outlive their episodes.
const LevelsKey = "robocache.pixel_levels"

// ChunkFiles is how many files a folder has, LeRobot's chunks_size.
const ChunkFiles = 1000

// Tolerance is the largest distance between a frame and its row, ns, as in LeRobot.
const Tolerance = int64(100 * time.Microsecond)

// Standard are the columns that every dataset has, in the order of LeRobot. They are no streams: they count rows, and name their task.
var Standard = []string{"timestamp", "frame_index", "episode_index", "index", "task_index"}

// Language are the columns of lists of structures in LeRobot 0.6: values that hold on, which each row repeats, and events, each in its row.
var Language = []string{"language_persistent", "language_events"}

// StatNames are the statistics of a feature in LeRobot's order. The last are the quantiles.
var StatNames = append([]string{"min", "max", "mean", "std", "count"}, summary.QuantileNames[:]...)

// Stat returns the place of a statistic other than the count in a column's.
func Stat(c *summary.Column, name string) *float64 {
	switch name {
	case "min":
		return &c.Min
	case "max":
		return &c.Max
	case "mean":
		return &c.Mean
	case "std":
		return &c.Std
	}
	return &c.Quantiles[slices.Index(summary.QuantileNames[:], name)]
}
