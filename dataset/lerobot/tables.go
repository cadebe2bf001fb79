package lerobot

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/storage"
)

// readCatalog reads the tasks and the episodes.
func readCatalog(ctx context.Context, from *source, h *header) (*catalog, error) {
	s := &catalog{source: from, header: h, tasks: map[int64]string{}, declared: map[int64]*episodeEntry{}}
	read, stats := s.readLists, "meta/episodes_stats.jsonl"
	switch {
	case s.header.major == 3:
		read, stats = s.readParquet, "meta/stats.json"
	case s.header.version == "v2.0":
		stats = "meta/stats.json"
	}
	if _, err := storage.Stat(ctx, s.path(stats)); err != nil {
		s.problems.add(dataset.CodeStatisticsMissing, stats, 0, detail{})
	}
	if err := read(ctx); err != nil {
		return nil, err
	}
	numbers := make([]int64, 0, len(s.tasks))
	for n := range s.tasks {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	places := map[int64]int{}
	for i, n := range numbers {
		s.info.Tasks = append(s.info.Tasks, s.tasks[n])
		if places[n] = i; int64(i) != n {
			s.places = places
			s.problems.add(dataset.CodeTaskNumbers, "meta/tasks", dataset.At(i), detail{Got: strconv.FormatInt(n, 10)})
		}
	}
	if want, ok := s.header.totals["total_tasks"]; ok && want != int64(len(numbers)) {
		s.problems.add(dataset.CodeTaskTotal, layout.InfoFile, 0, detail{Got: strconv.Itoa(len(numbers)), Want: strconv.FormatInt(want, 10)})
	}
	return s, nil
}

// readLists reads tasks.jsonl and episodes.jsonl (version 2).
func (s *catalog) readLists(ctx context.Context) error {
	lines := func(name string, use func(m []orderjson.Member) error) {
		err := readLines(storage.Join(s.root, "meta", name), use, func(bad *dataset.FormatError) {
			s.problems.add(dataset.CodeLineUnreadable, "meta/"+name, 0, detail{Cause: bad})
		})
		if err != nil {
			s.unreadable("meta/"+name, err)
		}
	}
	lines("tasks.jsonl", func(m []orderjson.Member) error {
		n, ok := wholeNumber(get(m, "task_index"))
		task, is := text(get(m, "task"))
		if !ok || !is {
			return errors.New("want task_index and task")
		}
		s.task(n, task)
		return ctx.Err()
	})
	lines("episodes.jsonl", func(m []orderjson.Member) error {
		n, ok := wholeNumber(get(m, "episode_index"))
		if !ok {
			return errors.New("want episode_index")
		}
		d := &episodeEntry{length: -1, chunk: -1, file: -1, from: -1, to: -1}
		for _, one := range m {
			switch one.Name {
			case "episode_index":
			case "length":
				if length, ok := wholeNumber(one.Value); ok && length >= 0 {
					d.length = length
				} else {
					s.invalid("meta/episodes.jsonl", "length", len(s.order), plain(one.Value))
				}
			case "tasks":
				if json.Unmarshal(one.Value, &d.tasks) != nil {
					d.tasks = []string{plain(one.Value)}
				}
			default:
				if d.other == nil {
					d.other = map[string]string{}
				}
				d.other[one.Name] = plain(one.Value)
			}
		}
		s.declare("meta/episodes.jsonl", n, d)
		return ctx.Err()
	})
	return ctx.Err()
}

// readParquet reads tasks.parquet and meta/episodes (version 3).
func (s *catalog) readParquet(ctx context.Context) error {
	if err := s.readTasks(ctx); err != nil {
		if ctx.Err() != nil { // columns only seem to be missing if ctx ended
			return ctx.Err()
		}
		s.unreadable("meta/tasks.parquet", err)
	}
	names, err := s.parquetFiles(ctx, filepath.Join("meta", "episodes"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		s.problems.add(dataset.CodeFileMissing, "meta/episodes", 0, detail{})
	}
	for _, name := range names {
		if err := s.readEpisodes(ctx, name); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.unreadable(filepath.ToSlash(name), err)
		}
	}
	s.countFrames()
	return nil
}

func (s *catalog) readTasks(ctx context.Context) error {
	t, err := s.openTable(ctx, filepath.Join("meta", "tasks.parquet"))
	if err != nil {
		return err
	}
	defer t.close()
	numbers, ok := t.whole("task_index")
	if !ok {
		return t.bad("no column task_index of whole numbers")
	}
	for _, name := range []string{"task", "__index_level_0__"} {
		texts, ok := t.texts(name)
		if !ok {
			continue
		}
		for i, n := range numbers {
			s.task(n, texts[i])
			if n != int64(i) {
				s.problems.add(dataset.CodeRowNumber, "meta/tasks.parquet", dataset.At(i), detail{Got: strconv.FormatInt(n, 10), Names: []string{"task"}})
			}
		}
		var pandas struct {
			Index []any `json:"index_columns"`
		}
		about, _ := t.file.Lookup("pandas")
		if json.Unmarshal([]byte(about), &pandas) != nil || !slices.Contains(pandas.Index, any(name)) {
			s.problems.add(dataset.CodeTasksUnindexed, "meta/tasks.parquet", 0, detail{})
		}
		return nil
	}
	return t.bad("no column task of texts")
}

// readEpisodes reads a file in meta/episodes. Column names may have "_" instead of "/", as some writers do.
func (s *catalog) readEpisodes(ctx context.Context, name string) error {
	t, err := s.openTable(ctx, name)
	if err != nil {
		return err
	}
	defer t.close()
	where := filepath.ToSlash(name)
	numbers, ok := t.whole("episode_index")
	if !ok {
		return t.bad("no column episode_index of whole numbers")
	}
	list := make([]episodeEntry, len(numbers))
	for i := range list {
		list[i] = episodeEntry{length: -1, chunk: -1, file: -1, from: -1, to: -1}
	}
	set := func(column string, most float64, to func(i int, v float64)) bool {
		values, ok := t.numbers(column)
		if !ok {
			values, ok = t.numbers(strings.ReplaceAll(column, "/", "_"))
		}
		if !ok {
			s.problems.add(dataset.CodeColumnMissing, where, 0, detail{Names: []string{column}})
			return false
		}
		for i, v := range values {
			if v >= 0 && v < most && (most < 1<<53 || v == math.Trunc(v)) {
				to(i, v)
			} else {
				s.invalid(where, column, i, strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
		return true
	}
	count := func(column string, to func(i int) *int64) bool {
		return set(column, 1<<53, func(i int, v float64) { *to(i) = int64(v) })
	}
	count("length", func(i int) *int64 { return &list[i].length })
	count("data/chunk_index", func(i int) *int64 { return &list[i].chunk })
	count("data/file_index", func(i int) *int64 { return &list[i].file })
	count("dataset_from_index", func(i int) *int64 { return &list[i].from })
	count("dataset_to_index", func(i int) *int64 { return &list[i].to })
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		at := make([]video, len(list))
		for i := range at {
			at[i] = video{chunk: -1, file: -1, from: -1, to: -1, all: -1}
		}
		there := count("videos/"+f.Name+"/chunk_index", func(i int) *int64 { return &at[i].chunk })
		there = count("videos/"+f.Name+"/file_index", func(i int) *int64 { return &at[i].file }) && there
		set("videos/"+f.Name+"/from_timestamp", maxVideoTime, func(i int, v float64) { at[i].from = v })
		set("videos/"+f.Name+"/to_timestamp", maxVideoTime, func(i int, v float64) { at[i].to = v })
		if !there {
			continue // features that only info.json declares take no memory per episode
		}
		for i := range at {
			if list[i].videos == nil {
				list[i].videos = map[string]video{}
			}
			list[i].videos[f.Name] = at[i]
		}
	}
	tasks, ok := t.lists("tasks")
	if !ok {
		s.problems.add(dataset.CodeColumnMissing, where, 0, detail{Names: []string{"tasks"}})
	}
	for i, n := range numbers {
		if tasks != nil {
			list[i].tasks = tasks[i]
		}
		s.declare(where, n, &list[i])
	}
	return ctx.Err()
}
