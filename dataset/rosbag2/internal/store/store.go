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
	// Distro is the ROS 2 distribution that wrote the file, such as "jazzy"; empty if unknown.
	Distro() string
	// Said returns other descriptions in the file.
	Said() map[string]string
	// Close releases the memory and closes the storage.File.
	Close() error
}

// Source is the input for a File.
type Source struct {
	Path string // for errors
	File storage.File
	// Beside opens the file next to this one with the same name and a suffix: "-wal". If there is none, it returns nil without an
	// error.
	Beside func(ctx context.Context, suffix string) (storage.File, error)
}

// Open opens a file. Broken parts that can be skipped are damage. After an error the storage.File stays open.
type Open func(ctx context.Context, from Source, damage *dataset.Notes) (File, error)

var formats = struct {
	sync.Mutex
	list map[string]Open
}{list: map[string]Open{}}

// Register sets the function that opens files with an extension: ".db3".
func Register(extension string, open Open) {
	formats.Lock()
	defer formats.Unlock()
	if formats.list[extension] != nil {
		panic("rosbag2: Register called twice for " + extension)
	}
	formats.list[extension] = open
}

// Of returns the function that opens files with an extension, or nil.
func Of(extension string) Open {
	formats.Lock()
	defer formats.Unlock()
	return formats.list[extension]
}
