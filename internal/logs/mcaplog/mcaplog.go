package mcaplog

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// Log is the messages of a file. Its parts are chunks, and runs of messages outside chunks. Its methods may be called from any goroutine.
type Log interface {
	topics.Log
	topics.Counter
	// Said returns what the file says of itself, by names.
	Said() map[string]string
	// Note returns a value of the first of the file's records of metadata that has a name, empty if there is none.
	Note(name, key string) string
}

// Open finds the parts of a file, by its index where there is one. Records that are outside the index are found too. What is broken is counted in
// damage. The file stays the caller's, who closes it when the log is done with; path is for errors. Package mcap sets it.
var Open func(ctx context.Context, file storage.File, path string, damage *dataset.Notes) (Log, error)
