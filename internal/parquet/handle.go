package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// handle is an open file and its footer.
type handle struct {
	format string // of the errors
	path   string
	file   storage.File
	size   int64
	parsed *parquet.File
	counts [][]bool // by row group: whether a column chunk states how many nulls it has
}

// guard turns a panic of the library into an error, should it have one on a broken file.
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
