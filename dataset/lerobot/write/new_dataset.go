package write

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
)

// newDataset is an unfinished dataset: its features, its tables, and the report so far.
type newDataset struct {
	opt      Options
	out      *outputFolder
	features []*featureTotals          // nil before the first episode
	lists    map[string]*parquet.Lists // the first episode's language columns
	rows     *rowTable
	episodes *episodeTable // nil for version 2.1
	lines    *episodeLines // for version 2.1
	tasks    taskList
	parts    parts
	report   Report
	limit    int64 // bytes in a table file after which the next begins
	groups   int   // row groups in a table file after which the next begins
}

// begin creates the dataset's features and tables from its first episode.
func (w *newDataset) begin(p *episodePlan) {
	w.lists = p.lists
	v21 := w.opt.Version == layout.Version21
	data, video, videoLimit := layout.DataPath, layout.VideoPath, int64(w.opt.VideoFileMB)<<20
	if v21 {
		data, video, w.limit, videoLimit = layout.EpisodeDataPath, layout.EpisodeVideoPath, 0, 0
	}
	for _, f := range p.features {
		all := &featureTotals{feature: f.feature}
		f.bare = f.bare || v21
		switch {
		case f.dtype == dtypeVideo:
			all.files = &videoFiles{in: w.out, fps: w.opt.FPS, pattern: video, name: f.name, limit: videoLimit}
		case !f.visual() && f.dtype != dtypeString && !v21:
			all.numbers = summary.NewExact(f.shape[0], f.dtype == dtypeFloat64 || f.dtype == dtypeInt64, summary.Quantiles[:])
		}
		w.features = append(w.features, all)
	}
	w.rows = &rowTable{features: w.features, listType: "List", series: series{in: w.out, pattern: data, limit: w.limit, groups: w.groups}}
	if v21 {
		w.rows.listType = "Sequence"
		w.lines = &episodeLines{
			features: w.features, episodes: lines{in: w.out, path: layout.EpisodeLines}, stats: lines{in: w.out, path: layout.StatsLines},
		}
		return
	}
	w.episodes = &episodeTable{
		fps: w.opt.FPS, features: w.features,
		series: series{in: w.out, pattern: layout.EpisodesPath, limit: w.limit, groups: w.groups},
	}
}

// abandon closes the open files.
func (w *newDataset) abandon() {
	if w.rows != nil {
		w.rows.abandon()
	}
	for _, f := range w.features {
		if f.files != nil {
			f.files.abandon()
		}
	}
	if w.episodes != nil {
		w.episodes.abandon()
	}
	if w.lines != nil {
		w.lines.abandon()
	}
}

// leaveSplits adds notes about splits that LeRobot cannot store.
func (w *newDataset) leaveSplits() {
	for _, p := range w.parts {
		if p.size != p.to-p.from {
			w.report.Notes.Add(dataset.Note{Code: dataset.CodeSplitOrder, Subject: "split " + p.name, Count: p.size, Detail: dataset.Detail{Want: fmt.Sprintf("%d to %d", p.from, p.to-1)}})
		}
	}
}

// next ends a pass of the statistics over all rows: the first while they are written, the second while they are read back. It reports
// whether another pass is needed, which happens if many 64-bit numbers share their first bits. If the rows that were read differ from the
// written ones, the error is ErrReadBack.
func (w *newDataset) next() (more bool, err error) {
	for _, f := range w.features {
		if f.numbers == nil {
			continue
		}
		again, err := f.numbers.Next()
		if err != nil {
			return false, &Error{Episode: -1, Feature: f.name, Kind: ErrReadBack, Got: "other rows than were written"}
		}
		more = more || again
	}
	return more, nil
}
