package lerobot

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/parquet"
)

// compareSchema compares a file's columns with the features, the first file's, and with those of the first file, the others'.
func (x *indexer) compareSchema(f *parquet.File, name string) {
	var b strings.Builder
	for _, c := range f.Columns() {
		fmt.Fprintf(&b, "%s %s %d\n", c.Name, c.Type, c.Rank)
	}
	if x.of != "" {
		if b.String() != x.schema {
			x.set.problems.add("data", "files whose columns are not those of "+x.of, name)
		}
		return
	}
	x.schema, x.of = b.String(), name
	s := x.set
	for i := range s.header.features {
		f1 := &s.header.features[i]
		c := f.Column(f1.Name)
		switch {
		case f1.DType == "video":
			if c != nil {
				s.problems.add("feature "+f1.Name, "is declared a video", "and is a column of "+c.Type)
			}
		case c == nil:
			s.problems.add("feature "+f1.Name, "has no column", "it is declared as "+f1.DType)
		case !fits(f1, c):
			s.problems.add("feature "+f1.Name, "has another type than declared", fmt.Sprintf("the column has %s, declared is %s", c.Type, f1.DType))
		}
	}
	for _, c := range f.Columns() {
		if s.header.feature(c.Name) == nil {
			s.problems.add("column "+c.Name, "is not declared", "LeRobot does not load a table with such a column")
		}
	}
}

// fits reports whether a column is of the type that its feature declares.
func fits(f *feature, c *parquet.Column) bool {
	switch f.DType {
	case "image":
		return c.Kind == parquet.Images || c.Kind == parquet.Texts && c.Rank == 0
	case "language":
		return true
	case "string":
		return c.Kind == parquet.Texts
	}
	return c.Type == f.DType
}

// compareIndex looks by the file's statistics whether index counts up and whether the timestamps can be frame_index/fps.
func (x *indexer) compareIndex(f *parquet.File, file int32) {
	s := x.set
	index, stamps, frames := f.Column("index"), f.Column("timestamp"), f.Column("frame_index")
	name := filepath.ToSlash(s.files[file])
	row := x.row
	for g, group := range f.Groups() {
		if group.Rows == 0 {
			continue
		}
		if index != nil && x.sure {
			low, high, ok := index.Bounds(g)
			want := float64(row)
			if s.header.major == 2 { // files may be missing on purpose, so it is only the file's own that has to count up
				want = low
			}
			if ok && (low != want || high != want+float64(group.Rows-1)) {
				s.problems.add("data", "index does not count the rows, by which LeRobot finds an episode: a gap shifts every later one",
					fmt.Sprintf("%s: row group %d has %.0f to %.0f, want %.0f to %.0f", name, g, low, high, want, want+float64(group.Rows-1)))
			}
		}
		row += group.Rows
		if stamps == nil || s.header.fps == 0 || s.info.RateFrom == "caller" {
			continue
		}
		begin, end, counted := float64(0), float64(group.Rows-1), s.header.major == 2 && len(f.Groups()) == 1
		if frames != nil {
			begin, end, counted = frames.Bounds(g)
		}
		first, last, ok := stamps.Bounds(g)
		if ok && counted && (departs(first, begin/s.header.fps, stamps.Type) || departs(last, end/s.header.fps, stamps.Type)) {
			s.problems.add("data", "row groups whose timestamps depart from frame_index/fps by more than 0.1 ms",
				fmt.Sprintf("%s: %g s to %g s, want %g s to %g s", name, first, last, begin/s.header.fps, end/s.header.fps))
		}
	}
}

// compare compares what is there with what is declared.
func (s *Set) compare() {
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
func (s *Set) compareTotals(where string, present []int64, broken int) {
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
func (s *Set) compareFiles(absent []int64) (first string) {
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
