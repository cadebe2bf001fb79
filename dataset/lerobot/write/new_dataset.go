package write

import (
	"fmt"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
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
	episodes *episodeTable
	tasks    taskList
	parts    parts
	report   Report
	limit    int64 // bytes in a table file after which the next begins
	groups   int   // row groups in a table file after which the next begins
}

// begin creates the dataset's features and tables from its first episode.
func (w *newDataset) begin(p *episodePlan) {
	w.lists = p.lists
	for _, f := range p.features {
		all := &featureTotals{feature: f.feature}
		switch {
		case f.dtype == dtypeVideo:
			all.files = &videoFiles{in: w.out, fps: w.opt.FPS, dir: filepath.Join("videos", f.name), limit: int64(w.opt.VideoFileMB) << 20}
		case !f.visual() && f.dtype != dtypeString:
			all.numbers = summary.NewExact(f.shape[0], f.dtype == dtypeFloat64 || f.dtype == dtypeInt64, summary.Quantiles[:])
		}
		w.features = append(w.features, all)
	}
	w.rows = &rowTable{features: w.features, series: series{in: w.out, dir: "data", limit: w.limit, groups: w.groups}}
	w.episodes = &episodeTable{
		fps: w.opt.FPS, features: w.features,
		series: series{in: w.out, dir: filepath.Join("meta", "episodes"), limit: w.limit, groups: w.groups},
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
// whether another pass is needed, which happens if many 64-bit numbers share their first bits.
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
