package write

import (
	"encoding/json"

	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
)

// info returns the content of info.json.
func (w *newDataset) info() orderjson.Object {
	features := orderjson.Object{}
	var videos any
	totalVideos := 0
	for _, f := range w.features {
		var names any
		if f.names != nil {
			names = f.names
		}
		feature := orderjson.Of("dtype", f.dtype, "shape", f.shape, "names", names)
		if f.dtype == dtypeVideo {
			feature.Add("info", f.videoInfo(&w.opt))
			videos = f.files.pattern
			totalVideos += w.report.Episodes
		} else if f.depth != "" {
			feature.Add("info", json.RawMessage(f.depth))
		}
		features.Add(f.name, feature)
	}
	for _, name := range layout.Language {
		if w.lists[name] != nil {
			features.Add(name, orderjson.Of("dtype", "language", "shape", []int{1}, "names", nil))
		}
	}
	var robot any
	if w.opt.RobotType != "" {
		robot = w.opt.RobotType
	}
	if w.lines != nil {
		chunks := (w.report.Episodes + layout.ChunkFiles - 1) / layout.ChunkFiles
		return orderjson.Of(
			"codebase_version", "v"+layout.Version21, "robot_type", robot,
			"total_episodes", w.report.Episodes, "total_frames", w.report.Frames, "total_tasks", len(w.tasks.texts), "total_videos", totalVideos, "total_chunks", chunks, "chunks_size", layout.ChunkFiles,
			"fps", jsonNumber(w.opt.FPS), "splits", w.parts.info(w.report.Episodes), "data_path", w.rows.pattern, "video_path", videos,
			"features", features,
		)
	}
	info := orderjson.Of(
		"codebase_version", "v3.0", "fps", jsonNumber(w.opt.FPS), "features", features,
		"total_episodes", w.report.Episodes, "total_frames", w.report.Frames, "total_tasks", len(w.tasks.texts),
		"chunks_size", layout.ChunkFiles, "data_files_size_in_mb", w.opt.DataFileMB, "video_files_size_in_mb", w.opt.VideoFileMB,
		"data_path", w.rows.pattern, "video_path", videos, "robot_type", robot,
		"splits", w.parts.info(w.report.Episodes),
	)
	if len(w.opt.Tools) > 0 {
		info.Add("tools", w.opt.Tools)
	}
	return info
}

// stats returns the content of stats.json: exact over all rows, and over the sampled frames.
func (w *newDataset) stats() orderjson.Object {
	all := orderjson.Object{}
	for _, f := range w.features {
		if f.dtype == dtypeString || f.unmeasured {
			continue
		}
		var columns []summary.Column
		count := f.frames
		if f.visual() {
			columns = f.pool.columns(f.levels)
		} else {
			for _, c := range f.numbers.Columns() {
				columns = append(columns, summary.Column{Min: c.Min, Max: c.Max, Mean: c.Mean, Std: c.Std, Quantiles: [len(summary.Quantiles)]float64(c.Quantiles)})
			}
			count = w.report.Frames
		}
		all.Add(f.name, f.statsJSON(columns, count))
	}
	return all
}

// pixelLevels returns the value for layout.LevelsKey: the levels of the videos with exact statistics, possibly none.
func (w *newDataset) pixelLevels() (all orderjson.Object) {
	for _, f := range w.features {
		if f.dtype == dtypeVideo && !f.pool.copied && !f.unmeasured {
			all.Add(f.name, footage.Levels{Frames: f.frames, Levels: f.levels})
		}
	}
	return all
}
