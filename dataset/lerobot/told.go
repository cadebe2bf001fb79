package lerobot

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/storage"
)

// told is the statistics that a dataset tells of an episode's video, by their names: a value for each channel, from 0 to 1.
type told map[string][]float64

// tellings are those of all episodes, which are read when one is first asked for, whole or not at all.
type tellings struct {
	sync.Mutex
	of map[toldOf]told
}

type toldOf struct {
	episode int64
	video   string
}

// toldStats returns the statistics that the dataset tells of an episode's video, as far as they can be true: of three channels whose least, mean and
// largest value ascend within 0 and 1, with a deviation that such values can have. Quantiles may be missing, as they are in version 2.1.
func (s *Set) toldStats(ctx context.Context, of toldOf) (stats featureStats, ok bool) {
	t := s.toldOf(ctx, of)
	if len(t["count"]) != 1 || !(t["count"][0] >= 1 && t["count"][0] < 1<<53) {
		return stats, false
	}
	stats.told, stats.frames = true, int(t["count"][0])
	stats.from, stats.episode = toldVideo{s, of.video}, of.episode
	stats.columns = make([]summary.Column, 3)
	for _, name := range statNames {
		values := t[name]
		if quantile := strings.HasPrefix(name, "q"); name == "count" || quantile && len(values) == 0 {
			stats.bare = stats.bare || quantile
			continue
		}
		if len(values) != 3 {
			return stats, false
		}
		for c, v := range values {
			setStat(&stats.columns[c], name, v)
		}
	}
	for _, c := range stats.columns {
		const rounded = 1e-6 // by sums in float32
		within := 0 <= c.Min && c.Min <= c.Mean+rounded && c.Mean <= c.Max+rounded && c.Max <= 1
		if reach := c.Max - c.Min; !within || !(c.Std >= reach*1e-4 && c.Std <= reach/2+rounded) {
			return stats, false
		}
	}
	return stats, true
}

// toldOf returns what is told of a video, as it is written.
func (s *Set) toldOf(ctx context.Context, of toldOf) told {
	s.tellings.Lock()
	defer s.tellings.Unlock()
	if s.tellings.of == nil {
		s.tellings.of = map[toldOf]told{}
		if s.header.major == 3 {
			s.readToldTables(ctx)
		} else if s.header.version != "v2.0" {
			s.readToldLines(ctx)
		}
	}
	t := s.tellings.of[of]
	if ctx.Err() != nil { // what was read is only a part, for a caller that wants nothing more
		s.tellings.of = nil
	}
	return t
}

// readToldTables reads them of meta/episodes. What cannot be read is not told.
func (s *Set) readToldTables(ctx context.Context) {
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
			for _, stat := range statNames {
				v, there := t.column("stats/"+video+"/"+stat, parquet.Numbers)
				if !ok || !there || v.Lens != nil || len(v.Nulls) > 0 {
					continue
				}
				width := v.Width
				v.Width = 1 // all in one list
				list, ok := single(v)
				for i := 0; ok && i < len(numbers) && (i+1)*width <= len(list); i++ {
					s.tell(numbers[i], video, stat, list[i*width:(i+1)*width])
				}
			}
		}
		t.close()
	}
}

// readToldLines reads them of meta/episodes_stats.jsonl.
func (s *Set) readToldLines(ctx context.Context) {
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
			for _, stat := range statNames {
				var v any
				if json.Unmarshal(get(of, stat), &v) == nil {
					s.tell(n, video, stat, flat(v, nil))
				}
			}
		}
		return ctx.Err()
	}, func(*dataset.FormatError) {})
}

func (s *Set) videoNames() (names []string) {
	for _, f := range s.header.features {
		if f.DType == "video" {
			names = append(names, f.Name)
		}
	}
	return names
}

func (s *Set) tell(episode int64, video, stat string, values []float64) {
	of := toldOf{episode, video}
	if s.tellings.of[of] == nil {
		s.tellings.of[of] = told{}
	}
	s.tellings.of[of][stat] = values
}

// flat appends the numbers of lists in lists. What is no number makes the list one that has another length than any that is looked for.
func flat(v any, list []float64) []float64 {
	switch v := v.(type) {
	case float64:
		return append(list, v)
	case []any:
		for _, one := range v {
			list = flat(one, list)
		}
	}
	return list
}
