package lerobot

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
)

// Stated returns the statistics in meta/stats.json, or for version 2.1 those in meta/episodes_stats.jsonl, merged over the episodes
// in the data. Index columns are left out. Without the file the list is nil; if the file contains no statistics, the list is empty.
func (s *Set) Stated(ctx context.Context) (list []dataset.Stated, notes dataset.Notes, err error) {
	read, where := s.statedOfAll, "meta/stats.json"
	if s.header.major == 2 && s.header.version != "v2.0" {
		read, where = s.statedByEpisode, "meta/episodes_stats.jsonl"
	}
	var found problems
	list, err = read(ctx, where, &found)
	if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
		found.add(dataset.CodeUnreadable, where, 0, detail{Cause: err})
	}
	return list, found.list, ctx.Err()
}

// numeric reports whether a feature has statistics that policies use.
func numeric(f *feature) bool {
	return f.DType != "string" && f.DType != "language" && !slices.Contains(layout.Standard, f.Name)
}

func (s *Set) statedOfAll(_ context.Context, where string, _ *problems) (list []dataset.Stated, err error) {
	members, err := readObject(s.path(where))
	if err != nil {
		return nil, err
	}
	list = []dataset.Stated{}
	for i := range s.header.features {
		f := &s.header.features[i]
		if raw := get(members, f.Name); raw != nil && numeric(f) {
			if st, ok := statedIn(raw); ok {
				st.Stream, st.Where = f.Name, where
				list = append(list, st)
			}
		}
	}
	return list, nil
}

// statedIn reads one feature's statistics.
func statedIn(raw json.RawMessage) (st dataset.Stated, ok bool) {
	m, err := orderjson.Members(raw)
	if err != nil {
		return st, false
	}
	st.Min, st.Max, st.Mean, st.Std = numbersIn(get(m, "min")), numbersIn(get(m, "max")), numbersIn(get(m, "mean")), numbersIn(get(m, "std"))
	if n := numbersIn(get(m, "count")); len(n) == 1 && n[0] >= 0 && n[0] < 1<<53 {
		st.Count = int(n[0])
	}
	return st, st.Min != nil || st.Max != nil || st.Mean != nil || st.Std != nil
}

func (s *Set) statedByEpisode(ctx context.Context, where string, found *problems) (list []dataset.Stated, err error) {
	present := make(map[int64]bool, len(s.episodes))
	for i := range s.episodes {
		present[s.episodes[i].number] = s.episodes[i].err == nil
	}
	joined := map[string]*dataset.Stated{}
	seen := map[string]int{}
	episodes := 0
	err = readLines(s.path(where), func(m []orderjson.Member) error {
		if n, ok := wholeNumber(get(m, "episode_index")); !ok || !present[n] {
			return ctx.Err()
		}
		episodes++
		features, err := orderjson.Members(get(m, "stats"))
		if err != nil {
			return err
		}
		for i := range s.header.features {
			f := &s.header.features[i]
			raw := get(features, f.Name)
			if raw == nil || !numeric(f) {
				continue
			}
			st, ok := statedIn(raw)
			if !ok || st.Count == 0 {
				continue
			}
			if joined[f.Name] == nil {
				st.Stream, st.Where = f.Name, where
				joined[f.Name] = &st
				seen[f.Name] = 1
			} else if join(joined[f.Name], &st) {
				seen[f.Name]++
			}
		}
		return ctx.Err()
	}, func(bad *dataset.FormatError) { found.add(dataset.CodeLineUnreadable, where, 0, detail{Cause: bad}) })
	if err != nil {
		return nil, err
	}
	list = []dataset.Stated{}
	for _, f := range s.header.features {
		// Statistics without some episode are left out, because they do not describe the dataset.
		if seen[f.Name] == len(s.episodes) && episodes == len(s.episodes) && len(s.episodes) > 0 {
			list = append(list, *joined[f.Name])
		}
	}
	return list, ctx.Err()
}

// join merges statistics of further samples into to. It reports whether both have the same column count.
func join(to, st *dataset.Stated) bool {
	n := len(to.Mean)
	for _, l := range [][]float64{to.Min, to.Max, to.Std, st.Min, st.Max, st.Mean, st.Std} {
		if len(l) != n {
			return false
		}
	}
	for c := range n {
		to.Min[c], to.Max[c] = min(to.Min[c], st.Min[c]), max(to.Max[c], st.Max[c])
		m := summary.Pooled{Count: float64(to.Count), Mean: to.Mean[c], Variance: to.Std[c] * to.Std[c]}
		m.Add(float64(st.Count), st.Mean[c], st.Std[c]*st.Std[c])
		to.Mean[c], to.Std[c] = m.Mean, m.Std()
	}
	to.Count += st.Count
	return true
}
