package kitti

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// Options describe the layout of a file, which the file does not declare, and the strictness.
type Options struct {
	// Columns are the names of a point's numbers: x, y and z in any place, and features. If it is nil, the reader guesses them.
	Columns []string
	// Strict refuses a file that ends inside a point.
	Strict bool
}

// ReadFile reads a file. If Columns is nil and the name ends in ".pcd.bin", the file has nuScenes' five columns. A
// *dataset.FormatError and the damage notes contain the path.
func ReadFile(path string, opt Options) (*dataset.Cloud, error) {
	return records.ReadFile(path, func(data []byte) (*dataset.Cloud, error) {
		if opt.Columns == nil && strings.HasSuffix(strings.ToLower(path), ".pcd.bin") {
			if whole := data[:len(data)-len(data)%(4*len(nuScenes))]; !fits(whole, nuScenes) {
				return nil, unknown(data, nil)
			}
			opt.Columns = nuScenes
		}
		return Parse(data, opt)
	})
}

// Read reads all of r.
func Read(r io.Reader, opt Options) (*dataset.Cloud, error) {
	return records.Read(r, func(data []byte) (*dataset.Cloud, error) { return Parse(data, opt) })
}

// Parse reads the bytes of a file, and keeps no reference to them. If Columns is nil and no layout fits, or several do, it returns
// a *dataset.FormatError that is dataset.ErrUnsupported. If Columns is invalid, the error is a *dataset.CloudError. If the file
// ends inside a point, that point is counted as damage. If there is no whole point, or with opt.Strict, the error is a
// *dataset.FormatError that is dataset.ErrTruncated.
func Parse(data []byte, opt Options) (*dataset.Cloud, error) {
	names := opt.Columns
	if names == nil {
		var err error
		if names, err = find(data); err != nil {
			return nil, err
		}
	}
	var fields []records.Field
	for _, name := range names {
		fields = append(fields, records.Field{Name: name, Type: "float32", Scalar: records.F32})
	}
	size := 4 * max(len(fields), 1)
	n, rest := len(data)/size, len(data)%size
	set, err := records.NewSet(fields, n)
	if slices.Contains(names, "") {
		err = errors.New("a name of no letters")
	}
	if records.NoRoom(err) {
		return nil, err
	}
	if err != nil {
		return nil, &dataset.CloudError{Arg: "Columns", Kind: dataset.ErrOption, Got: err.Error(), Want: "x, y and z, and each name once"}
	}
	var damage dataset.Notes
	if rest != 0 {
		cut := &dataset.FormatError{Format: "kitti", Offset: int64(n * size), Kind: dataset.ErrTruncated, Msg: fmt.Sprintf("point %d", n),
			Got: fmt.Sprintf("%d bytes", rest), Want: fmt.Sprintf("%d, float32 of %d numbers", size, len(fields)), Err: io.ErrUnexpectedEOF}
		if opt.Strict || n == 0 {
			return nil, cut
		}
		damage.AddDamage(dataset.CodePointLost, int64(rest), cut)
	}
	for i := range fields {
		set.Fill(i, data, 4*i, size, binary.LittleEndian)
	}
	c, err := set.Cloud()
	if err != nil {
		return nil, err
	}
	c.Notes = damage
	return c, nil
}
