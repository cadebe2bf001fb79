package write

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/summary"
)

// write adds an episode that was looked at.
func (w *Writer) write(ctx context.Context, p *episodePlan) error {
	if w.features == nil {
		w.begin(p)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i, f := range w.features {
			f.add(&p.features[i].data, p.features[i].stats)
		}
	})
	err := w.rows.write(p)
	if wait.Wait(); err != nil {
		return err
	}
	from := w.report.Frames
	index := w.report.Episodes
	w.tasks.add(p.tasks)
	w.parts.add(index, p.splits)
	places := make([]videoPlace, len(w.features))
	for i, f := range w.features {
		if f.dtype == dtypeVideo {
			if f.pixels != p.features[i].pixels { // of some episodes one, of others another
				f.pixels = ""
			}
			var err error
			if places[i], err = f.files.add(ctx, index, p.features[i].clip); err != nil {
				return err
			}
			w.report.Moved = max(w.report.Moved, p.features[i].clip.moved)
		}
	}
	w.report.Episodes++
	w.report.Frames += p.rows
	w.report.Inexact += p.inexact
	w.report.Shift = max(w.report.Shift, p.shift)
	for _, name := range p.left {
		w.leave(name)
	}
	for stream, name := range p.names {
		if stream != name {
			if w.report.Renamed == nil {
				w.report.Renamed = map[string]string{}
			}
			w.report.Renamed[stream] = name
		}
	}
	return w.episodes.add(episodeRow{index: index, from: from, chunk: w.rows.chunk, file: w.rows.file, places: places, plan: p})
}

// begin makes the features and tables of the dataset, which are those of the first episode.
func (w *Writer) begin(p *episodePlan) {
	for _, f := range p.features {
		all := &featureTotals{feature: f.feature}
		switch {
		case f.dtype == dtypeVideo:
			all.files = &videoFiles{in: w.out, fps: w.opt.FPS, dir: filepath.Join("videos", f.name), limit: int64(w.opt.VideoFileMB) << 20}
		case !f.visual():
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

// leave counts an attribute that has no place.
func (w *Writer) leave(name string) {
	for i := range w.report.LeftOut {
		if w.report.LeftOut[i].Name == name {
			w.report.LeftOut[i].Count++
			return
		}
	}
	w.report.LeftOut = append(w.report.LeftOut, dataset.LeftOut{Name: name, Count: 1, Reason: "LeRobot has no place for it"})
}

// complete finishes every file, and reads all of them back. The rows are decoded once more if the quantiles need it.
func (w *Writer) complete(ctx context.Context) error {
	if err := w.rows.finish(); err != nil {
		return err
	}
	for _, f := range w.features {
		if f.dtype == dtypeVideo {
			if err := f.files.finish(); err != nil {
				return err
			}
		}
	}
	if err := w.episodes.flush(); err != nil {
		return err
	}
	if err := w.episodes.finish(); err != nil {
		return err
	}
	if err := w.tasks.write(w.out); err != nil {
		return err
	}
	if err := w.out.check(ctx); err != nil {
		return err
	}
	for {
		more, err := w.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := w.rows.readBack(ctx); err != nil {
			return err
		}
	}
	w.leaveSplits()
	for _, f := range w.features {
		f.recount()
	}
	type content struct {
		path    string
		content any
	}
	files := []content{{layout.InfoFile, w.info()}, {layout.StatsFile, w.stats()}}
	if levels := w.pixelLevels(); levels.Len() > 0 {
		files = append(files, content{layout.LevelsFile, levels})
	}
	if len(w.opt.Modality) > 0 {
		files = append(files, content{layout.ModalityFile, w.opt.Modality})
	}
	for _, file := range files {
		if err := w.out.writeJSON(filepath.FromSlash(file.path), file.content); err != nil {
			return err
		}
	}
	return w.out.check(ctx)
}

// leaveSplits notes the parts that LeRobot cannot have.
func (w *Writer) leaveSplits() {
	for _, p := range w.parts {
		if p.size != p.to-p.from {
			w.report.LeftOut = append(w.report.LeftOut, dataset.LeftOut{
				Name: "split " + p.name, Count: p.size, Reason: fmt.Sprintf("its episodes do not follow each other from %d to %d", p.from, p.to-1),
			})
		}
	}
}

// next ends a pass of the statistics over all rows: the first while they were written, the second while they are read back. It reports whether another
// is needed, as there is where many numbers of 64 bits begin alike.
func (w *Writer) next() (more bool, err error) {
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
