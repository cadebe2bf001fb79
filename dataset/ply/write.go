package ply

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// Options are the settings of Write. The zero value writes binary_little_endian.
type Options struct {
	ASCII bool
	Faces [][3]int32 // a mesh's triangles as point indices from 0; they become the element face
}

// Write writes a cloud as the element vertex, so that reading it returns equal points, features and names. Features with whole
// numbers are written as uchar or int if these types hold them, others as float, or as double if the tensor is f64. The rows of an
// organised cloud and the viewpoint are not written, because the format cannot hold them. If the cloud is invalid, or the header
// cannot hold a name, or a face has an index without a point, the error is a *dataset.CloudError and nothing is written.
func Write(w io.Writer, c *dataset.Cloud, opt Options) error {
	out, err := records.OutOf(c)
	if err != nil {
		return err
	}
	for _, face := range opt.Faces {
		if min(face[0], face[1], face[2]) < 0 || int(max(face[0], face[1], face[2])) >= out.N {
			return &dataset.CloudError{Arg: "Faces", Kind: dataset.ErrOption, Got: fmt.Sprint(face), Want: fmt.Sprintf("indices from 0 to %d", out.N-1)}
		}
	}
	form := "binary_little_endian"
	if opt.ASCII {
		form = "ascii"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "ply\nformat %s 1.0\nelement vertex %d\n", form, out.N)
	for _, col := range out.Columns {
		if !records.IsWord(col.Name) {
			return &dataset.CloudError{Arg: "Columns", Kind: dataset.ErrOption, Got: strconv.Quote(col.Name), Want: "a name without white space"}
		}
		typ := map[records.Scalar]string{records.U8: "uchar", records.I32: "int", records.F32: "float", records.F64: "double"}[col.Scalar]
		fmt.Fprintf(&b, "property %s %s\n", typ, col.Name)
	}
	if opt.Faces != nil {
		fmt.Fprintf(&b, "element face %d\nproperty list uchar int vertex_indices\n", len(opt.Faces))
	}
	b.WriteString("end_header\n")
	for i := range out.N {
		row := b.AvailableBuffer()
		for k, col := range out.Columns {
			if !opt.ASCII {
				row = col.Append(row, i)
				continue
			}
			if k > 0 {
				row = append(row, ' ')
			}
			row = col.AppendText(row, i)
		}
		if opt.ASCII {
			row = append(row, '\n')
		}
		b.Write(row)
	}
	for _, face := range opt.Faces {
		if opt.ASCII {
			fmt.Fprintf(&b, "3 %d %d %d\n", face[0], face[1], face[2])
			continue
		}
		row := append(b.AvailableBuffer(), 3)
		for _, i := range face {
			row = binary.LittleEndian.AppendUint32(row, uint32(i))
		}
		b.Write(row)
	}
	_, err = w.Write(b.Bytes())
	return err
}
