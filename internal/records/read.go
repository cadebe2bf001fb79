package records

import (
	"context"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// Parse makes a cloud from a file's bytes.
type Parse func(data []byte) (*dataset.Cloud, error)

// ReadFile reads a file. A *dataset.FormatError has its path, and so does the damage.
func ReadFile(path string, parse Parse) (*dataset.Cloud, error) {
	data, err := storage.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	c, err := parse(data)
	err = dataset.InFile(err, path)
	if c != nil {
		c.Notes.SetPath(path)
	}
	return c, err
}

// Read reads all of r.
func Read(r io.Reader, parse Parse) (*dataset.Cloud, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// Quote quotes the beginning of a text for an error.
func Quote(s string) string { return strconv.Quote(s[:min(len(s), 60)]) }
