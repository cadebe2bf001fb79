package calvin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

const (
	format    = "calvin"
	boundsFit = "ep_start_end_ids.npy" // the file that identifies a split's folder
	rate      = 30                     // Hz: how fast CALVIN records
)

func init() {
	dataset.Register(dataset.Format{
		Name: format,
		Folder: func(ctx context.Context, path string) bool {
			return isSplit(ctx, path) || isLanguage(ctx, path) || isSplit(ctx, storage.Join(path, "training")) || isSplit(ctx, storage.Join(path, "validation"))
		},
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(ctx, path, opt)
		},
	})
}

func isSplit(ctx context.Context, path string) bool {
	st, err := storage.Stat(ctx, storage.Join(path, boundsFit))
	return err == nil && st.IsRegular()
}

// isLanguage reports whether a folder contains a split's annotations.
func isLanguage(ctx context.Context, path string) bool {
	full, err := storage.Abs(path)
	return err == nil && strings.HasPrefix(storage.Base(full), languagePrefix) && isDir(full) && isSplit(ctx, storage.Dir(full))
}

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	path     string
	language string // the annotation folder, if its spans are the episodes; empty if the rows are
	strict   bool
	info     dataset.Info
	episodes []place
	closed   atomic.Bool
}

// place is where an episode lies.
type place struct {
	name  string
	split *split
	first int64 // frames, both inclusive
	last  int64
	span  *span // the annotation that it is; nil for play
}

// Open opens the folder of a dataset, of one split, or of a split's annotations. It lists the frames and reads none. Strict turns
// differences from the declarations into errors: missing frames, lengths that disagree, annotations outside the episodes. When an
// episode is read, it also refuses frames that are broken or differ from the others.
func Open(ctx context.Context, path string, opt dataset.Options) (opened *Set, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Set{path: path, strict: opt.Strict}
	if isLanguage(ctx, path) {
		full, err := storage.Abs(path)
		if err != nil {
			return nil, err
		}
		s.path, s.language = storage.Dir(full), storage.Base(full)
	}
	s.info.Attributes = map[string]string{}
	if err := s.info.ChooseRate(opt.Rate, 0, rate); err != nil {
		return nil, err
	}
	splits, err := s.openSplits(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range splits {
		s.info.Notes.Join(p.problems)
		maps.Copy(s.info.Attributes, p.attributes)
		s.addTasks(p)
		if s.language == "" {
			s.addPlay(p)
		} else {
			s.addLanguage(p)
		}
	}
	if opt.Strict && len(s.info.Notes) > 0 {
		n := s.info.Notes[0]
		return nil, formatError(dataset.ErrCorrupt, path, n.Subject, n.String(), "")
	}
	return s, nil
}

// openSplits opens the folders. One that cannot be read is a problem, unless it is the only one.
func (s *Set) openSplits(ctx context.Context) ([]*split, error) {
	folders := map[string]string{}
	if isSplit(ctx, s.path) {
		name := storage.Base(s.path)
		if full, err := storage.Abs(s.path); err == nil {
			name = storage.Base(full)
		}
		folders[name] = s.path
	} else {
		for _, name := range []string{"training", "validation"} {
			if st, err := storage.Stat(ctx, storage.Join(s.path, name)); err == nil && st.IsDir() {
				folders[name] = storage.Join(s.path, name)
			}
		}
	}
	var list []*split
	var failed error
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		p, err := openSplit(ctx, name, folders[name], s.language)
		var bad *dataset.FormatError
		switch {
		case err == nil:
			list = append(list, p)
		case errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad):
			failed = err
			s.info.Notes.Add(dataset.Note{Code: dataset.CodeUnreadable, Subject: name, Count: 1, Detail: dataset.Detail{Cause: err}})
		default:
			return nil, err
		}
	}
	if len(list) == 0 && failed == nil {
		failed = &dataset.FormatError{Format: format, Path: s.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "layout", Got: "neither a folder training nor validation", Want: "one with " + boundsFit}
	}
	if len(list) == 0 {
		return nil, failed
	}
	return list, nil
}

// addPlay adds a split's rows as episodes.
func (s *Set) addPlay(p *split) {
	s.info.Frames += p.inside
	part := dataset.Split{Name: p.name, Episodes: make([]int, len(p.rows))}
	for i, r := range p.rows {
		part.Episodes[i] = len(s.episodes)
		s.episodes = append(s.episodes, place{name: fmt.Sprintf("%s_%d", p.name, i), split: p, first: r.first, last: r.last})
	}
	s.info.Splits = append(s.info.Splits, part)
}

// addLanguage adds a split's annotated spans as episodes.
func (s *Set) addLanguage(p *split) {
	part := dataset.Split{Name: p.name, Episodes: make([]int, len(p.spans))}
	for i := range p.spans {
		a := &p.spans[i]
		part.Episodes[i] = len(s.episodes)
		s.episodes = append(s.episodes, place{name: fmt.Sprintf("%s_lang_%d", p.name, i), split: p, first: a.first, last: a.last, span: a})
	}
	s.info.Splits = append(s.info.Splits, part)
}

// addTasks adds the texts of a split's annotations.
func (s *Set) addTasks(p *split) {
	seen := make(map[string]bool)
	for _, task := range s.info.Tasks {
		seen[task] = true
	}
	for i := range p.spans {
		if text := p.spans[i].text; !seen[text] {
			seen[text] = true
			s.info.Tasks = append(s.info.Tasks, text)
		}
	}
}

// Name returns the folder's name.
func (s *Set) Name() string {
	if s.language != "" {
		return s.language
	}
	if full, err := storage.Abs(s.path); err == nil {
		return storage.Base(full)
	}
	return storage.Base(s.path)
}

// Format returns "calvin".
func (s *Set) Format() string { return format }

// Len returns the number of episodes.
func (s *Set) Len() int { return len(s.episodes) }

// Info returns the rate, the splits, the annotation texts as Tasks, the number of frames, and notes about wrong declarations.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// Close ends reading. Close twice is fine. After it, the frames in episodes cannot be read.
func (s *Set) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *Set) checkOpen() error {
	if s.closed.Load() {
		return fmt.Errorf("calvin: %s: %w", s.path, dataset.ErrClosed)
	}
	return nil
}

func formatError(kind error, path, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: format, Path: path, Offset: -1, Kind: kind, Msg: msg, Got: got, Want: want}
}
