package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/zarr"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

// Zarr returns the target for datasets in zarr's ReplayBuffer layout, one per shard; see package dataset/zarr. Streams and cameras are arrays
// in data; a slash at the beginning is removed from their names, and other slashes become dots. Whole numbers keep their recorded type
// unless there is a plan. Cameras are uint8 [N,H,W,C]; depth in uint16 or float32 keeps its type. timestamp has each row's time in ns.
// With a plan, NAME.valid marks the rows in which a stream is valid. The rate, and the episodes' names, tasks and success, are attributes.
//
// The first episode defines the arrays and their types. A later episode that lacks one is refused; what only it has is left out.
func Zarr() Target { return toZarr{} }

type toZarr struct{}

func (toZarr) Name() string { return "zarr" }

func (toZarr) Traits() Traits { return Traits{Rows: true, Whole: true, Unmasked: true, Integers: true} }

func (toZarr) Settings() any { return struct{}{} }

func (toZarr) Create(_ context.Context, path string, p Piece) (Writer, error) {
	return &zarrWriter{path: path, rate: p.Rate}, nil
}

// zarrWriter writes a dataset. It begins with the first episode.
type zarrWriter struct {
	path   string
	rate   float64 // the plan's, Hz; 0 without a plan
	w      *zarr.Writer
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

func (z *zarrWriter) Commit(ctx context.Context) error { return z.w.Commit(ctx) }

func (z *zarrWriter) Close() error {
	if z.w == nil {
		return nil
	}
	return z.w.Close()
}

func (z *zarrWriter) Add(ctx context.Context, e *Episode) (kept Kept, err error) {
	kept.Samples = map[string]int{}
	kept.leaveAttributes(e, "zarr", false)
	kept.leaveTexts(e, "zarr")
	for i := range e.Clouds {
		kept.leave(e.Clouds[i].Name, e.Clouds[i].Len(), noPlace("point clouds", "zarr"))
	}
	parts, err := z.parts(ctx, e, &kept)
	if err != nil {
		return kept, err
	}
	if parts, err = z.declare(e, parts, &kept); err != nil {
		return kept, err
	}
	held := kept.undecoded(e.Episode)
	for i := range parts {
		p := &parts[i]
		if p.m != nil {
			err = z.film(ctx, p, held, func() bool { return 2*len(kept.Undecoded[p.name]) <= len(e.Times) })
		} else {
			err = z.w.Append(p.Name, p.data)
		}
		if err != nil {
			return kept, err
		}
		if p.name != "" {
			kept.Samples[p.name] = len(e.Times)
		}
	}
	return kept, z.w.EndEpisode(e.Name, e.Attributes.Task, e.Attributes.Success)
}

// parts returns an episode's arrays, with its streams' numbers.
func (z *zarrWriter) parts(ctx context.Context, e *Episode, kept *Kept) (list []zarrPart, err error) {
	if !e.Steps {
		p := zarrPart{Array: zarr.Array{Name: clockArray, DType: "<i8", Unit: "ns"}}
		t, err := tensor.Of(e.Times, len(e.Times))
		if err == nil {
			p.data, err = elementsOf("", t)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	for i := range e.Streams {
		p, err := zarrStream(e, i)
		var refused *RefusedError
		if errors.As(err, &refused) {
			kept.leave(e.Streams[i].Name, e.Streams[i].Len(), dataset.Note{Code: dataset.CodeStreamRefused, Detail: dataset.Detail{Cause: refused.Err}})
			continue
		}
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
		p, why, err := z.camera(ctx, &e.Media[i])
		switch {
		case err != nil:
			return nil, err
		case why.Code != "":
			kept.leave(e.Media[i].Name, e.Media[i].Len(), why)
		default:
			list = append(list, p)
		}
	}
	return list, nil
}

// declare creates the dataset with its first episode's arrays, or checks that another episode has them. It returns the parts to write.
func (z *zarrWriter) declare(e *Episode, parts []zarrPart, kept *Kept) (list []zarrPart, err error) {
	refused := func(array, got, want string) error {
		return &RefusedError{&zarr.Error{Array: array, Kind: dataset.ErrShape, Got: got, Want: want}}
	}
	first := z.w == nil
	if first {
		rate := cmp.Or(z.rate, e.Rate)
		if e.Steps {
			rate = 0
		}
		if z.w, err = zarr.Create(z.path, rate); err != nil {
			return nil, err
		}
		z.arrays = map[string]zarr.Array{}
	}
	written, whole := 0, map[string]bool{}
	for _, p := range parts {
		a, known := z.arrays[p.Name]
		why := dataset.Note{Code: dataset.CodeNotInFirst}
		if first {
			var bad *zarr.Error
			if err := z.w.Declare(p.Array); errors.As(err, &bad) {
				why = dataset.Note{Code: dataset.CodeStreamRefused, Detail: dataset.Detail{Cause: bad}}
			} else if err != nil {
				return nil, err
			} else {
				a, known = p.Array, true
				z.arrays[p.Name] = a
			}
		}
		switch {
		case !known || whole[p.Name]:
			if p.name != "" {
				kept.leave(p.name, len(e.Times), why)
			}
			continue
		case a.DType != p.DType || !slices.Equal(a.Shape, p.Shape) || !slices.Equal(a.Columns, p.Columns):
			return nil, refused(p.Name, fmt.Sprint(p.DType, " ", tensor.FormatShape(p.Shape), " ", p.Columns), fmt.Sprint(a.DType, " ", tensor.FormatShape(a.Shape), " ", a.Columns, ", as in the first episode"))
		}
		if whole[p.Name], list = true, append(list, p); p.name != "" {
			written++
		}
	}
	for name := range z.arrays {
		if !whole[name] {
			return nil, refused(name, "none", "the first episode's array")
		}
	}
	if written == 0 {
		return nil, errors.Join(&RefusedError{&LostError{kept.Notes}}, z.anew())
	}
	return list, nil
}

// anew discards the dataset that a refused first episode began.
func (z *zarrWriter) anew() error {
	err := z.Close()
	z.w, z.arrays = nil, nil
	return err
}

// zarrName returns the array's name for a stream or camera.
func zarrName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
}

// zarrStream returns the array for stream i. If numpy has no type for its values, the error is a *RefusedError.
func zarrStream(e *Episode, i int) (p zarrPart, err error) {
	s := &e.Streams[i]
	p.name, p.Name, p.Columns = s.Name, zarrName(s.Name), s.ColumnNames()
	p.Shape = matrix(p.Columns)
	if plain := slices.Index(p.Columns, strconv.Itoa(len(p.Columns)-1)) == len(p.Columns)-1; p.Shape != nil || plain {
		p.Columns = nil
	}
	if p.Shape == nil {
		p.Shape = []int{len(s.Columns)}
	}
	values, typ := s.Values, ""
	if e.Aligned == nil {
		typ = npy.WholeType(s.Columns)
		if s.Integers != nil && typ != "uint64" {
			typ = "int64"
		}
		if s.Integers != nil {
			values = s.Integers
		}
		if holds, err := npy.HoldsWhole(typ, values); err != nil {
			return p, err
		} else if !holds {
			values, typ = s.Values, ""
		}
	}
	if p.DType, _, _ = npy.WholeDescr(typ); typ == "" {
		p.DType = map[tensor.DType]string{tensor.F16: "<f2", tensor.F32: "<f4", tensor.F64: "<f8"}[values.DType()]
	}
	if p.DType == "" {
		return p, &RefusedError{fmt.Errorf("%v values, want f16, f32 or f64", values.DType())}
	}
	p.data, err = elementsOf(typ, values)
	return p, err
}

// elementsOf returns a tensor's elements, little-endian and row-major, as whole numbers with the type typ unless that is empty.
func elementsOf(typ string, t *tensor.Tensor) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(t.Len() * t.DType().Size())
	if typ == "" {
		err := npy.WriteData(&b, t)
		return b.Bytes(), err
	}
	err := npy.WriteWholeData(&b, typ, t)
	return b.Bytes(), err
}

// matrix returns a row's shape if the columns have the names that dataset.Indices gives to its numbers: [2 3] for "[0][0]" to
// "[1][2]". Otherwise it returns nil.
func matrix(columns []string) (shape []int) {
	if len(columns) == 0 {
		return nil
	}
	last := strings.TrimSuffix(strings.TrimPrefix(columns[len(columns)-1], "["), "]")
	for _, part := range strings.Split(last, "][") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n >= len(columns) {
			return nil
		}
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

// camera returns the array for a camera, or the reason to leave it out. The first good frame has its shape.
func (z *zarrWriter) camera(ctx context.Context, m *dataset.Media) (p zarrPart, why dataset.Note, err error) {
	p.name, p.Name, p.m = m.Name, zarrName(m.Name), m
	switch {
	case !m.Decodes():
		return p, dataset.Note{Code: dataset.CodeFramesUndecoded, Detail: dataset.Detail{Got: strconv.Quote(m.Encoding)}}, nil
	case wide(m.Encoding):
		p.DType = map[string]string{"16UC1": "<u2", "mono16": "<u2", "32FC1": "<f4"}[m.Encoding]
		if p.Shape = []int{m.Height, m.Width, 1}; p.DType == "" {
			why = dataset.Note{Code: dataset.CodeDeepPixels, Detail: dataset.Detail{Want: "zarr"}}
		}
		return p, why, nil
	}
	if why = undecoded(ctx, m); why.Code != "" {
		return p, why, nil
	}
	p.DType = "|u1"
	if a, known := z.arrays[p.Name]; known && a.DType == p.DType {
		p.Shape = a.Shape // frames with another size are damage
		return p, why, nil
	}
	for t, bad := range zarrFrames(ctx, m) {
		if err = bad; err == nil {
			p.Shape = t.Shape()
			break
		}
		if !damaged(err) {
			break
		}
	}
	return p, why, err
}

// zarrFrames decodes a camera's frames in order, several at a time if they do not depend on each other.
func zarrFrames(ctx context.Context, m *dataset.Media) iter.Seq2[*tensor.Tensor, error] {
	if p, picked := m.Source.(*Picked); m.IsVideo() || picked && p.Recorded.IsVideo() {
		return m.DecodeRange(ctx, 0, m.Len())
	}
	type frame struct {
		t   *tensor.Tensor
		err error
	}
	return func(yield func(*tensor.Tensor, error) bool) {
		n := runtime.GOMAXPROCS(0)
		for _, f := range inorder.Each(ctx, m.Len(), n, n, func(frame) int { return n }, func(ctx context.Context, i int) (f frame) {
			f.t, f.err = m.Decode(ctx, i)
			return f
		}) {
			if !yield(f.t, f.err) {
				return
			}
		}
	}
}

// film writes a camera's frames. A damaged frame, or one with another size, shows the frame before it, or else the first good one; held
// counts it, and goOn reports whether the limit still holds.
func (z *zarrWriter) film(ctx context.Context, p *zarrPart, held func(string, int, error), goOn func() bool) error {
	var good []byte
	row, early := 0, 0
	write := func(data []byte, err error) error {
		if err != nil {
			if !damaged(err) {
				return err
			}
			if held(p.name, row, err); !goOn() {
				return err
			}
			data = good
		}
		row++
		if data == nil {
			early++
			return nil
		}
		for good = data; early > 0; early-- {
			if err := z.w.Append(p.Name, data); err != nil {
				return err
			}
		}
		return z.w.Append(p.Name, data)
	}
	size, _ := tensor.NumElements(p.Shape...)
	if p.DType != "|u1" { // depth is written as it was recorded
		for i := range p.m.Len() {
			data, err := p.m.Frame(ctx, i)
			if want := size * map[string]int{"<u2": 2, "<f4": 4}[p.DType]; err == nil && len(data) != want {
				err = p.unlike(i, fmt.Sprintf("%d bytes", len(data)), strconv.Itoa(want))
			}
			if err := write(data, err); err != nil {
				return err
			}
		}
		return nil
	}
	var last error
	for t, err := range zarrFrames(ctx, p.m) {
		var data []byte
		if err == nil && !slices.Equal(t.Shape(), p.Shape) {
			err = p.unlike(row, tensor.FormatShape(t.Shape()), tensor.FormatShape(p.Shape))
		}
		if err == nil {
			data, err = tensor.Packed[uint8](t)
		}
		last = cmp.Or(err, last)
		if err := write(data, err); err != nil {
			return err
		}
	}
	for row < p.m.Len() { // a decoder that ended, with an error as a rule
		if err := write(nil, cmp.Or[error](last, ctx.Err(), p.unlike(row, "none", "a frame"))); err != nil {
			return err
		}
	}
	return nil
}

// unlike returns the damage for a frame that has no place in the array.
func (p *zarrPart) unlike(row int, got, want string) error {
	return &dataset.FormatError{Format: "zarr", Offset: -1, Kind: dataset.ErrShape, Msg: fmt.Sprintf("frame %d of %s", row, p.name), Got: got, Want: want}
}
