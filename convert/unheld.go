package convert

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
)

// undecoded says why no frame of a media stream can be decoded here, by its first: pixels of more than 8 bits, mostly. It is empty if they can, and if the first
// is broken, which says nothing of the others.
func undecoded(ctx context.Context, m *dataset.Media) (why dataset.Note) {
	if m.Len() == 0 {
		return why
	}
	_, err := m.Decode(ctx, 0)
	var bad *dataset.FormatError
	if !errors.As(err, &bad) || !errors.Is(err, dataset.ErrUnsupported) || !ofEpisode(err) {
		return why
	}
	if why.Code, why.Got = dataset.CodeFramesUndecoded, bad.Got; bad.Got == "" {
		why.Cause = bad
	}
	return why
}

// unheld finds the streams of the first episode that a dataset has no place for, which are left out of all.
func (l *leRobotWriter) unheld(e *Episode) error {
	for i := range e.Streams {
		s := &e.Streams[i]
		if l.needs(s.Name) || l.left[s.Name].Code != "" {
			continue
		}
		var bad *lerobotwrite.Error
		switch err := lerobotwrite.CheckStream(s); {
		case errors.As(err, &bad):
			l.left[s.Name] = dataset.Note{Code: dataset.CodeUnheld, Detail: dataset.Detail{Unit: "LeRobot", Got: bad.Got, Want: bad.Want}}
		case err != nil:
			return err
		}
	}
	return nil
}

// withoutEmpty leaves out what has no samples where something has: it has no row of a clock that all have.
func (r *ready) withoutEmpty(own *dataset.Episode) {
	if !slices.ContainsFunc(r.accounts, func(a StreamAccount) bool { return a.Rows > 0 }) {
		return
	}
	empty := func(name string, n int) bool {
		if n == 0 {
			r.notes = append(slices.Clip(r.notes), dataset.Note{Code: dataset.CodeNoSamples, Subject: name})
		}
		return n == 0
	}
	own.Streams = slices.DeleteFunc(slices.Clone(own.Streams), func(s dataset.Stream) bool { return empty(s.Name, s.Len()) })
	own.Media = slices.DeleteFunc(slices.Clone(own.Media), func(m dataset.Media) bool { return empty(m.Name, m.Len()) })
	own.Clouds = slices.DeleteFunc(slices.Clone(own.Clouds), func(c dataset.CloudStream) bool { return empty(c.Name, c.Len()) })
}
