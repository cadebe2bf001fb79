package lerobot

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/storage"
)

// videoStats provides a dataset's video declarations to a writer that copies its videos.
type videoStats struct{ *Set }

// Info returns a video's declared pixel format.
func (s videoStats) Info(video string) (info footage.Info) {
	f := s.header.feature(video)
	if f == nil {
		return info
	}
	info.Pixels, info.Depth = f.pixels, f.depth
	if len(f.Shape) == 3 && f.Width > 0 && f.Height > 0 {
		info.Channels = f.width / f.Width / f.Height
	}
	return info
}

// Stats returns the declared statistics for an episode's video, if they are plausible: three channels, each with minimum, mean and
// maximum ascending within 0 and 1, and a deviation that such values can have. Quantiles may be missing, as in version 2.1.
func (s videoStats) Stats(ctx context.Context, video string, episode int64) (stats footage.Stats, ok bool) {
	t := s.stated(ctx, episodeVideo{episode, video})
	if len(t["count"]) != 1 || !(t["count"][0] >= 1 && t["count"][0] < 1<<53) {
		return stats, false
	}
	stats.Frames, stats.Channels = int(t["count"][0]), make([]summary.Column, 3)
	for _, name := range layout.StatNames {
		values := t[name]
		if quantile := strings.HasPrefix(name, "q"); name == "count" || quantile && len(values) == 0 {
			stats.Bare = stats.Bare || quantile
			continue
		}
		if len(values) != 3 {
			return stats, false
		}
		for c, v := range values {
			*layout.Stat(&stats.Channels[c], name) = v
		}
	}
	for _, c := range stats.Channels {
		const rounded = 1e-6 // tolerance for sums in float32
		within := 0 <= c.Min && c.Min <= c.Mean+rounded && c.Mean <= c.Max+rounded && c.Max <= 1
		if reach := c.Max - c.Min; !within || !(c.Std >= reach*1e-4 && c.Std <= reach/2+rounded) {
			return stats, false
		}
	}
	return stats, true
}

// stated returns a video's statistics as they are declared.
func (s videoStats) stated(ctx context.Context, of episodeVideo) statedStats {
	s.stats.Lock()
	defer s.stats.Unlock()
	if s.stats.of == nil {
		s.stats.of = map[episodeVideo]statedStats{}
		if s.header.major == 3 {
			s.readTables(ctx)
		} else if s.header.version != "v2.0" {
			s.readLines(ctx)
		}
	}
	t := s.stats.of[of]
	if ctx.Err() != nil { // do not cache a partial result
		s.stats.of = nil
	}
	return t
}

// readTables reads the statistics in meta/episodes. Unreadable tables are skipped.
func (s videoStats) readTables(ctx context.Context) {
	names, err := s.parquetFiles(ctx, filepath.Join("meta", "episodes"))
	if err != nil {
		return
	}
	for _, name := range names {
		f, err := openParquet(s.path(name))
		if err != nil {
			continue
		}
		t := &smallTable{ctx, f, func(string, error) {}}
		numbers, ok := t.whole("episode_index")
		for _, video := range s.videoNames() {
			for _, stat := range layout.StatNames {
				v, there := t.column("stats/"+video+"/"+stat, parquet.Numbers)
				if !ok || !there || v.Lens != nil || len(v.Nulls) > 0 {
					continue
				}
				width := v.Width
				v.Width = 1 // all values in one list
				list, ok := single(v)
				for i := 0; ok && i < len(numbers) && (i+1)*width <= len(list); i++ {
					s.note(numbers[i], video, stat, list[i*width:(i+1)*width])
				}
			}
		}
		t.close()
	}
}

// readLines reads the statistics in meta/episodes_stats.jsonl.
func (s videoStats) readLines(ctx context.Context) {
	_ = readLines(storage.Join(s.root, "meta", "episodes_stats.jsonl"), func(m []orderjson.Member) error {
		n, ok := wholeNumber(get(m, "episode_index"))
		stats, err := orderjson.Members(get(m, "stats"))
		if err != nil || !ok {
			return err
		}
		for _, video := range s.videoNames() {
			of, err := orderjson.Members(get(stats, video))
			if err != nil {
				continue
			}
			for _, stat := range layout.StatNames {
				s.note(n, video, stat, numbersIn(get(of, stat)))
			}
		}
		return ctx.Err()
	}, func(*dataset.FormatError) {})
}

func (s videoStats) videoNames() (names []string) {
	for _, f := range s.header.features {
		if f.DType == "video" {
			names = append(names, f.Name)
		}
	}
	return names
}

func (s videoStats) note(episode int64, video, stat string, values []float64) {
	of := episodeVideo{episode, video}
	if slices.ContainsFunc(values, math.IsNaN) {
		values = nil
	}
	if s.stats.of[of] == nil {
		s.stats.of[of] = statedStats{}
	}
	s.stats.of[of][stat] = values
}

// Levels returns a video's levels, which this module's writer stores in the last file in meta/episodes.
func (s videoStats) Levels(ctx context.Context, video string) (l footage.Levels, ok bool) {
	names, err := s.parquetFiles(ctx, filepath.Join("meta", "episodes"))
	if err != nil || len(names) == 0 {
		return l, false
	}
	f, err := openParquet(s.path(names[len(names)-1]))
	if err != nil {
		return l, false
	}
	defer f.Close()
	text, _ := f.Lookup(layout.LevelsKey)
	var all map[string]footage.Levels
	if json.Unmarshal([]byte(text), &all) != nil {
		return l, false
	}
	l = all[video]
	for _, channel := range l.Levels {
		pixels := uint64(0)
		for _, n := range channel {
			if n >= 1<<53 || pixels >= 1<<53 {
				return l, false
			}
			pixels += n
		}
		if pixels == 0 {
			return l, false
		}
	}
	return l, len(l.Levels) == 3 && l.Frames > 0
}
