package layout

import (
	"slices"
	"time"

	"github.com/robocache/robocache/internal/summary"
)

// Paths in the dataset, the same in every version.
const (
	InfoFile     = "meta/info.json"
	StatsFile    = "meta/stats.json"
	TasksFile    = "meta/tasks.parquet"
	ModalityFile = "meta/modality.json" // GR00T's names for parts of states and actions; LeRobot does not read it
	// VideoPath is the path pattern for video files in version 3.
	VideoPath = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
)

// LevelsKey is the metadata key for a dataset's pixel levels, in the footer of the last file in meta/episodes. The value is JSON:
// footage.Levels by video name. It allows exact statistics over all frames when datasets are joined, without decoding a frame. LeRobot
// ignores the key, and drops it when it rewrites the file, so that levels never outlive their episodes.
const LevelsKey = "robocache.pixel_levels"

// ChunkFiles is the file count per folder, LeRobot's chunks_size.
const ChunkFiles = 1000

// Tolerance is LeRobot's maximum distance between a frame and its row, in ns.
const Tolerance = int64(100 * time.Microsecond)

// Standard lists the columns in every dataset, in LeRobot's order. They are not streams: they count rows and hold the task.
var Standard = []string{"timestamp", "frame_index", "episode_index", "index", "task_index"}

// Language lists the columns with lists of structures in LeRobot 0.6: persistent values, repeated in each row, and events, each in one
// row.
var Language = []string{"language_persistent", "language_events"}

// StatNames lists a feature's statistics in LeRobot's order. Quantiles come last.
var StatNames = append([]string{"min", "max", "mean", "std", "count"}, summary.QuantileNames[:]...)

// Stat returns a pointer to a statistic in c by its name, except the count.
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
