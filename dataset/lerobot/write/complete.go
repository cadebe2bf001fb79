package write

import (
	"context"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
)

// write writes a planned episode: its rows, its videos, its statistics and its row in meta/episodes. After an error the dataset is
// incomplete and must be abandoned.
func (w *newDataset) write(ctx context.Context, p *episodePlan) error {
	if w.features == nil {
		w.begin(p)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if w.lines != nil { // version 2.1 has no statistics over all rows
			return
		}
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
			if f.pixels != p.features[i].pixels { // the format differs between episodes
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
	w.report.Notes.Join(p.notes)
	for _, name := range p.left {
		w.report.Notes.Add(dataset.Note{Code: dataset.CodeNoPlace, Subject: name, Count: 1, Detail: dataset.Detail{Want: "LeRobot", Unit: "it"}})
	}
	for stream, name := range p.names {
		if stream != name {
			if w.report.Renamed == nil {
				w.report.Renamed = map[string]string{}
			}
			w.report.Renamed[stream] = name
		}
	}
	row := episodeRow{index: index, from: from, file: w.rows.file, places: places, plan: p}
	if w.lines != nil {
		return w.lines.add(row)
	}
	return w.episodes.add(row)
}

// complete finishes every file, and reads all of them back. If the quantiles need it, it decodes the rows once more. If a file does not
// have the written bytes, the error is ErrReadBack.
func (w *newDataset) complete(ctx context.Context) error {
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
	if err := w.completeTables(ctx); err != nil {
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
	type content struct {
		path    string
		content any
	}
	files := []content{{layout.InfoFile, w.info()}}
	if w.lines == nil {
		files = append(files, content{layout.StatsFile, w.stats()})
	}
	if len(w.opt.Modality) > 0 {
		files = append(files, content{layout.ModalityFile, w.opt.Modality})
	}
	for _, file := range files {
		if err := w.out.writeJSON(file.path, file.content); err != nil {
			return err
		}
	}
	return w.out.check(ctx)
}

// completeTables finishes the tables about episodes and tasks.
func (w *newDataset) completeTables(ctx context.Context) error {
	if w.lines != nil {
		return w.lines.finish(w.tasks.texts)
	}
	if err := w.episodes.flush(); err != nil {
		return err
	}
	for _, f := range w.features {
		f.recount(ctx)
	}
	if levels := w.pixelLevels(); levels.Len() > 0 {
		w.episodes.table.SetMetadata(layout.LevelsKey, jsonText(levels))
	}
	if err := w.episodes.finish(); err != nil {
		return err
	}
	return w.tasks.write(w.out)
}
