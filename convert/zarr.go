package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/zarr"
	"github.com/robocache/robocache/tensor"
)

// Zarr returns the target for datasets in zarr's ReplayBuffer layout, one per shard; see package dataset/zarr. Streams and cameras are arrays
// in data; a slash at the beginning is removed from their names, and other slashes become dots. Whole numbers keep their recorded type
// unless there is a plan. Cameras are uint8 [N,H,W,C]; depth in uint16 or float32 keeps its type. timestamp has each row's time in ns.
// With a plan, NAME.valid marks the rows in which a stream is valid. The rate, and the episodes' names, tasks and success, are attributes.
//
// The first episode defines the arrays and their types. A later episode that lacks one is refused; its other streams are left out.
func Zarr() Target { return toZarr{} }

type toZarr struct{}

func (toZarr) Name() string { return "zarr" }

func (toZarr) Traits() Traits { return Traits{Rows: true, Whole: true, Unmasked: true, Integers: true} }

func (toZarr) Settings() any { return struct{}{} }

func (toZarr) Create(_ context.Context, path string, p Piece) (Writer, error) {
	w, err := zarr.Create(path)
	if err != nil {
		return nil, err
	}
	return &zarrWriter{w, p.Inputs, p.Rate, map[string]zarr.Array{}}, nil
}

type zarrWriter struct {
	*zarr.Writer
	inputs []dataset.Info
	rate   float64               // the plan's, Hz; 0 without a plan
	arrays map[string]zarr.Array // the first episode's
}

// clockArray is the array with the rows' times.
const clockArray = "timestamp"

// zarrPart is a stream or camera, and its array.
type zarrPart struct {
	zarr.Array
	name string // in the episode; empty for times and masks
	data []byte // a stream's numbers
	m    *dataset.Media
}

func (z *zarrWriter) Add(ctx context.Context, e *Episode) (kept Kept, err error) {
	kept.Samples = map[string]int{}
	kept.leaveAttributes(e, "zarr", false)
	kept.leaveTexts(e, "zarr")
	for i := range e.Clouds {
		kept.leave(e.Clouds[i].Name, e.Clouds[i].Len(), noPlace("point clouds", "zarr"))
	}
	parts, err := z.parts(ctx, e, &kept)
	if err == nil {
		parts, err = z.declare(e, parts, &kept)
	}
	if err != nil {
		return kept, err
	}
	held := kept.undecoded(e.Episode)
	for i := range parts {
		p := &parts[i]
		if p.m == nil {
			err = z.Append(p.Name, p.data)
		} else {
			err = z.film(ctx, p, held)
		}
		if err != nil {
			return kept, err
		}
		if p.name != "" {
			kept.Samples[p.name] = len(e.Times)
		}
	}
	return kept, z.EndEpisode(e.Name, e.Attributes.Task, e.Attributes.Success)
}

// parts returns an episode's arrays, with its streams' numbers. Those without a name are the last, or after their stream.
func (z *zarrWriter) parts(ctx context.Context, e *Episode, kept *Kept) (list []zarrPart, err error) {
	for i := range e.Streams {
		p, err := zarrStream(e, i, z.inputs[e.Input].Features)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		if e.Aligned != nil {
			mask := zarrPart{Array: zarr.Array{Name: p.Name + ".valid", DType: "|b1", MaskOf: p.Name}}
			if mask.data, err = tensor.Data[uint8](e.Aligned.Streams[i].Valid); err != nil {
				return nil, err
			}
			list = append(list, mask)
		}
	}
	for i := range e.Media {
		m := &e.Media[i]
		why := undecoded(ctx, m)
		if !m.Decodes() {
			why = dataset.Note{Code: dataset.CodeFramesUndecoded, Detail: dataset.Detail{Got: strconv.Quote(m.Encoding)}}
		}
		if why.Code != "" {
			kept.leave(m.Name, m.Len(), why)
			continue
		}
		p, err := z.camera(ctx, m)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if !e.Steps {
		p := zarrPart{Array: zarr.Array{Name: clockArray, DType: "<i8", Unit: "ns"}}
		p.data, err = binary.Append(nil, binary.LittleEndian, e.Times)
		list = append(list, p)
	}
	return list, err
}

// declare declares the first episode's arrays, or checks that another episode has them. It returns the parts to write.
func (z *zarrWriter) declare(e *Episode, parts []zarrPart, kept *Kept) (list []zarrPart, err error) {
	first, written := len(z.arrays) == 0, map[string]bool{}
	if first && !e.Steps {
		z.Rate = cmp.Or(z.rate, e.Rate)
	}
	for _, p := range parts {
		why := dataset.Note{Code: dataset.CodeNotInFirst}
		if first && (p.name != "" || len(list) > 0 && (p.MaskOf == "" || written[p.MaskOf])) {
			if bad := z.Declare(p.Array); bad != nil {
				why = dataset.Note{Code: dataset.CodeStreamRefused, Detail: dataset.Detail{Cause: bad}}
			} else {
				z.arrays[p.Name] = p.Array
			}
		}
		a, known := z.arrays[p.Name]
		if got, want := fmt.Sprint(p.Array), fmt.Sprint(a); known && !written[p.Name] && got != want {
			return nil, &RefusedError{&dataset.StreamError{Stream: p.Name, Arg: "Values", Got: got, Want: want + ", as in the first episode"}}
		}
		if known && !written[p.Name] {
			list, written[p.Name] = append(list, p), true
		} else if p.name != "" {
			kept.leave(p.name, len(e.Times), why)
		}
	}
	for name := range z.arrays {
		if !written[name] {
			return nil, &RefusedError{&dataset.StreamError{Stream: name, Arg: "Values", Got: "none", Want: "the first episode's array"}}
		}
	}
	if len(list) == 0 {
		err = &RefusedError{&LostError{kept.Notes}}
	}
	return list, err
}

// zarrName returns the array's name for a stream or camera.
func zarrName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
}

// zarrStream returns the array for stream i. It has no type if numpy has none for its values.
func zarrStream(e *Episode, i int, declared []dataset.Feature) (p zarrPart, err error) {
	s := &e.Streams[i]
	p.name, p.Name, p.Shape = s.Name, zarrName(s.Name), e.rowShape(s, declared)
	for i, c := range s.Columns {
		if c.Name != zarr.ColumnName(i, p.Shape) {
			p.Columns = s.ColumnNames()
		}
	}
	values, typ := s.Values, ""
	if e.Aligned == nil {
		if values, typ, err = wholeValues(s); err != nil {
			return p, err
		}
	}
	if p.DType = numpyType(typ, values.DType()); p.DType != "" {
		var b bytes.Buffer
		err = writeElements(&b, typ, values)
		p.data = b.Bytes()
	}
	return p, err
}

// numpyType returns numpy's name for whole numbers of a type, or else for a dtype.
func numpyType(typ string, dtype tensor.DType) string {
	if descr, _, whole := npy.WholeDescr(typ); whole {
		return descr
	}
	return map[tensor.DType]string{tensor.F16: "<f2", tensor.F32: "<f4", tensor.F64: "<f8", tensor.U8: "|u1"}[dtype]
}

// writeElements writes a tensor's elements, little-endian and row-major, as whole numbers with the type typ unless that is empty.
func writeElements(b *bytes.Buffer, typ string, t *tensor.Tensor) error {
	if typ == "" {
		return npy.WriteData(b, t)
	}
	return npy.WriteWholeData(b, typ, t)
}

// rowShape returns a row's shape: by the columns' names, or by the input's feature, or else [D]. It is empty for a number.
func (e *Episode) rowShape(s *dataset.Stream, declared []dataset.Feature) []int {
	if shape := matrix(s.ColumnNames()); shape != nil {
		return shape
	}
	for _, d := range declared {
		n, err := tensor.NumElements(d.Shape...)
		if d.Name == cmp.Or(e.renamed[s.Name], s.Name) && !d.Media && err == nil && n == len(s.Columns) {
			return d.Shape
		}
	}
	return []int{len(s.Columns)}
}

// matrix returns a row's shape if the columns have the names that dataset.Indices gives to its numbers: [2 3] for "[0][0]" to
// "[1][2]". Otherwise it returns nil.
func matrix(columns []string) (shape []int) {
	if len(columns) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(columns[len(columns)-1], "[]"), "][") {
		n, _ := strconv.Atoi(part) // other names differ below
		shape = append(shape, n+1)
	}
	if n, err := tensor.NumElements(shape...); err != nil || n != len(columns) || len(shape) < 2 {
		return nil
	}
	for i, name := range columns {
		if name != dataset.Indices(i, shape) {
			return nil
		}
	}
	return shape
}

// wholePixels are the types of pixels that are decoded to float32 and are whole numbers.
var wholePixels = map[string]string{"16UC1": "uint16", "mono16": "uint16", "16SC1": "int16"}

// camera returns the array for a camera. The first good frame has its shape.
func (z *zarrWriter) camera(ctx context.Context, m *dataset.Media) (p zarrPart, err error) {
	p.name, p.Name, p.m = m.Name, zarrName(m.Name), m
	dtype := tensor.U8
	if m.Encoding == "32FC1" {
		dtype = tensor.F32
	}
	p.DType = numpyType(wholePixels[m.Encoding], dtype)
	if a, known := z.arrays[p.Name]; known {
		p.Shape = a.Shape // frames with another size are damage
		return p, nil
	}
	for t, err := range m.DecodeRange(ctx, 0, m.Len()) {
		if err == nil {
			p.Shape = t.Shape()
		}
		if err == nil || !damaged(err) {
			return p, err
		}
	}
	return p, nil
}

// film writes a camera's frames. A frame with another size is damage.
func (z *zarrWriter) film(ctx context.Context, p *zarrPart, held func(media string, row int, err error) error) error {
	next, stop := iter.Pull2(p.m.DecodeRange(ctx, 0, p.m.Len()))
	defer stop()
	frame := decoded(p.m, next, func(b *bytes.Buffer, t *tensor.Tensor) error {
		if !slices.Equal(t.Shape(), p.Shape) {
			return &dataset.FormatError{Format: "zarr", Offset: -1, Kind: dataset.ErrShape, Msg: "frame of " + p.name,
				Got: tensor.FormatShape(t.Shape()), Want: tensor.FormatShape(p.Shape)}
		}
		return writeElements(b, wholePixels[p.m.Encoding], t)
	})
	return film(ctx, p.m, frame, nil, held, func(data []byte) error { return z.Append(p.Name, data) })
}
