package lerobot

import (
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// episodeEntry is an episode as meta/episodes lists it. Numbers that are missing there are -1.
type episodeEntry struct {
	tasks       []string
	length      int64
	chunk, file int64 // of its data
	from, to    int64 // its rows in the whole dataset
	videos      map[string]video
	other       map[string]string
}

// video is the position of an episode's video: the file, and seconds in it. Values that meta/episodes lacks are -1.
type video struct {
	chunk, file int64
	from, to    float64
	// before, count and all are the frames in the file before the episode, for it and in total, if each row has one; all is
	// negative if unknown.
	before, count, all int64
	next               float64 // where the next episode begins in the file; negative for the last
}

// catalog is the tasks and the episodes that a dataset lists.
type catalog struct {
	*source
	header   *header
	tasks    map[int64]string
	places   map[int64]int           // of the tasks in Info.Tasks, if their numbers are not 0, 1, 2, ...
	declared map[int64]*episodeEntry // episodes as meta/episodes has them
	order    []int64                 // their numbers, as they are listed
}

func (s *catalog) task(n int64, task string) {
	if _, twice := s.tasks[n]; twice {
		s.problems.add(dataset.CodeNumberTwice, "meta/tasks", 0, detail{Got: strconv.FormatInt(n, 10), Names: []string{"task"}})
		return
	}
	s.tasks[n] = task
}

func (s *catalog) declare(where string, n int64, d *episodeEntry) {
	if _, twice := s.declared[n]; twice {
		s.problems.add(dataset.CodeNumberTwice, where, 0, detail{Got: strconv.FormatInt(n, 10), Names: []string{"episode"}})
		return
	}
	if s.header.major == 3 && n != int64(len(s.order)) {
		s.problems.add(dataset.CodeRowNumber, where, dataset.At(len(s.order)), detail{Got: strconv.FormatInt(n, 10), Names: []string{"episode"}})
	}
	s.declared[n], s.order = d, append(s.order, n)
}

// maxVideoTime is the limit of times in a video, in seconds.
const maxVideoTime = 1e9

// invalid notes a number of a list that cannot be used.
func (s *catalog) invalid(where, column string, row int, got string) {
	s.problems.add(dataset.CodeNumberInvalid, where, dataset.At(row), detail{Got: got, Names: []string{column}})
}

// dataName is the declared file for an episode's data, or empty if there is none.
func (s *catalog) dataName(number int64, d *episodeEntry) string {
	pattern := s.header.dataPath
	if s.header.major == 2 {
		if pattern == "" {
			pattern = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
		}
		return expand(pattern, map[string]int64{"episode_chunk": number / s.header.chunkSize, "episode_index": number}, "")
	}
	if d.chunk < 0 || d.file < 0 {
		return ""
	}
	if pattern == "" {
		pattern = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
	}
	return expand(pattern, map[string]int64{"chunk_index": d.chunk, "file_index": d.file}, "")
}
