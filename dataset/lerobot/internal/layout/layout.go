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
	// LevelsFile counts each level of red, green and blue in the frames that the statistics of a video are of. With it, datasets that are
	// joined have the exact statistics of all frames without decoding one. LeRobot has no use for it, and leaves it alone.
	LevelsFile = "meta/pixel_levels.json"
	// VideoPath is the pattern of a video's files in version 3.
	VideoPath = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
)

// ChunkFiles is how many files a folder has, LeRobot's chunks_size.
const ChunkFiles = 1000

// Tolerance is how far a frame may be from its row, ns: what LeRobot allows.
const Tolerance = int64(100 * time.Microsecond)

// Standard are the columns that every dataset has, in the order of LeRobot. They are no streams: they count rows, and name their task.
var Standard = []string{"timestamp", "frame_index", "episode_index", "index", "task_index"}

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
