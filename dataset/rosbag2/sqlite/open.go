package sqlite

import (
	"context"
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rosbag2/internal/store"
	"github.com/robocache/robocache/internal/logs/topics"
)

func init() { store.Register(".db3", open) }

// messageColumns are the columns of the table messages that are read.
var messageColumns = [...]string{"topic_id", "timestamp", "data"}

const partBytes = 4 << 20 // of the file for each part, about

// log is an open file. Its parts are ranges of the messages' numbers, SQLite's rowids.
type log struct {
	path     string
	image    *image
	distro   string
	channels []topics.Channel
	numbers  map[int64]int // channels by topic_id
	messages table
	columns  [len(messageColumns)]column
	first    int64 // the smallest number of a message on a readable page
	last     int64 // the largest number of a message on a readable page
	parts    int
}

func open(ctx context.Context, from store.Source, damage *dataset.Notes) (_ store.File, err error) {
	wal, err := from.Beside(ctx, "-wal")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && wal != nil {
			err = errors.Join(err, wal.Close())
		}
	}()
	m, err := newImage(ctx, from.Path, from.File, wal, damage)
	if err != nil {
		return nil, err
	}
	l := &log{path: from.Path, image: m, numbers: map[int64]int{}}
	if err := l.readSchema(ctx, damage); err != nil {
		return nil, err
	}
	var some bool
	if l.first, l.last, some, err = l.messages.span(ctx); err != nil {
		return nil, err
	}
	if l.parts = 1; some { // an empty log has one part, which reports the damage
		l.parts = int(max(1, min(uint64(m.size/partBytes), uint64(l.last)-uint64(l.first)+1)))
	}
	return l, nil
}

func (l *log) Channels() []topics.Channel { return l.channels }
func (l *log) Parts() int                 { return l.parts }
func (l *log) Distro() string             { return l.distro }

// Said returns nil, because databases contain no more than metadata.yaml.
func (l *log) Said() map[string]string { return nil }

func (l *log) Close() error { return l.image.Close() }
