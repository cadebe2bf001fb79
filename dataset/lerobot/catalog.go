package lerobot

import (
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
)

// episodeEntry is an episode's row in meta/episodes. Missing numbers are -1.
type episodeEntry struct {
	tasks       []string
	length      int64
	chunk, file int64 // of its data file
	from, to    int64 // its rows in the whole dataset
	videos      map[string]video
	other       map[string]string
}

// video locates an episode's video: the file, and seconds in it. Values missing in meta/episodes are -1.
type video struct {
	chunk, file int64
	from, to    float64
	// before, count and all are frame counts in the file, if each row has one frame: before the episode, for it, and in total. all is
	// negative if unknown.
	before, count, all int64
	next               float64 // start of the next episode in the file; negative for the last
}

// catalog holds the tasks and episodes that a dataset declares.
type catalog struct {
	*source
	header   *header
	tasks    map[int64]string
	places   map[int64]int           // indices in Info.Tasks by task number, if the numbers are not 0, 1, 2, ...
	declared map[int64]*episodeEntry // episodes in meta/episodes
	order    []int64                 // their numbers in file order
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

// maxVideoTime limits times in a video, in seconds.
const maxVideoTime = 1e9

// invalid adds a note about a number in a list that cannot be used.
func (s *catalog) invalid(where, column string, row int, got string) {
	s.problems.add(dataset.CodeNumberInvalid, where, dataset.At(row), detail{Got: got, Names: []string{column}})
}

// dataName returns the declared file for an episode's data, or "" if there is none.
func (s *catalog) dataName(number int64, d *episodeEntry) string {
	pattern := s.header.dataPath
	if s.header.major == 2 {
		if pattern == "" {
			pattern = layout.EpisodeDataPath
		}
		return layout.Expand(pattern, map[string]int64{"episode_chunk": number / s.header.chunkSize, "episode_index": number}, "")
	}
	if d.chunk < 0 || d.file < 0 {
		return ""
	}
	if pattern == "" {
		pattern = layout.DataPath
	}
	return layout.Expand(pattern, map[string]int64{"chunk_index": d.chunk, "file_index": d.file}, "")
}
