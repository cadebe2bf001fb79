package mcap

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/mcaplog"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "mcap", Extensions: []string{".mcap"},
		Match: func(head []byte) bool { return len(head) >= 5 && string(head[:5]) == Magic[:5] },
		Open:  Open,
	})
	mcaplog.Open = func(ctx context.Context, file storage.File, path string, damage *dataset.Notes) (mcaplog.Log, error) {
		l, err := newLog(ctx, file, path, damage)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// Open opens a file as a dataset with one episode.
func Open(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	info, _, err := topics.Check(ctx, opt)
	if err != nil {
		return nil, err
	}
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &recording{file: file, path: path, opt: opt, info: info}, nil
}

// recording is the dataset of a file.
type recording struct {
	file   storage.File
	path   string
	opt    dataset.Options
	info   dataset.Info
	closed atomic.Bool
}

func (r *recording) Name() string       { return dataset.BaseName(r.path) }
func (r *recording) Format() string     { return "mcap" }
func (r *recording) Len() int           { return 1 }
func (r *recording) Info() dataset.Info { return r.info }

func (r *recording) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	return r.file.Close()
}

func (r *recording) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard("mcap", r.path, &err)()
	if i != 0 {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: 1}
	}
	if r.closed.Load() {
		return nil, fmt.Errorf("mcap: %s: %w", r.path, dataset.ErrClosed)
	}
	var damage dataset.Notes
	log, err := newLog(ctx, r.file, r.path, &damage)
	if err != nil {
		return nil, err
	}
	if r.opt.Strict && damage != nil {
		return nil, damage[0].Cause
	}
	e, err := topics.Read(ctx, log, r.opt)
	if err != nil {
		return nil, err
	}
	e.Name = r.Name()
	e.Attributes.Source, e.Attributes.Other = r.path, log.Said()
	if err := log.restore(e); err != nil {
		return nil, err
	}
	e.Notes.Join(log.tooLong)
	e.Notes = append(damage, e.Notes...)
	if len(e.Notes.Damage()) == 0 && log.Statistics != nil {
		if got, want := log.count(), log.Statistics.MessageCount; got != want {
			e.Notes.Add(dataset.Note{Code: dataset.CodeMessageCount, Detail: dataset.Detail{Got: fmt.Sprint(got), Want: fmt.Sprint(want), Names: []string{"Statistics"}}})
		}
	}
	return e, nil
}

// Said returns the file's descriptions: its profile and library, its metadata as "NAME.KEY", and its attachments by name.
func (l *fileLog) Said() map[string]string {
	said := map[string]string{}
	times := map[string]int{}
	add := func(key, value string) {
		if value == "" {
			return
		}
		if times[key]++; times[key] > 1 {
			key = fmt.Sprintf("%s (%d)", key, times[key])
		}
		said[key] = value
	}
	add("profile", l.Header.Profile)
	add("library", l.Header.Library)
	for _, m := range l.Metadata {
		for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
			switch value := m.Metadata[key]; m.Name {
			case episodeName: // in places of their own
			case attributesName:
				add(key, value)
			default:
				add(m.Name+"."+key, value)
			}
		}
	}
	for _, a := range l.Attachments {
		add("attachment "+a.Name, strings.TrimLeft(fmt.Sprintf("%s, %d bytes", a.MediaType, a.DataSize), ", "))
	}
	return said
}
