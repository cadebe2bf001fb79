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

// ReadRows reads rows lo, lo+1 and so on of a tensor [N,...] until dst is full. dst is contiguous, on the host, and has the
// tensor's dtype and shape except for N. It reads from the file even if Map opened it, and does not touch the mapped memory. If dst
// does not fit, or on a big-endian machine, the error is a *dataset.FormatError that is dataset.ErrUnsupported; if the rows are
// missing from the file, dataset.ErrTruncated.
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
