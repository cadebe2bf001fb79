package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// handle is an open file with its footer.
type handle struct {
	format string // format name in errors
	path   string
	file   storage.File
	size   int64
	parsed *parquet.File
	counts [][]bool // by row group: whether a column chunk declares its null count
}

// guard converts a panic in the library to an error, in case a broken file causes one.
func (f *handle) guard(what string, err *error) {
	if p := recover(); p != nil {
		*err = f.bad(dataset.ErrCorrupt, -1, what, fmt.Sprint("unexpected by the decoder: ", p), "", nil)
	}
}

func (f *handle) bad(kind error, at int64, msg, got, want string, err error) *dataset.FormatError {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &dataset.FormatError{Format: f.format, Path: f.path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want, Err: err}
}
