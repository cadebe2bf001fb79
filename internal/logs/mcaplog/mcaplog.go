package mcaplog

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// Log is the messages of a file. A part is a chunk, or a run of messages outside chunks. Its methods may be called from any goroutine.
type Log interface {
	topics.Log
	topics.Counter
	// Said returns the file's metadata by name.
	Said() map[string]string
	// Note returns a value from the file's first metadata record with a name, empty if there is none.
	Note(name, key string) string
}

// Open finds the parts of a file, by its index if there is one. Records outside the index are found too. Damage is counted in
// damage. The caller closes the file after the log's last use; path is for errors. Package mcap sets Open.
var Open func(ctx context.Context, file storage.File, path string, damage *dataset.Notes) (Log, error)
