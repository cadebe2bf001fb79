package npy

import (
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/records"
)

// ReadCloud reads records with the fields x, y and z as a point cloud: [N], or [H,W] for an organised cloud. Other numeric fields
// are features. The packed colours rgb and rgba become red, green, blue and, for rgba, alpha, as numbers from 0 to 255. Notes lists
// other fields. If the array has no such records, the error is a *dataset.FormatError that is dataset.ErrUnsupported.
func ReadCloud(r io.Reader) (*dataset.Cloud, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	const want = "records [N] or [H,W] with x, y and z, and each field once"
	rank := len(h.Shape)
	if !h.IsRecords() || rank != 1 && rank != 2 {
		return nil, unsupported(&h, want)
	}
	fields := make([]records.Field, len(h.Fields))
	var notes dataset.Notes
	for i := range h.Fields {
		f := &h.Fields[i]
		s, number := f.scalar()
		fields[i] = records.Field{Name: f.Name, Type: f.Type(), Scalar: s, Skip: !number}
		if !number {
			notes.Add(f.note(h.count))
		}
		fields[i].Pack()
	}
	data, err := elements[uint8](r, h.count*h.item, 1, h.size, nil)
	if err != nil {
		return nil, err
	}
	data = h.rowMajor(data)
	set, err := records.NewSet(fields, h.count)
	if records.NoRoom(err) {
		return nil, err
	}
	if err != nil {
		return nil, &dataset.FormatError{Format: "npy", Offset: h.size, Kind: dataset.ErrUnsupported, Msg: "records", Got: err.Error(), Want: want}
	}
	for i := range h.Fields {
		set.Fill(i, data, h.Fields[i].at, h.item, h.Fields[i].order())
	}
	c, err := set.Cloud()
	if err != nil {
		return nil, err
	}
	if c.Notes = notes; rank == 2 {
		c.Height, c.Width = h.Shape[0], h.Shape[1]
	}
	return c, nil
}

// rowMajor returns the bytes of an array's records in row-major order.
func (h *Header) rowMajor(data []byte) []byte {
	if !h.Fortran || len(h.Shape) != 2 || h.count == 0 {
		return data
	}
	out := memory.Must[byte]("records", len(data))[:0]
	rows := h.Shape[0]
	for i := range rows {
		for k := i; k < h.count; k += rows {
			out = append(out, data[k*h.item:(k+1)*h.item]...)
		}
	}
	return out
}
