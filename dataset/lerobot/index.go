package lerobot

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/storage"
)

// readIndex reads the data files' footers.
func readIndex(ctx context.Context, from *catalog) (*rowIndex, error) {
	names, err := from.parquetFiles(ctx, folderOf(from.header.dataPath, "data"))
	if err != nil {
		return nil, err
	}
	s := &rowIndex{catalog: from, files: names}
	x := &indexer{set: s, at: map[int64]int{}, last: -1, sure: true}
	type opened struct {
		file *parquet.File
		err  error
	}
	workers := 1
	if _, local := storage.Local(s.root); !local {
		workers = 8 // because opening a file is slow
	}
	for i, o := range inorder.Each(ctx, len(names), workers, workers, func(opened) int { return workers }, func(ctx context.Context, i int) (o opened) {
		if o.err = ctx.Err(); o.err == nil {
			o.file, o.err = openParquet(s.path(names[i]))
		}
		return o
	}) {
		err := o.err
		if err == nil {
			if ctx.Err() == nil {
				err = x.add(ctx, int32(i), o.file)
			}
			o.file.Close()
		}
		if err != nil && ctx.Err() == nil {
			x.pass(i, err)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.info.Frames = int(x.row)
	slices.SortFunc(s.episodes, func(a, b episode) int { return cmp.Compare(a.number, b.number) })
	return s, nil
}

// pass adds a note about an unreadable file. Episodes that should be in it exist, and return the error.
func (x *indexer) pass(i int, err error) {
	s := x.set
	name := s.files[i]
	x.sure = false
	var lost []int64
	if n, ok := numberOf(name); ok && s.header.major == 2 {
		lost = append(lost, n)
	} else {
		if x.inFile == nil {
			x.inFile = map[string][]int64{}
			for _, n := range s.order {
				name := s.dataName(n, s.declared[n])
				x.inFile[name] = append(x.inFile[name], n)
			}
		}
		lost = slices.Sorted(slices.Values(x.inFile[filepath.ToSlash(name)]))
	}
	s.problems.add(dataset.CodeUnreadable, filepath.ToSlash(name), 0, detail{Want: ranges(spansOf(lost)), Cause: err})
	for _, n := range lost {
		if _, there := x.at[n]; !there {
			x.at[n] = len(s.episodes)
			s.episodes = append(s.episodes, episode{number: n, err: err})
		}
	}
}

// add records a file's rows.
func (x *indexer) add(ctx context.Context, file int32, f *parquet.File) error {
	s := x.set
	x.compareSchema(f, filepath.ToSlash(s.files[file]))
	number, ok := numberOf(s.files[file])
	if byName := ok && s.header.major == 2; byName {
		if i, twice := x.at[number]; twice && s.episodes[i].err == nil {
			s.problems.add(dataset.CodeEpisodeFileTwice, filepath.ToSlash(s.files[file]), episodeRow(number), detail{})
			return nil
		}
		x.compareIndex(f, file)
		s.episodes[x.place(number)].err = nil // clears the error of another, unreadable file
		for g, group := range f.Groups() {
			x.put(number, run{file, int32(g), 0, int32(group.Rows), x.row})
		}
		return nil
	}
	x.compareIndex(f, file)
	column := f.Column("episode_index")
	begin, used, failed := x.row, false, []error(nil)
	for g, group := range f.Groups() {
		if column != nil {
			if low, high, ok := column.Bounds(g); ok && low == high && low == math.Trunc(low) && math.Abs(low) < 1<<53 {
				x.put(int64(low), run{file, int32(g), 0, int32(group.Rows), x.row})
				used = true
				continue
			}
		}
		numbers, err := x.numbers(ctx, f.Path(), column, g, group.Rows)
		if err != nil {
			failed = append(failed, err)
			x.row, x.sure = x.row+group.Rows, false
			continue
		}
		used = used || len(numbers) > 0
		for i := 0; i < len(numbers); {
			j := i + 1
			for j < len(numbers) && numbers[j] == numbers[i] {
				j++
			}
			x.put(numbers[i], run{file, int32(g), int32(i), int32(j), x.row})
			i = j
		}
	}
	if !used && len(failed) > 0 {
		x.row = begin
		return failed[0]
	}
	for _, err := range failed {
		s.problems.add(dataset.CodeRowGroupUnplaced, filepath.ToSlash(s.files[file]), 0, detail{Cause: err})
	}
	return nil
}

// numbers returns each row's episode in a row group, from the column, or else from the rows in meta/episodes.
func (x *indexer) numbers(ctx context.Context, path string, column *parquet.Column, group int, rows int64) ([]int64, error) {
	why := error(formatError(dataset.ErrNotFound, path, -1, "column episode_index", "none of whole numbers", "one"))
	if column != nil {
		v := &parquet.Values{}
		err := column.Read(ctx, group, 0, rows, v)
		if list, ok := wholes(v); ok && err == nil {
			return list, nil
		}
		var bad *dataset.FormatError
		if errors.As(err, &bad) {
			why = err
		} else if err != nil {
			return nil, err
		}
	}
	s := x.set
	if rows > 1<<26 || !x.sure {
		return nil, why
	}
	if x.listed == nil {
		x.listed = slices.DeleteFunc(slices.Clone(s.order), func(n int64) bool { return s.declared[n].from < 0 })
		slices.SortStableFunc(x.listed, func(a, b int64) int { return cmp.Compare(s.declared[a].from, s.declared[b].from) })
	}
	first := sort.Search(len(x.listed), func(i int) bool { return s.declared[x.listed[i]].from > x.row })
	var list []int64
	for _, n := range x.listed[max(first-1, 0):] {
		d := s.declared[n]
		from, to := max(d.from, x.row), min(d.to, x.row+rows)
		if from >= to || from != x.row+int64(len(list)) {
			break
		}
		list = append(list, slices.Repeat([]int64{n}, int(to-from))...)
	}
	if int64(len(list)) != rows {
		return nil, why
	}
	s.problems.add(dataset.CodeColumnUnused, "feature episode_index", 0, detail{Cause: why})
	return list, nil
}

// place returns an episode's index in Set.episodes, and adds the episode if it is new.
func (x *indexer) place(number int64) int {
	i, there := x.at[number]
	if !there {
		i = len(x.set.episodes)
		x.at[number] = i
		x.set.episodes = append(x.set.episodes, episode{number: number})
	}
	return i
}

// put records an episode's rows.
func (x *indexer) put(number int64, r run) {
	s := x.set
	x.row += int64(r.to - r.from)
	if !x.sure {
		r.at = -1
	}
	if r.from == r.to {
		return
	}
	i := x.place(number)
	e := &s.episodes[i]
	e.err = nil // clears the error of another, unreadable file
	if len(e.runs) > 0 && x.last != i {
		s.problems.add(dataset.CodeEpisodeApart, "data", episodeRow(number), detail{Got: strconv.FormatInt(r.at, 10)})
	}
	x.last = i
	e.runs = append(e.runs, r)
}
