package lerobot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/storage"
)

// compare compares the data with the declarations.
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
		case d == nil && len(s.declared) > 0:
			s.problems.add(dataset.CodeEpisodeUnlisted, where, episodeRow(e.number), detail{})
			continue
		case d == nil && s.header.major == 3:
			continue
		}
		rows := e.rows()
		if d != nil && d.length >= 0 && d.length != rows {
			s.problems.add(dataset.CodeEpisodeLength, where, episodeRow(e.number), detail{Got: strconv.FormatInt(d.length, 10), Want: strconv.FormatInt(rows, 10)})
		}
		if len(e.runs) == 0 {
			continue
		}
		if s.header.major == 2 {
			if name, want := filepath.ToSlash(s.files[e.runs[0].file]), s.dataName(e.number, d); want != name {
				s.problems.add(dataset.CodeFileElsewhere, layout.InfoFile, episodeRow(e.number), detail{Got: want, Want: name})
			}
			continue
		}
		at := e.runs[0].at
		if at >= 0 && d.from >= 0 && d.to >= 0 && (d.from != at || d.to != at+rows) {
			s.problems.add(dataset.CodeEpisodeRows, where, episodeRow(e.number),
				detail{Got: fmt.Sprintf("%d to %d", d.from, d.to), Want: fmt.Sprintf("%d to %d", at, at+rows)})
		}
		if name, want := filepath.ToSlash(s.files[e.runs[0].file]), s.dataName(e.number, d); want != "" && want != name {
			s.problems.add(dataset.CodeEpisodeFile, where, episodeRow(e.number), detail{Got: want, Want: name})
		}
	}
	s.compareTotals(where, present, broken)
}

// compareTotals compares the declared counts of episodes and rows with the data.
func (s *rowIndex) compareTotals(where string, present []int64, broken int) {
	total, told := s.header.totals["total_episodes"]
	if told && total != int64(len(present)) {
		s.problems.add(dataset.CodeEpisodeTotal, layout.InfoFile, 0, detail{Got: strconv.Itoa(len(present)), Want: strconv.FormatInt(total, 10)})
	}
	if frames, ok := s.header.totals["total_frames"]; ok && frames != int64(s.info.Frames) {
		unit := "rows"
		if broken > 0 {
			unit = "readable rows"
		}
		s.problems.add(dataset.CodeFrameTotal, layout.InfoFile, 0, detail{Got: strconv.Itoa(s.info.Frames), Want: strconv.FormatInt(frames, 10), Unit: unit})
	}
	var absent []int64
	for _, n := range s.order {
		if _, there := slices.BinarySearch(present, n); !there {
			absent = append(absent, n)
		}
	}
	slices.Sort(absent)
	lacking, declared := len(absent), len(s.order)
	var why error
	if len(absent) > 0 {
		why = fmt.Errorf("there is no data for %s", ranges(spansOf(absent)))
		if missing := s.compareFiles(absent); missing != "" {
			why = fmt.Errorf("%s: is not there", missing)
		}
	}
	if known := len(present) + len(absent); told && total > int64(max(known, len(s.order))) && total <= math.MaxInt32 {
		lacking, declared = lacking+int(total)-known, int(total)
		why = cmp.Or(why, fmt.Errorf("%s: total_episodes: %d, and there are %d", layout.InfoFile, total, len(present)))
	}
	if lacking > 0 {
		s.problems.add(dataset.CodeEpisodesAbsent, where, 0, detail{Of: declared, Got: ranges(spansOf(absent)), Cause: why}).Count = lacking
	}
	if len(s.order) == 0 && s.header.major == 2 {
		s.problems.add(dataset.CodeNoEpisodeListed, where, 0, detail{})
	}
	// Numbers below the last one that are neither in the data nor declared.
	next, gaps := int64(0), []span{}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(present), s.order...)))) {
		if n > next {
			gaps = append(gaps, span{next, n - 1})
		}
		next = max(next, n+1)
	}
	if len(gaps) > 0 {
		s.problems.add(dataset.CodeEpisodeNumbers, "data", episodeRow(gaps[0].from), detail{Got: ranges(gaps)}).Count = int(countOf(gaps))
	}
}

// compareFiles adds notes about missing files in which episodes should be, and returns the first one.
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
		s.problems.add(dataset.CodeFilesMissing, "data", 0, detail{Names: []string{name}}).Of = len(there)
		first = cmp.Or(first, name)
	}
	return first
}

// compareVideos checks whether the video files exist.
func (s *rowIndex) compareVideos(ctx context.Context) error {
	var files storage.Listing
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		there := map[string]bool{}
		var missing []string
		for _, e := range s.episodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			name, _, why := s.videoOf(e.number, f.Name)
			if why != "" {
				s.problems.add(dataset.CodeVideoUnlocated, "feature "+f.Name, episodeRow(e.number), detail{Cause: errors.New(why)})
				continue
			}
			if there[name] {
				continue
			}
			there[name] = true
			if !files.Has(ctx, s.path(name)) {
				missing = append(missing, name)
			}
		}
		if missing != nil {
			s.problems.add(dataset.CodeFilesMissing, "feature "+f.Name, 0, detail{Of: len(there), Names: missing[:1]}).Count = len(missing)
		}
	}
	return nil
}

// readSplits converts episode ranges, "0:80", to lists of existing episodes.
func (s *rowIndex) readSplits() {
	all := make([]int, len(s.episodes)) // sorted by number, so that a split is a subslice
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
			s.problems.add(dataset.CodeSplitRange, "split "+m.Name, 0, detail{Got: fmt.Sprintf("%.40s", plain(m.Value))})
			continue
		}
		begin, end := place(from), place(to)
		if missing := to - from - int64(end-begin); missing > 0 {
			s.problems.add(dataset.CodeSplitEpisodes, "split "+m.Name, 0, detail{Of: int(to - from)}).Count = int(missing)
		}
		s.info.Splits = append(s.info.Splits, dataset.Split{Name: m.Name, Episodes: all[begin:end:end]})
	}
}
