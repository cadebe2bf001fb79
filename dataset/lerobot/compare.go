package lerobot

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// compare compares what is there with what is declared.
func (s *rowIndex) compare() {
	where := "meta/episodes"
	if s.header.major == 2 {
		where += ".jsonl"
	}
	present := make([]int64, len(s.episodes))
	broken := 0
	for i := range s.episodes {
		e := &s.episodes[i]
		present[i] = e.number
		d := s.declared[e.number]
		switch {
		case e.err != nil:
			broken++
			continue
		case d == nil:
			if len(s.declared) > 0 {
				s.problems.add(where, "episodes that there is data of and that are not listed", fmt.Sprint(e.number))
			}
			continue
		}
		rows := e.rows()
		if d.length >= 0 && d.length != rows {
			s.problems.add(where, "lengths that are not those of the data", fmt.Sprintf("episode %d: %d, and there are %d rows", e.number, d.length,
				rows))
		}
		if len(e.runs) == 0 || s.header.major == 2 {
			continue
		}
		at := e.runs[0].at
		if at >= 0 && d.from >= 0 && d.to >= 0 && (d.from != at || d.to != at+rows) {
			s.problems.add(where, "dataset_from_index and dataset_to_index that are not where the data is",
				fmt.Sprintf("episode %d: %d to %d, and its rows are %d to %d", e.number, d.from, d.to, at, at+rows))
		}
		if name, want := filepath.ToSlash(s.files[e.runs[0].file]), s.dataName(e.number, d); want != "" && want != name {
			s.problems.add(where, "data files that are not where the data is", fmt.Sprintf("episode %d: %s, and it is in %s", e.number,
				want, name))
		}
	}
	s.compareTotals(where, present, broken)
}

// compareTotals compares the numbers of episodes and rows.
func (s *rowIndex) compareTotals(where string, present []int64, broken int) {
	total, told := s.header.totals["total_episodes"]
	if told && total != int64(len(present)) {
		s.problems.add("meta/info.json", "total_episodes", fmt.Sprintf("%d, and there are %d", total, len(present)))
	}
	if frames, ok := s.header.totals["total_frames"]; ok && frames != int64(s.info.Frames) {
		what := fmt.Sprintf("%d, and there are %d rows", frames, s.info.Frames)
		if broken > 0 {
			what += " that can be read"
		}
		s.problems.add("meta/info.json", "total_frames", what)
	}
	var absent []int64
	for _, n := range s.order {
		if _, there := slices.BinarySearch(present, n); !there {
			absent = append(absent, n)
		}
	}
	slices.Sort(absent)
	s.info.Absent.Declared = len(s.order)
	if len(absent) > 0 {
		missing := s.compareFiles(absent)
		s.info.Absent.Episodes, s.info.Absent.Why = len(absent), "there is no data of "+ranges(spansOf(absent))
		if missing != "" {
			s.info.Absent.Why = missing + ": is not there"
		}
		s.problems.add(where, "episodes that there is no data of", fmt.Sprintf("%d of %d: %s", len(absent), len(s.order), ranges(spansOf(absent))))
	}
	if known := len(present) + len(absent); told && total > int64(max(known, len(s.order))) && total <= math.MaxInt32 {
		s.info.Absent.Episodes += int(total) - known
		s.info.Absent.Declared = int(total)
		s.info.Absent.Why = cmp.Or(s.info.Absent.Why, fmt.Sprintf("meta/info.json: total_episodes: %d, and there are %d", total, len(present)))
	}
	if len(s.order) == 0 && s.header.major == 2 {
		s.problems.add(where, "lists no episode", "they are those of the data")
	}
	// What is neither there nor listed, below the last.
	next, gaps := int64(0), []span{}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(present), s.order...)))) {
		if n > next {
			gaps = append(gaps, span{next, n - 1})
		}
		next = max(next, n+1)
	}
	if len(gaps) > 0 {
		s.problems.add("data", "numbers of episodes that are neither there nor listed", ranges(gaps))
	}
}

// compareFiles names the files that episodes should be in and that are not there, and returns the first.
func (s *rowIndex) compareFiles(absent []int64) (first string) {
	there := map[string]bool{}
	for _, name := range s.files {
		there[filepath.ToSlash(name)] = true
	}
	for _, n := range absent {
		name := s.dataName(n, s.declared[n])
		if name == "" || there[name] {
			continue
		}
		there[name] = true
		s.problems.add("data", "files that are missing", name)
		first = cmp.Or(first, name)
	}
	return first
}

// compareVideos looks for the videos' files.
func (s *rowIndex) compareVideos(ctx context.Context) error {
	var files storage.Listing
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		there := map[string]bool{}
		for _, e := range s.episodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			name, _, why := s.videoOf(e.number, f.Name)
			if why != "" {
				s.problems.add("feature "+f.Name, "videos that cannot be found", fmt.Sprintf("episode %d: %s", e.number, why))
				continue
			}
			if s.header.major == 3 {
				if _, known := there[name]; known {
					continue
				}
				there[name] = true
			}
			if !files.Has(ctx, s.path(name)) {
				s.problems.add("feature "+f.Name, "video files that are missing", name)
			}
		}
	}
	return nil
}

// readSplits turns ranges of episodes, "0:80", into the episodes that there are.
func (s *rowIndex) readSplits() {
	all := make([]int, len(s.episodes)) // in the order of their numbers, so that a split is a part of it
	for i := range all {
		all[i] = i
	}
	place := func(number int64) int {
		return sort.Search(len(s.episodes), func(i int) bool { return s.episodes[i].number >= number })
	}
	for _, m := range s.header.splits {
		var from, to int64
		text, _ := text(m.Value)
		if n, err := fmt.Sscanf(text, "%d:%d", &from, &to); n != 2 || err != nil || from < 0 || to < from {
			s.problems.add("split "+m.Name, "range", fmt.Sprintf("%.40s, want one such as 0:80", plain(m.Value)))
			continue
		}
		begin, end := place(from), place(to)
		if missing := to - from - int64(end-begin); missing > 0 {
			s.problems.add("split "+m.Name, "episodes that are not there", fmt.Sprintf("%d of %d", missing, to-from))
		}
		s.info.Splits = append(s.info.Splits, dataset.Split{Name: m.Name, Episodes: all[begin:end:end]})
	}
}
