package h5episode

import (
	"context"
	"errors"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// Set is an open file. A layout's Index fills it in; after that it does not change, and its methods may be called from any goroutine.
type Set struct {
	Kind  string       // the format's name as Format returns it
	About dataset.Info // the result of Info
	File  *hdf5.File
	Parts []Part // the episodes in order

	layout *Layout
	path   string
	strict bool
	rate   float64 // the caller's
	room   int64   // remaining bytes for the file's own attributes
	tasks  map[string]bool
}

// Part is where an episode is.
type Part struct {
	Name string // the episode's
	Path string // the group's
}

func (s *Set) index(ctx context.Context) error {
	root := s.File.Root()
	s.room = s.Room()
	if s.layout.Fits != nil {
		ok, err := s.layout.Fits(root)
		if err != nil {
			return err
		}
		if !ok {
			return s.fail(dataset.ErrUnsupported, "layout", "another", s.layout.Want)
		}
	}
	for _, w := range s.File.Warnings() {
		s.Problem(dataset.CodeFileDoubtful, storage.Base(s.path), dataset.Detail{Cause: errors.New(w)})
	}
	if err := s.layout.Index(ctx, s); err != nil {
		return err
	}
	if bad := s.About.Notes.Of(dataset.ClassProblem); s.strict && bad != nil {
		return s.fail(dataset.ErrCorrupt, bad[0].Subject, bad[0].String(), "")
	}
	return nil
}

func (s *Set) fail(kind error, msg, got, want string) error {
	return &dataset.FormatError{Format: s.layout.Format, Path: s.path, Offset: -1, Kind: kind, Msg: msg, Got: got, Want: want}
}

// Problem adds a note about something that is declared and missing or different.
func (s *Set) Problem(code dataset.Code, subject string, detail dataset.Detail) {
	s.About.Notes.Add(dataset.Note{Code: code, Subject: subject, Count: 1, Detail: detail})
}

// Broken adds a note about an object that is broken and loses only itself. It returns errors that do not come from the file's
// content.
func (s *Set) Broken(where string, err error) error {
	if ignorable(err) {
		s.Problem(dataset.CodeUnreadable, where, dataset.Detail{Cause: err})
		return nil
	}
	return err
}

// ChooseRate sets the rate: the caller's, or else the file's.
func (s *Set) ChooseRate(file float64) error { return s.About.ChooseRate(s.rate, file, 0) }

// AddTask adds a task to Info.Tasks.
func (s *Set) AddTask(task string) {
	if task == "" || int64(len(task)) > s.room || s.tasks[task] {
		return
	}
	if s.tasks == nil {
		s.tasks = map[string]bool{}
	}
	s.tasks[task] = true
	s.room -= int64(len(task))
	s.About.Tasks = append(s.About.Tasks, task)
}

// AddFrames counts steps of an episode, unless they are more than the file could hold.
func (s *Set) AddFrames(n int) {
	if int64(n) <= s.Room() && n <= math.MaxInt-s.About.Frames {
		s.About.Frames += n
	}
}

// Room returns the largest number of bytes for the file's content: the size that the file could hold compressed, or 64 MiB.
func (s *Set) Room() int64 {
	const most, ratio = 64 << 20, 1032 // a byte of deflate becomes no more than this
	return max(most, ratio*min(s.File.Size(), math.MaxInt64/ratio))
}

// Attributes reads an object's attributes about the whole file.
func (s *Set) Attributes(o hdf5.Object) (Said, error) {
	return saidOf(o, &s.room, func(name string, err error) error { return s.Broken(o.Path()+": attribute "+name, err) })
}

// Name returns the file's name without its extension.
func (s *Set) Name() string { return dataset.BaseName(s.path) }

// Format returns the format's name.
func (s *Set) Format() string { return s.Kind }

// Info returns the file's declarations, and notes about missing parts.
func (s *Set) Info() dataset.Info { return s.About.Clone() }

// Len returns the number of episodes.
func (s *Set) Len() int { return len(s.Parts) }

// Close closes the file. Close twice is fine. Frames of episodes cannot be read after it.
func (s *Set) Close() error { return s.File.Close() }

// Episode reads the numbers in an episode. Its frames are read when they are needed.
func (s *Set) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard("hdf5", s.path, &err)()
	if err := dataset.CheckIndex(ctx, "episode", i, len(s.Parts)); err != nil {
		return nil, err
	}
	group, err := s.File.Root().Group(s.Parts[i].Path)
	if err != nil {
		return nil, err
	}
	e := &dataset.Episode{Name: s.Parts[i].Name}
	e.Attributes = dataset.Attributes{Source: s.path, Other: map[string]string{}}
	r := &Reader{Episode: e, set: s, room: s.Room(), rates: map[string]float64{}, longest: map[string]int{}, times: map[pace]*tensor.Tensor{}}
	if err := s.layout.Begin(r, group); err != nil {
		return nil, err
	}
	return e, r.read(ctx, group)
}
