package store

import (
	"context"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// File has the messages of one file of a bag.
type File interface {
	topics.Log
	// Distro is the distribution of ROS 2 that wrote the file, "jazzy"; empty where the file does not say.
	Distro() string
	// Said is what else the file says of itself.
	Said() map[string]string
	// Close releases what the file holds, and closes the storage.File.
	Close() error
}

// Source is what a File is read from.
type Source struct {
	Path string // for errors
	File storage.File
	// Beside opens a file that lies beside this one under its name and a suffix: "-wal". It is nil, with no error, where there is none.
	Beside func(ctx context.Context, suffix string) (storage.File, error)
}

// Open opens a file. What is broken and can be passed over is damage. If it fails, the storage.File stays open.
type Open func(ctx context.Context, from Source, damage *dataset.Notes) (File, error)

var formats = struct {
	sync.Mutex
	list map[string]Open
}{list: map[string]Open{}}

// Register says who opens the files of a name's extension: ".db3".
func Register(extension string, open Open) {
	formats.Lock()
	defer formats.Unlock()
	if formats.list[extension] != nil {
		panic("rosbag2: Register called twice for " + extension)
	}
	formats.list[extension] = open
}

// Of returns who opens files of an extension, nil if nobody does.
func Of(extension string) Open {
	formats.Lock()
	defer formats.Unlock()
	return formats.list[extension]
}
