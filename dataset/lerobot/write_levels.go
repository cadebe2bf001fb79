package lerobot

import (
	"encoding/json"
	"slices"

	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/storage"
)

// levelsFile is a file beside LeRobot's: how often each level of red, green and blue occurs in the frames of each video that its statistics are of. By it
// datasets that are joined have the exact statistics of all frames without decoding one. LeRobot has no use for it, and leaves it alone.
const levelsFile = "meta/pixel_levels.json"

// videoLevels are the levels of a feature. Its JSON names are a contract.
type videoLevels struct {
	Frames int              `json:"frames"`
	Levels []summary.Levels `json:"levels"` // of each channel
}

// toldVideo is a video feature of a dataset whose frames are copied, with its statistics.
type toldVideo struct {
	set  *Set
	name string
}

// toldEpisodes are the episodes of a dataset that were copied, and the frames that their statistics are of.
type toldEpisodes struct {
	numbers map[int64]bool
	frames  int
}

// note notes an episode's statistics that were told.
func (f *writeFeature) note(s featureStats) {
	if f.copied == nil {
		f.copied = map[toldVideo]*toldEpisodes{}
	}
	e := f.copied[s.from]
	if e == nil {
		e = &toldEpisodes{numbers: map[int64]bool{}}
		f.copied[s.from] = e
	}
	e.numbers[s.episode] = true
	e.frames += s.frames
}

// recount makes statistics exact that are told: it takes the levels of the datasets that were copied whole, each episode once, if all of them were and
// have them.
func (f *writeFeature) recount() {
	var all []videoLevels
	for from, e := range f.copied {
		l, ok := from.set.levels(from.name)
		if !ok || len(e.numbers) != len(from.set.episodes) || l.Frames != e.frames || len(l.Levels) != len(f.levels) {
			return
		}
		all = append(all, l)
	}
	for _, l := range all {
		for i := range l.Levels {
			f.levels[i].Merge(&l.Levels[i])
		}
	}
	f.pool.told, f.copied = false, nil
}

// levels returns those of a video, if the dataset has them.
func (s *Set) levels(video string) (l videoLevels, ok bool) {
	list, err := readObject(storage.Join(s.root, "meta", "pixel_levels.json"))
	if err != nil {
		return l, false
	}
	var found struct {
		Frames int        `json:"frames"`
		Levels [][]uint64 `json:"levels"`
	}
	if raw := get(list, video); raw == nil || json.Unmarshal(raw, &found) != nil || len(found.Levels) != 3 || found.Frames <= 0 {
		return l, false
	}
	l.Frames = found.Frames
	for _, channel := range found.Levels {
		pixels := uint64(0)
		for _, n := range channel {
			if n >= 1<<53 || pixels >= 1<<53 {
				return l, false
			}
			pixels += n
		}
		if len(channel) != 256 || pixels == 0 {
			return l, false
		}
		l.Levels = append(l.Levels, summary.Levels(channel))
	}
	return l, true
}

// pixelLevels returns what levelsFile says, which may be nothing.
func (w *Writer) pixelLevels() (all orderjson.Object) {
	for _, f := range w.features {
		if f.dtype == dtypeVideo && !f.pool.told && !slices.Equal(f.levels, make([]summary.Levels, len(f.levels))) {
			all.Add(f.name, videoLevels{f.frames, f.levels})
		}
	}
	return all
}
