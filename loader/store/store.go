package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/tensor"
)

// Store is a dataset with packed episodes: a stream has all episodes' samples in one tensor. It is a [dataset.Dataset] of the
// same episodes. Their streams are views on the packed tensors.
//
// An opened store's tensors are views on its mapped file. They are read on first use, and unused parts take no memory. Do not
// write them. They end with Close, and so do the episodes. If the file is cut short while it is open, reading the missing part outside
// of Guard ends the program, because the system raises a fault. Episode checks the file's size first.
//
// An episode keeps only the data that its streams need. Attributes.Other and the recording's path are not stored.
type Store struct {
	name, format string
	info         dataset.Info
	Streams      []Stream
	Media        []Media
	Episodes     []Episode
	// Skipped has a note with ClassSkipped for each episode that could not be read. Row is its number.
	Skipped dataset.Notes
	Sources []Source // the files that it was packed from, if known: see SourcesOf
	// Shard is set if the store is one file of several. It describes the file's part of the dataset. It is nil for a whole store
	// in a file or a folder.
	Shard *Shard

	file   *safetensors.File // nil if the store was built in memory
	shards []*Store          // a folder's files, in order
	begins []int             // numbers of the shards' first episodes
	closed atomic.Bool

	recordings dataset.Dataset // of a store that Build has made; else nil
	recorded   []recorded      // one an episode, if recordings is set
}

// recorded has the media streams of an episode that Build does not pack. index is the episode's index in the dataset.
type recorded struct {
	index int
	media []dataset.Media // without their sources, because a source may hold a part of its file in memory
}

// Stream is a packed stream: the samples of all episodes, one after another.
type Stream struct {
	Name    string
	Columns []dataset.Column
	Values  *tensor.Tensor // [N,D]; nil if the store has several files: use Store.Episode
	Times   *tensor.Tensor // [N], i64 nanoseconds; nil if Values is nil
	Offsets []int64        // [E+1]: episode e has the samples Offsets[e] to Offsets[e+1]-1
	// Rounded counts the values that were rounded to the dtype of Values. Overflowed counts the rounded values that became
	// infinite. Inexact counts the integers that were rounded when they were read.
	Rounded, Overflowed, Inexact int

	at     []int     // index of each column in Values, if the file has another order
	shards []*Stream // one a file, if there are several; nil if a file lacks the stream
	begins []int     // as in Store
}

// Samples returns N, the number of samples in all episodes.
func (p *Stream) Samples() int { return int(p.Offsets[len(p.Offsets)-1]) }

// DType returns the values' dtype.
func (p *Stream) DType() tensor.DType {
	return present(p, p.shards)[0].Values.DType()
}

// of returns views of an episode's samples.
func (p *Stream) of(i int) (times, values *tensor.Tensor, err error) {
	if p.shards != nil {
		k := shardAt(p.begins, i)
		return p.shards[k].of(i - p.begins[k])
	}
	lo, hi := int(p.Offsets[i]), int(p.Offsets[i+1])
	if times, err = p.Times.Slice(0, lo, hi); err != nil {
		return nil, nil, err
	}
	if _, err := tensor.Data[int64](times); err != nil { // compares them with the file's checksums
		return nil, nil, err
	}
	if values, err = p.Values.Slice(0, lo, hi); err != nil || p.at == nil {
		return times, values, err
	}
	values, err = values.Take(1, p.at)
	return times, values, err
}

// Episode is the store's entry for an episode: everything except its samples.
type Episode struct {
	Name     string            `json:"name"`
	Number   int               `json:"number"` // its number in the dataset
	Task     string            `json:"task,omitempty"`
	Tasks    []Task            `json:"tasks,omitempty"` // the tasks, if they change within the episode
	Success  *bool             `json:"success,omitempty"`
	Splits   []string          `json:"splits,omitempty"`
	Frames   int               `json:"frames,omitempty"`
	Rotation dataset.Rotation  `json:"rotation,omitempty"` // 1 for xyzw, 2 for wxyz
	Empty    []EmptyStream     `json:"empty,omitempty"`    // declared streams without samples
	Dropouts []dataset.Dropout `json:"dropouts,omitempty"`
	Notes    dataset.Notes     `json:"notes,omitempty"` // about streams that are left out, damage, and remarks
}

// Task is an episode's task from a time on, in ns, until the next Task. Before the first one there is no task.
type Task struct {
	From int64  `json:"from"`
	Text string `json:"text"`
}

// TasksOf returns the tasks of an episode in which the task changes: see dataset.Episode.ChangingTask.
func TasksOf(e *dataset.Episode, list []string) (tasks []Task) {
	if t := e.ChangingTask(list); t != nil {
		for k, from := range t.Times {
			if n := len(tasks); n == 0 || tasks[n-1].Text != t.Values[k] {
				tasks = append(tasks, Task{from, t.Values[k]})
			}
		}
	}
	return tasks
}

// TasksFrom returns the episode's tasks. If the task does not change, it returns one from the beginning of time. If there is
// none, it returns nil.
func (e *Episode) TasksFrom() []Task {
	if e.Tasks == nil && e.Task != "" {
		return []Task{{math.MinInt64, e.Task}}
	}
	return e.Tasks
}

// Fit gives a stream the wanted columns, which it finds by their names, and adds notes about the differences to the episode. If asked
// is set, a plan names the columns, and additional columns are no difference. If the stream lacks a column, Fit returns a note that
// explains it, and changes nothing.
func (e *Episode) Fit(s *dataset.Stream, want []dataset.Column, asked bool) (why dataset.Note, err error) {
	f, why := fit(want, s.Columns, asked)
	if why.Code != "" {
		return why, nil
	}
	if f.at != nil {
		if s.Values, err = s.Values.Take(1, f.at); err != nil {
			return why, err
		}
	}
	s.Columns = want
	e.differ(s.Name, f.differs)
	return why, nil
}

// differ adds the notes about a stream whose columns differ from the first episode's.
func (e *Episode) differ(stream string, notes dataset.Notes) {
	e.Notes = slices.Clip(e.Notes) // because others may share the list
	for _, n := range notes {
		n.Subject = stream
		e.Notes = append(e.Notes, n)
	}
}

// Passes reports whether a plan's filter takes the episode.
func (e *Episode) Passes(f *dataset.Filter) bool {
	return f.Refuses(e.Splits, e.Task, e.Success) == dataset.NoField
}

// EmptyStream is a declared stream that is left out because it has no samples.
type EmptyStream struct {
	Name    string           `json:"name"`
	Columns []dataset.Column `json:"columns,omitempty"`
	DType   string           `json:"dtype,omitempty"` // the dtype of its values
}

// Name returns the dataset's name.
func (s *Store) Name() string { return s.name }

// Format returns the dataset's format: "lerobot".
func (s *Store) Format() string { return s.format }

// Info returns the dataset's description. Its numbers and splits are without skipped episodes.
func (s *Store) Info() dataset.Info {
	info := s.info
	info.SetNumbers(len(s.Episodes), func(i int) int { return s.Episodes[i].Number })
	info.Splits = slices.Clone(info.Splits)
	for k := range info.Splits {
		split := &info.Splits[k]
		split.Episodes = []int{} // in a file they are indices among all episodes
		for i := range s.Episodes {
			if slices.Contains(s.Episodes[i].Splits, split.Name) {
				split.Episodes = append(split.Episodes, i)
			}
		}
	}
	return info
}

// Clock returns the source of the timestamps: Info's clock; "timestamp" if LeRobot episodes have their own timestamps; or both,
// if only some episodes do.
func (s *Store) Clock() string {
	clocks := []string{}
	for i := range s.Episodes {
		if s.Episodes[i].Notes.Find(dataset.CodeFrameTimeOwn) != nil {
			clocks = append(clocks, "timestamp")
		} else {
			clocks = append(clocks, s.info.Clock)
		}
	}
	slices.Sort(clocks)
	return cmp.Or(strings.Join(slices.Compact(clocks), ", "), s.info.Clock)
}

// Len returns the number of episodes.
func (s *Store) Len() int { return len(s.Episodes) }

// Close closes the packed tensors and the file, after all guarded calls have returned. A second Close does nothing. Later calls
// return dataset.ErrClosed. If the file was mapped, slices from tensor.Data become invalid.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.shards != nil {
		var errs []error
		for _, shard := range s.shards {
			errs = append(errs, shard.Close())
		}
		return errors.Join(errs...)
	}
	for i := range s.Streams {
		s.Streams[i].Values.Close() // host memory returns no error
		s.Streams[i].Times.Close()
	}
	for i := range s.Media {
		s.Media[i].close()
	}
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Guard calls do, which may read the packed tensors and the episodes in this goroutine, and returns its error. If the file is cut short
// meanwhile, the error is a *dataset.FormatError that is dataset.ErrTruncated. Close waits for do. After Close the error is
// dataset.ErrClosed. Guards may be nested.
func (s *Store) Guard(do func() error) error {
	if err := s.usable(); err != nil {
		return err
	}
	for _, shard := range s.shards {
		inner := do
		do = func() error { return shard.Guard(inner) }
	}
	if s.file == nil {
		return do()
	}
	return s.file.Guard(do)
}

// usable returns an error if the store is closed, or if its file has become shorter.
func (s *Store) usable() error {
	switch {
	case s.closed.Load():
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	case s.file != nil:
		return s.file.Whole()
	}
	return nil
}

// Stream returns the packed stream with a name, or nil.
func (s *Store) Stream(name string) *Stream {
	if i := slices.IndexFunc(s.Streams, func(p Stream) bool { return p.Name == name }); i >= 0 {
		return &s.Streams[i]
	}
	return nil
}

// holder returns the store with an episode's file: a shard of a folder, or the store itself.
func (s *Store) holder(i int) *Store {
	if s.shards == nil || i < 0 || i >= len(s.Episodes) {
		return s
	}
	return s.shards[shardAt(s.begins, i)]
}

// MediaStream returns the packed media stream with a name, or nil.
func (s *Store) MediaStream(name string) *Media {
	if i := slices.IndexFunc(s.Media, func(m Media) bool { return m.Name == name }); i >= 0 {
		return &s.Media[i]
	}
	return nil
}

// CheckEpisodes returns a *dataset.OptionError unless the numbers are different numbers of the dataset's episodes.
func (s *Store) CheckEpisodes(numbers []int) error {
	_, err := (&dataset.Selection{Take: dataset.RangesOf(numbers)}).Of(s.Numbers())
	return err
}

// Numbers returns the numbers of the dataset's episodes, ascending, with those that were skipped.
func (s *Store) Numbers() (list []int) {
	for i := range s.Episodes {
		list = append(list, s.Episodes[i].Number)
	}
	for _, n := range s.Skipped {
		i, _ := n.Row.Index()
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

// Fresh compares a dataset's files with the files that the store was packed from. If they differ, the error is a *StaleError. If
// the store is one file of several, Fresh hashes only this file's sources, and compares the others' names and sizes.
func (s *Store) Fresh(ctx context.Context, path string) error {
	var now []Source
	var err error
	if s.Shard == nil {
		now, err = SourcesOf(ctx, path)
	} else {
		is := *s.Shard
		if now, err = is.sources(ctx, path); err == nil && is.Listing != s.Shard.Listing {
			return &StaleError{path, []string{fmt.Sprintf("%d files, and some have another name or size than the %d before", is.Files, s.Shard.Files)}}
		}
	}
	if err != nil {
		return err
	}
	was := make(map[string]Source, len(s.Sources))
	for _, f := range s.Sources {
		was[f.Path] = f
	}
	var changed []string
	for _, f := range now {
		if was[f.Path] != f {
			changed = append(changed, f.Path)
		}
		delete(was, f.Path)
	}
	for _, f := range s.Sources {
		if _, gone := was[f.Path]; gone {
			changed = append(changed, f.Path)
		}
	}
	if len(changed) > 0 {
		return &StaleError{path, changed}
	}
	return nil
}
