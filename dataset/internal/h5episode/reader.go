package h5episode

import (
	"context"
	"errors"
	"fmt"
	"math"
	gopath "path"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// Reader makes a group's datasets into an episode.
type Reader struct {
	*dataset.Episode
	// Declared is the declared number of steps; it is used if there are no actions.
	Declared *int
	// Omit returns the code for a dataset that is always left out; "" for others.
	Omit func(path string) dataset.Code

	set     *Set
	items   []item
	steps   int
	acted   bool  // the steps come from actions, so data may have one row more: the observation after the last step
	room    int64 // bytes that may yet be taken
	clocks  []*clock
	start   int64              // ns, of the earliest clock; 0 if there is none
	rates   map[string]float64 // Hz, by the path of what states them; "." is the episode
	longest map[string]int     // the most rows of a dataset, by group
	times   map[pace]*tensor.Tensor
}

// Attributes reads an object's attributes about the episode. A broken one loses only itself.
func (r *Reader) Attributes(o hdf5.Object) (Said, error) {
	return saidOf(o, &r.room, func(name string, err error) error {
		return r.cost("attribute "+name, dataset.CodeAttributeBroken, err)
	})
}

// cost leaves out data that cannot be read, unless Strict refuses it. Errors that do not come from the file's content are returned.
func (r *Reader) cost(name string, damage dataset.Code, err error) error {
	bad, broken := dataset.AsBroken(err)
	code := dataset.CodeUnsupported
	switch {
	case broken && r.set.strict:
		return err
	case broken:
		code = dataset.CodeBroken
		r.Notes.AddDamage(damage, 0, bad)
	case !errors.Is(err, dataset.ErrUnsupported):
		return err
	}
	r.leave(name, 0, code, dataset.Detail{Cause: err})
	return nil
}

func (r *Reader) leave(name string, count int, code dataset.Code, d dataset.Detail) {
	r.Notes = append(r.Notes, dataset.Note{Code: code, Subject: name, Count: count, Detail: d})
}

// item is a dataset of the episode.
type item struct {
	path  string
	d     *hdf5.Dataset
	clock *clock // the clock, if it is one; nil otherwise
}

// read reads all datasets of a group.
func (r *Reader) read(ctx context.Context, group *hdf5.Group) error {
	var links []string
	met := map[string]bool{}
	note := func(path string, g *hdf5.Group) error {
		for _, name := range g.Names() {
			links = append(links, path+name)
		}
		if err := g.Lost(); err != nil {
			return r.cost(path, dataset.CodeArrayBroken, err)
		}
		return nil
	}
	if err := note("", group); err != nil {
		return err
	}
	err := group.Walk(func(path string, o hdf5.Object, err error) error {
		path = strings.TrimPrefix(strings.TrimPrefix(path, group.Path()), "/")
		met[path] = true
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.take("names of objects", len(path), 4); err != nil { // they are kept here, and repeated in errors
			return err
		}
		if err != nil {
			return r.cost(path, dataset.CodeArrayBroken, err)
		}
		said, err := r.Attributes(o)
		if err != nil {
			return err
		}
		for name, text := range said {
			if err := r.take("names of attributes", len(path)+len(name), 1); err != nil {
				return err
			}
			r.Episode.Attributes.Other[path+"/"+name] = text
		}
		r.rates[path] = RateOf(said)
		switch d := o.(type) {
		case *hdf5.Dataset:
			if r.Omit != nil {
				if code := r.Omit(path); code != "" {
					r.leave(path, d.Len(), code, dataset.Detail{})
					return nil
				}
			}
			r.items = append(r.items, item{path: path, d: d})
			group := gopath.Dir(path)
			r.longest[group] = max(r.longest[group], d.Len())
		case *hdf5.Group:
			return note(path+"/", d)
		case *hdf5.NamedType:
			r.leave(path, 0, dataset.CodeValueType, dataset.Detail{Got: "a named type, which has none"})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range links {
		if !met[name] {
			r.leave(name, 0, dataset.CodeAlias, dataset.Detail{})
		}
	}
	r.rates["."] = RateOf(Said(r.Episode.Attributes.Other))
	if r.set.About.RateFrom == "caller" {
		r.rates["."] = 0
	}
	if err := r.count(); err != nil {
		return err
	}
	if err := r.findClocks(); err != nil {
		return err
	}
	for _, late := range []bool{false, true} { // clocks are data if no data has them
		for _, it := range r.items {
			if (it.clock != nil) != late || late && it.clock.used {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.add(it.path, it.d); err != nil {
				if err := r.cost(it.path, dataset.CodeArrayBroken, err); err != nil {
					return err
				}
			}
		}
	}
	other := slices.ContainsFunc(r.Streams, func(s dataset.Stream) bool { return !r.inStep(s.Len()) })
	if len(r.Streams)+len(r.Media) > 0 && !other {
		r.Frames = r.steps // else nothing bears it out
	}
	return nil
}

// count finds the number of steps: the rows of actions, or the declared number if a dataset has as many rows, or the most frequent
// number of rows.
func (r *Reader) count() error {
	rows := map[int]int{}
	for _, it := range r.items {
		if len(it.d.Shape()) > 0 {
			rows[it.d.Len()]++
		}
	}
	depth := math.MaxInt
	for _, it := range r.items {
		name := "/" + it.path + "/"
		if n := strings.Count(name, "/"); n < depth && len(it.d.Shape()) > 0 && (strings.Contains(name, "/action/") || strings.Contains(name, "/actions/")) {
			r.steps, r.acted, depth = it.d.Len(), true, n
		}
	}
	switch {
	case r.acted:
	case r.Declared != nil && (rows[*r.Declared] > 0 || len(rows) == 0 && *r.Declared == 0):
		r.steps = *r.Declared
	default:
		for n, count := range rows {
			if best := rows[r.steps]; count > best || count == best && n > r.steps {
				r.steps = n
			}
		}
	}
	if r.Declared == nil || *r.Declared == r.steps {
		return nil
	}
	return r.cost("attribute num_samples", dataset.CodeAttributeBroken, &dataset.FormatError{
		Format: r.set.layout.Format, Path: r.set.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: r.Name + ": num_samples", Got: fmt.Sprint(*r.Declared),
		Want: fmt.Sprintf("%d, the rows of its datasets", r.steps),
	})
}

// add makes a dataset a stream or media, or leaves it out.
func (r *Reader) add(path string, d *hdf5.Dataset) error {
	shape, kind := d.Shape(), d.Type().Kind
	if len(shape) == 0 {
		r.leave(path, 1, dataset.CodeSingleValue, dataset.Detail{})
		return nil
	}
	n := shape[0]
	dtype, numbers := d.Type().DType()
	_, dims := d.Type().Flat()
	if numbers {
		shape = append(shape, dims...)
	}
	bytes := numbers && dtype == tensor.U8 && kind == hdf5.Uint
	p, why := r.paceOf(path, n)
	if why.Code != "" {
		r.leave(path, n, why.Code, why.Detail)
		return nil
	}
	switch {
	case bytes && len(shape) == 4 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4):
		if min(shape[1], shape[2]) == 0 {
			r.leave(path, n, dataset.CodeEmptyImages, dataset.Detail{})
			return nil
		}
		return r.images(path, d, p)
	case len(shape) == 1 && (kind == hdf5.String || kind == hdf5.Sequence || kind == hdf5.Opaque), bytes && len(shape) == 2:
		if done, err := r.encoded(path, d, p); done || err != nil {
			return err
		}
		if bytes && strings.Contains("/"+path, "/images/") {
			r.leave(path, n, dataset.CodeNotImages, dataset.Detail{})
			return nil
		}
	case kind == hdf5.Compound && len(shape) == 1:
		return r.records(path, d, p)
	}
	width, err := tensor.NumElements(shape[1:]...)
	switch {
	case !numbers:
		r.leave(path, n, dataset.CodeValueType, dataset.Detail{Got: d.Type().String()})
	case len(shape) > 2 && (err != nil || width > maxMatrix):
		r.leave(path, n, dataset.CodeValueShape, dataset.Detail{Got: tensor.FormatShape(shape),
			Want: fmt.Sprintf("[T,D], at most %d numbers a row of more dimensions, or images [T,H,W,C] of bytes", maxMatrix)})
	case width == 0:
		r.leave(path, n, dataset.CodeNoColumns, dataset.Detail{})
	default:
		return r.numbers(path, d, p, shape, width)
	}
	return err
}

// take counts n elements with a size in bytes before memory is allocated for them.
func (r *Reader) take(path string, n, bytes int) error {
	if int64(n) > r.room/int64(bytes) {
		return &dataset.FormatError{Format: r.set.layout.Format, Path: r.set.path, Offset: -1, Kind: dataset.ErrTooLarge, Msg: r.Name + ": " + path,
			Got: fmt.Sprintf("%d elements of %d bytes", n, bytes), Want: fmt.Sprintf("at most the %d bytes that are left of what the file could hold", r.room)}
	}
	r.room -= int64(n) * int64(bytes)
	return nil
}

// maxMatrix is how many numbers a row of more than two dimensions may have, which has a column for each.
const maxMatrix = 1024

// numbers makes numbers of a shape [T], [T,D] or [T,H,W] a stream. Whole numbers become f32 where that holds their type exactly, else f64.
func (r *Reader) numbers(path string, d *hdf5.Dataset, p pace, shape []int, width int) error {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return err
	}
	if err := r.take(path, n, max(8, d.Type().Size)); err != nil {
		return err
	}
	times, err := r.clock(path, p)
	if err != nil {
		return err
	}
	values, err := d.Rows(0, times.Len())
	if err != nil {
		return err
	}
	base, _ := d.Type().Flat()
	whole := !values.DType().IsFloat()
	values, inexact, err := dataset.Numbers(values, 8*base.Size)
	if err != nil {
		return err
	}
	if values, err = values.Reshape(times.Len(), width); err != nil {
		return err
	}
	if err := r.take(path, width, 64); err != nil { // a dataset without rows may declare any number of columns
		return err
	}
	names := columnNames(d, width)
	columns := make([]dataset.Column, width)
	for i := range columns {
		columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: base.String(), Integer: whole}
		if names != nil {
			columns[i].Name = names[i]
		} else if len(shape) > 2 {
			columns[i].Name = dataset.Indices(i, shape[1:])
		}
	}
	return r.stream(dataset.Stream{Name: path, Times: times, Values: values, Columns: columns, Inexact: inexact})
}

func (r *Reader) stream(s dataset.Stream) error {
	err := s.Check()
	if err == nil {
		r.Streams = append(r.Streams, s)
	}
	return err
}

// columnNames returns a dataset's column names from the usual attributes; nil if there are none.
func columnNames(d *hdf5.Dataset, width int) []string {
	list, err := d.Attrs()
	if err != nil {
		return nil
	}
	for _, a := range list {
		if a.Len() != width || len(a.Shape()) != 1 || !slices.Contains([]string{"names", "columns", "column_names", "joint_names", "labels"}, a.Name) {
			continue
		}
		names, err := a.ReadStrings()
		if err == nil && len(names) == width && !slices.Contains(names, "") && distinct(names) {
			return names
		}
	}
	return nil
}

func distinct(names []string) bool {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		seen[name] = true
	}
	return len(seen) == len(names)
}
