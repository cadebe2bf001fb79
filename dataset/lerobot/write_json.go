package lerobot

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
)

// featureStats is the statistics of a feature in an episode.
type featureStats struct {
	columns []summary.Column        // of each column, or channel
	of      func() []summary.Column // computes them, where that is not done yet
	levels  []summary.Levels        // of images
	frames  int                     // that they are of
	bare    bool                    // there are no quantiles: they were told, and none were among them
	told    bool                    // they are what the video's dataset tells
	from    toldVideo               // which that is
	episode int64                   // and of which episode there
}

// statNames are the statistics in LeRobot's order.
var statNames = append([]string{"min", "max", "mean", "std", "count"}, summary.QuantileNames[:]...)

// setStat sets one of the statistics.
func setStat(c *summary.Column, name string, v float64) {
	switch name {
	case "min":
		c.Min = v
	case "max":
		c.Max = v
	case "mean":
		c.Mean = v
	case "std":
		c.Std = v
	default:
		c.Quantiles[slices.Index(summary.QuantileNames[:], name)] = v
	}
}

// statNames are those of the statistics that a feature has: of videos whose statistics were told, there may be no quantiles.
func (f *writeFeature) statNames() []string {
	if f.bare {
		return statNames[:len(statNames)-len(summary.QuantileNames)]
	}
	return statNames
}

// statValues returns one of the statistics of every column.
func statValues(columns []summary.Column, name string) []float64 {
	out := make([]float64, len(columns))
	for i, c := range columns {
		switch name {
		case "min":
			out[i] = c.Min
		case "max":
			out[i] = c.Max
		case "mean":
			out[i] = c.Mean
		case "std":
			out[i] = c.Std
		default:
			for q, known := range summary.QuantileNames {
				if known == name {
					out[i] = c.Quantiles[q]
				}
			}
		}
	}
	return out
}

// info returns info.json.
func (w *Writer) info() orderjson.Object {
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
			videos = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
		}
		features.Add(f.name, feature)
	}
	var robot any
	if w.opt.RobotType != "" {
		robot = w.opt.RobotType
	}
	return orderjson.Of(
		"codebase_version", "v3.0", "fps", jsonNumber(w.opt.FPS), "features", features,
		"total_episodes", w.report.Episodes, "total_frames", w.report.Frames, "total_tasks", len(w.tasks),
		"chunks_size", chunk, "data_files_size_in_mb", w.opt.DataFileMB, "video_files_size_in_mb", w.opt.VideoFileMB,
		"data_path", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "video_path", videos, "robot_type", robot,
		"splits", w.splits(),
	)
}

// next ends a pass of the statistics over all rows: the first while they were written, the second while they are read back. It reports whether another
// is needed, as there is where many numbers of 64 bits begin alike.
func (w *Writer) next() (more bool, err error) {
	for _, f := range w.features {
		if f.total == nil {
			continue
		}
		again, err := f.total.Next()
		if err != nil {
			return false, &WriteError{Episode: -1, Feature: f.name, Kind: ErrReadBack, Got: "other rows than were written"}
		}
		more = more || again
	}
	return more, nil
}

// stats returns stats.json: of all rows, exactly, and of the sampled frames.
func (w *Writer) stats() orderjson.Object {
	all := orderjson.Object{}
	for _, f := range w.features {
		var columns []summary.Column
		count := f.frames
		if f.visual() {
			columns = f.pool.columns(f.levels)
		} else {
			for _, c := range f.total.Columns() {
				columns = append(columns, summary.Column{Min: c.Min, Max: c.Max, Mean: c.Mean, Std: c.Std, Quantiles: [len(summary.Quantiles)]float64(c.Quantiles)})
			}
			count = w.report.Frames
		}
		one := orderjson.Object{}
		for _, name := range f.statNames() {
			var v any
			switch list := statValues(columns, name); {
			case name == "count":
				v = []int{count}
			case f.visual():
				pixels := make([][][]orderjson.Float, len(list))
				for i, x := range list {
					pixels[i] = [][]orderjson.Float{{orderjson.Float(x)}}
				}
				v = pixels
			default:
				floats := make([]orderjson.Float, len(list))
				for i, x := range list {
					floats[i] = orderjson.Float(x)
				}
				v = floats
			}
			one.Add(name, v)
		}
		all.Add(f.name, one)
	}
	return all
}

// writeJSON writes a file.
func (w *Writer) writeJSON(path string, content any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(content); err != nil {
		return &WriteError{Episode: -1, Kind: dataset.ErrOption, Got: path, Err: err}
	}
	out, err := w.create(path)
	if err != nil {
		return err
	}
	if _, err = out.Write(text.Bytes()); err != nil {
		out.abandon()
		return err
	}
	return out.Close()
}
