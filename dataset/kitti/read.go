package kitti

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/records"
)

// NuScenes are the features of nuScenes' files.
var NuScenes = []string{"intensity", "ring"}

// Options say what a file holds, which it does not say itself. The zero value is KITTI's own.
type Options struct {
	// Features are the names of what follows x, y and z. Nil is one, "intensity".
	Features []string
}

// ReadFile reads a file. A *dataset.FormatError carries its path.
func ReadFile(path string, opt Options) (*dataset.Cloud, error) {
	return records.ReadFile(path, opt.parse)
}

// Read reads all of r.
func Read(r io.Reader, opt Options) (*dataset.Cloud, error) { return records.Read(r, opt.parse) }

func (o Options) parse(data []byte) (*dataset.Cloud, error) { return Parse(data, o) }

// Parse reads a file's bytes. It keeps no reference to them. A size that is no whole number of points is a
// *dataset.FormatError that is dataset.ErrTruncated; features that are none a *dataset.CloudError.
func Parse(data []byte, opt Options) (*dataset.Cloud, error) {
	names := opt.Features
	if names == nil {
		names = []string{"intensity"}
	}
	var fields []records.Field
	for _, name := range append([]string{"x", "y", "z"}, names...) {
		fields = append(fields, records.Field{Name: name, Type: "float32", Scalar: records.F32})
	}
	size := 4 * len(fields)
	n := len(data) / size
	if rest := len(data) % size; rest != 0 {
		return nil, &dataset.FormatError{Format: "kitti", Offset: int64(n * size), Kind: dataset.ErrTruncated, Msg: fmt.Sprintf("point %d", n),
			Got: fmt.Sprintf("%d bytes", rest), Want: fmt.Sprintf("%d, float32 of %d numbers", size, len(fields)), Err: io.ErrUnexpectedEOF}
	}
	set, err := records.NewSet(fields, n)
	if err != nil {
		return nil, &dataset.CloudError{Arg: "Columns", Kind: dataset.ErrOption, Got: err.Error(), Want: "each name once"}
	}
	for i := range fields {
		set.Fill(i, data, 4*i, size, binary.LittleEndian)
	}
	return set.Cloud()
}
