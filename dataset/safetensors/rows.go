package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// ReadRows reads as many rows of a tensor [N,...] as dst has, from row lo on: dst is contiguous, on the host, and of the tensor's dtype and shape but for N. It
// reads from the file, also from one that Map opened, whose memory it does not touch. What does not fit is a *dataset.FormatError that is
// dataset.ErrUnsupported, as is a machine with other bytes first; rows that are not there are dataset.ErrTruncated.
func (f *File) ReadRows(dst *tensor.Tensor, name string, lo int) error {
	h, err := f.Header(name)
	if err != nil {
		return err
	}
	dtype, ok := ofFormat[h.DType]
	shape := dst.Shape()
	unlike := len(shape) == 0 || len(shape) != len(h.Shape) || !slices.Equal(shape[1:], h.Shape[1:]) || dst.DType() != dtype
	if !ok || unlike || lo < 0 || lo+shape[0] > h.Shape[0] || !raw.Little {
		return f.explain(bad(dataset.ErrUnsupported, h.Begin, "rows of tensor "+quote(name), fmt.Sprintf("%v from row %d on", dst, lo), h.String()))
	}
	if shape[0] == 0 {
		return nil
	}
	to, err := raw.Of(dst)
	if err != nil {
		return err
	}
	at := h.Begin + int64(lo)*int64(len(to)/shape[0])
	n, err := f.r.ReadAt(to, at)
	switch {
	case n == len(to):
		return f.compare(name, at, at+int64(n), to, at)
	case errors.Is(err, fs.ErrClosed):
		return f.explain(err)
	}
	return f.explain(&dataset.FormatError{Kind: dataset.ErrTruncated, Offset: h.Begin, Msg: "tensor " + quote(name), Got: fmt.Sprintf("%d bytes of %d", n, len(to)), Err: err})
}
