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
	for _, f := range w.features {
		var names any
		if f.names != nil {
			names = f.names
		}
		feature := orderjson.Of("dtype", f.dtype, "shape", f.shape, "names", names)
		if f.dtype == dtypeVideo {
			feature.Add("info", f.videoInfo(w.opt.FPS))
			videos = layout.VideoPath
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
	info := orderjson.Of(
		"codebase_version", "v3.0", "fps", jsonNumber(w.opt.FPS), "features", features,
		"total_episodes", w.report.Episodes, "total_frames", w.report.Frames, "total_tasks", len(w.tasks.texts),
		"chunks_size", layout.ChunkFiles, "data_files_size_in_mb", w.opt.DataFileMB, "video_files_size_in_mb", w.opt.VideoFileMB,
		"data_path", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path", videos, "robot_type", robot,
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
		one := orderjson.Object{}
		for _, name := range f.statNames() {
			if name == "count" {
				one.Add(name, []int{count})
				continue
			}
			list := make([]any, len(columns))
			for i, x := range statValues(columns, name) {
				if list[i] = orderjson.Float(x); f.visual() {
					list[i] = [][]orderjson.Float{{orderjson.Float(x)}}
				}
			}
			one.Add(name, list)
		}
		all.Add(f.name, one)
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
