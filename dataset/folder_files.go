package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// maxOpen is the number of unused files in a folder that stay open.
const maxOpen = 8

// shared is an open file in a folder, or a file that is being opened.
type shared struct {
	Dataset
	path   string
	opened chan struct{} // closed when opening has ended
	err    error         // the reason if it failed
	used   int           // number of users; the file stays open while it is not 0
	shut   bool
}

// take returns a file for reading. If the file is not open, the first caller opens it and the others wait. The caller returns it
// with give.
func (d *folder) take(ctx context.Context, path string) (*shared, error) {
	for {
		f, first, err := d.reserve(path)
		if err != nil {
			return nil, err
		}
		if first {
			f.Dataset, f.err = d.format.Open(ctx, path, d.opt)
			f.err = StandIn(ctx, f.err, path)
			close(f.opened)
		}
		select {
		case <-f.opened:
		case <-ctx.Done():
			d.give(f)
			return nil, ctx.Err()
		}
		if f.err == nil {
			return f, nil
		}
		d.give(f)
		if first || ctx.Err() != nil || !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, context.DeadlineExceeded) {
			return nil, f.err
		}
		// Who opened it gave up.
	}
}

// reserve marks a file as used, and reports whether the caller must open it.
func (d *folder) reserve(path string) (f *shared, first bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false, fmt.Errorf("dataset: %s: %w", d.path, ErrClosed)
	}
	at := slices.IndexFunc(d.open, func(f *shared) bool { return f.path == path && !f.failed() })
	if at < 0 {
		f, first = &shared{path: path, opened: make(chan struct{})}, true
	} else {
		f = d.open[at]
		d.open = slices.Delete(d.open, at, at+1)
	}
	f.used++
	d.open = append(d.open, f)
	return f, first, nil
}

// failed reports whether opening failed.
func (f *shared) failed() bool {
	select {
	case <-f.opened:
		return f.err != nil
	default:
		return false
	}
}

// give returns a file, and closes the least recently used ones. A file that could not be opened is removed.
func (d *folder) give(f *shared) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.used--
	if f.used == 0 && f.failed() {
		d.open = slices.DeleteFunc(d.open, func(o *shared) bool { return o == f })
	}
	most := maxOpen
	switch {
	case d.closed:
		most = 0
	case d.held:
		most = len(d.open)
	}
	for i := 0; i < len(d.open) && len(d.open) > most; {
		if d.open[i].used > 0 {
			i++
			continue
		}
		_ = d.open[i].shutDown() // it was only read, so an error here is harmless
		d.open = slices.Delete(d.open, i, i+1)
	}
}

func (f *shared) shutDown() error {
	f.shut = true
	return f.Close()
}

// Close closes all unused files; the others are closed by give.
func (d *folder) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.open = slices.DeleteFunc(d.open, func(f *shared) bool {
		if f.used == 0 {
			err = errors.Join(err, f.shutDown())
		}
		return f.used == 0
	})
	return err
}

// again marks an open file as used, and reports false if it was closed. The caller returns it with give.
func (d *folder) again(f *shared) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.shut || d.closed {
		return false
	}
	f.used++
	return true
}

// folderSource is a source in an episode. If its file was closed in the meantime, it opens the file and reads the episode again.
type folderSource[S any] struct {
	folder  *folder
	path    string
	episode int
	pick    func(e *Episode) (S, bool) // returns the source from that episode

	mu     sync.Mutex
	from   *shared
	source S
}

// current returns the episode's open file and the source of its frames there. The caller returns the file with give. If the file has
// changed so that the source is missing, it returns an error.
func (s *folderSource[S]) current(ctx context.Context) (from *shared, source S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder.again(s.from) {
		return s.from, s.source, nil
	}
	if from, err = s.folder.take(ctx, s.path); err != nil {
		return nil, source, err
	}
	e, err := from.Episode(ctx, s.episode)
	if err == nil {
		var there bool
		if source, there = s.pick(e); !there {
			err = s.changed()
		}
	}
	if err != nil {
		s.folder.give(from)
		return nil, source, err
	}
	s.from, s.source = from, source
	return from, source, nil
}

// changed returns the error of a file that has no such source any more.
func (s *folderSource[S]) changed() error {
	return &FormatError{Format: s.folder.format.Name, Path: s.path, Offset: -1, Kind: ErrNotFound, Msg: "frames", Got: "a file that has changed", Want: "the one that was opened"}
}

// folderFrames are the frames in a media stream.
type folderFrames struct{ folderSource[FrameSource] }

func (s *folderFrames) Check(ctx context.Context) (Notes, error) {
	from, source, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	defer s.folder.give(from)
	if c, ok := source.(Checker); ok {
		return c.Check(ctx)
	}
	return nil, nil
}

func (s *folderFrames) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	from, source, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	defer s.folder.give(from)
	return source.ReadFrame(ctx, i)
}

// folderVideo is a folderFrames for a source that decodes its frames itself.
type folderVideo struct{ folderFrames }

// Borrow implements FrameLender.
func (s *folderVideo) Borrow(ctx context.Context) (source FrameSource, done func(), err error) {
	file, source, err := s.current(ctx)
	return source, func() { s.folder.give(file) }, err
}

func (s *folderVideo) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		source, done, err := s.Borrow(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		decoder, ok := source.(FrameDecoder)
		if !ok {
			yield(nil, s.changed())
			return
		}
		decoder.DecodeFrames(ctx, from, to)(yield)
	}
}

func (s *folderVideo) CheckDecoder(ctx context.Context) error {
	source, done, err := s.Borrow(ctx)
	if err != nil {
		return err
	}
	defer done()
	if c, ok := source.(DecoderChecker); ok {
		return c.CheckDecoder(ctx)
	}
	return nil
}

func (s *folderVideo) VideoPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.source.(VideoFile); ok {
		return v.VideoPath()
	}
	return ""
}

func (s *folderVideo) OpenVideo(ctx context.Context) (file *io.SectionReader, seconds []float64, done func(), err error) {
	from, source, err := s.current(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	v, ok := source.(VideoFile)
	if !ok {
		s.folder.give(from)
		return nil, nil, nil, s.changed()
	}
	file, seconds, inner, err := v.OpenVideo(ctx)
	if err != nil {
		s.folder.give(from)
		return nil, nil, nil, err
	}
	return file, seconds, func() { inner(); s.folder.give(from) }, nil
}

// folderClouds are the clouds in a series.
type folderClouds struct{ folderSource[CloudSource] }

func (s *folderClouds) ReadCloud(ctx context.Context, i int) (*Cloud, error) {
	from, source, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	defer s.folder.give(from)
	return source.ReadCloud(ctx, i)
}

// Hold keeps all files in a folder dataset open until Close, so that the sources in its episodes are the format's own types. It
// does nothing for other datasets.
func Hold(d Dataset) {
	if f, ok := Whole(d).(*folder); ok {
		f.held = true
	}
}

// lasting replaces an episode's sources by ones that reopen their file when needed.
func (d *folder) lasting(e *Episode, f *shared, path string, episode int) {
	if d.held {
		return
	}
	for k := range e.Media {
		pick := func(e *Episode) (s FrameSource, there bool) {
			if there = k < len(e.Media); there {
				s = e.Media[k].Source
			}
			return s, there
		}
		v := &folderVideo{folderFrames{folderSource[FrameSource]{folder: d, path: path, episode: episode, pick: pick, from: f, source: e.Media[k].Source}}}
		if _, decodes := e.Media[k].Source.(FrameDecoder); decodes {
			e.Media[k].Source = v
		} else {
			e.Media[k].Source = &v.folderFrames
		}
	}
	for k := range e.Clouds {
		pick := func(e *Episode) (s CloudSource, there bool) {
			if there = k < len(e.Clouds); there {
				s = e.Clouds[k].Source
			}
			return s, there
		}
		e.Clouds[k].Source = &folderClouds{folderSource[CloudSource]{folder: d, path: path, episode: episode, pick: pick, from: f, source: e.Clouds[k].Source}}
	}
}
