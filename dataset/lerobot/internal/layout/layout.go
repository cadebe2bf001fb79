package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/summary"
)

// Paths in the dataset, the same in every version.
const (
	InfoFile     = "meta/info.json"
	StatsFile    = "meta/stats.json"
	TasksFile    = "meta/tasks.parquet"
	ModalityFile = "meta/modality.json" // GR00T's names for parts of states and actions; LeRobot does not read it
)

// Patterns for paths in version 3, where a file holds several episodes.
const (
	DataPath     = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
	VideoPath    = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
	EpisodesPath = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
)

// Patterns and paths in version 2, where an episode has its own files.
const (
	EpisodeDataPath  = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
	EpisodeVideoPath = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
	EpisodeLines     = "meta/episodes.jsonl"
	StatsLines       = "meta/episodes_stats.jsonl" // from version 2.1
	TaskLines        = "meta/tasks.jsonl"
)

// Version21 is the value of the writer's option for version 2.1.
const Version21 = "2.1"

// Expand replaces "{name}" and "{name:03d}" in a pattern with numbers, and "{video_key}" with a name.
func Expand(pattern string, numbers map[string]int64, video string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		field, after, _ := strings.Cut(rest, "}")
		name, form, _ := strings.Cut(field, ":")
		if name == "video_key" {
			b.WriteString(video)
		} else {
			width, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(form, "0"), "d"))
			fmt.Fprintf(&b, "%0*d", min(max(width, 0), 20), numbers[name])
		}
		pattern = after
	}
}

// File returns the path of a pattern's file n, counted over all chunks from 0. In version 2 that is episode n.
func File(pattern string, n int, video string) string {
	chunk, file := int64(n/ChunkFiles), int64(n%ChunkFiles)
	return Expand(pattern, map[string]int64{"chunk_index": chunk, "file_index": file, "episode_chunk": chunk, "episode_index": int64(n)}, video)
}

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
