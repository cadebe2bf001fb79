package lerobot

import ()

// episode is an episode in the data.
type episode struct {
	number int64
	runs   []run
	err    error // why it cannot be read; nil if it can
}

// rows returns how many rows the episode has.
func (e *episode) rows() (n int64) {
	for _, r := range e.runs {
		n += int64(r.to - r.from)
	}
	return n
}

// run is rows [from,to) of a row group. At is the number of the first in the whole dataset, -1 where files before it could not be read.
type run struct {
	file, group int32
	from, to    int32
	at          int64
}

// rowIndex is the data files of a dataset, and the episodes that their rows are of.
type rowIndex struct {
	*catalog
	files    []string // from the dataset's folder on
	episodes []episode
}

// indexer finds the rows of each episode.
type indexer struct {
	set    *rowIndex
	at     map[int64]int // an episode's place in Set.episodes
	last   int           // the episode of the row before; -1 at first
	row    int64         // how many rows came before
	sure   bool          // that row is right: no file was passed over
	schema string        // of the first file
	of     string        // that file's name

	inFile map[string][]int64 // episodes by file, from meta/episodes, after it was read
	listed []int64            // episodes with rows in meta/episodes, by their first row, after it was read
}
