package write

import (
	"context"

	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// featureTotals is a dataset feature with statistics over all episodes.
type featureTotals struct {
	*feature
	numbers *summary.Exact   // for numbers
	levels  []summary.Levels // for images and videos, per channel
	frames  int              // frames counted in levels
	pool    videoPool        // for images and videos
	copied  map[footage.Feature]*copiedEpisodes
	files   *videoFiles // for a video
}

// copiedEpisodes holds a source dataset's copied episodes, and the frames that their statistics cover.
type copiedEpisodes struct {
	numbers map[int64]bool
	frames  int
}

// add adds an episode's numbers and pixels to the dataset's statistics.
func (f *featureTotals) add(d *parquet.Values, s featureStats) {
	if f.visual() {
		if f.levels == nil {
			f.levels = make([]summary.Levels, len(s.columns))
		}
		for i := range s.levels {
			f.levels[i].Merge(&s.levels[i])
		}
		f.frames += s.frames
		f.pool.add(s)
		if s.origin != nil {
			f.note(s)
		}
		return
	}
	f.count(d)
}

// count adds numbers to a pass of the statistics over all rows.
func (f *featureTotals) count(v *parquet.Values) {
	switch f.dtype {
	case dtypeFloat32:
		f.numbers.Add32(v.Float32)
	case dtypeFloat64:
		f.numbers.Add64(v.Float64)
	case dtypeInt64:
		f.numbers.Add64(tensor.Cast[float64](v.Int64))
	case dtypeBool:
		f.numbers.Add32(tensor.Cast[float32](v.Int64))
	}
}

// note records an episode with statistics that were copied with its video.
func (f *featureTotals) note(s featureStats) {
	if f.copied == nil {
		f.copied = map[footage.Feature]*copiedEpisodes{}
	}
	e := f.copied[s.origin.Feature]
	if e == nil {
		e = &copiedEpisodes{numbers: map[int64]bool{}}
		f.copied[s.origin.Feature] = e
	}
	e.numbers[s.origin.Episode] = true
	e.frames += s.frames
}

// recount makes copied statistics exact if possible: if all source datasets were copied completely, each episode once, and have levels
// for their videos, it adds these levels.
func (f *featureTotals) recount(ctx context.Context) {
	var all []footage.Levels
	for from, e := range f.copied {
		l, ok := from.Dataset.Levels(ctx, from.Name)
		if !ok || len(e.numbers) != from.Dataset.Len() || l.Frames != e.frames || len(l.Levels) != len(f.levels) {
			return
		}
		all = append(all, l)
	}
	for _, l := range all {
		for i := range l.Levels {
			f.levels[i].Merge(&l.Levels[i])
		}
	}
	f.pool.copied = false
}
