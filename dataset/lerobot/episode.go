package lerobot

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// Episode reads the numbers in episode i. Its frames are read when they are needed. A broken column loses only itself, and Notes
// counts it. If no column can be read, the result is an error.
func (s *Set) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard("lerobot", s.root, &err)()
	if err := dataset.CheckIndex(ctx, "episode", i, len(s.episodes)); err != nil {
		return nil, err
	}
	of := &s.episodes[i]
	if of.err != nil {
		return nil, of.err
	}
	r := &reader{set: s, of: of, rows: int(of.rows()), e: &dataset.Episode{Name: fmt.Sprintf("%06d", of.number)}}
	defer r.close()
	if r.rows == 0 {
		r.empty()
	} else if err := r.read(ctx); err != nil {
		return nil, err
	}
	if s.opt.TaskFrom != "" {
		r.e.Streams = slices.DeleteFunc(r.e.Streams, func(o dataset.Stream) bool { return o.Name == "task_index" })
		if err := r.e.TakeTask(s.opt.TaskFrom, r.e.TextNames()); err != nil {
			return nil, err
		}
	}
	return r.e, nil
}

// empty adds notes for all features in an episode without rows.
func (r *reader) empty() {
	for i := range r.set.header.features {
		if f := &r.set.header.features[i]; !slices.Contains(layout.Standard, f.Name) {
			r.leave(f.Name, 0, dataset.CodeNoSamples, dataset.Detail{})
			if f.DType != "video" && f.DType != "image" && numeric(f) {
				r.e.Empty = append(r.e.Empty, dataset.EmptyStream{Name: f.Name, Columns: f.columns(f.width, f.DType, false)})
			}
		}
	}
}

func (r *reader) read(ctx context.Context) error {
	r.e.Frames = r.rows
	r.e.Attributes.Source = r.set.path(r.set.files[r.of.runs[0].file])
	r.e.Attributes.Other = map[string]string{"episode_index": strconv.FormatInt(r.of.number, 10)}
	first, err := r.file(r.of.runs[0])
	if err != nil {
		return err
	}
	if err := r.clock(ctx, first); err != nil {
		return err
	}
	if r.shown == nil {
		r.shown = r.times
	}
	if err := r.task(ctx, first); err != nil {
		return err
	}
	for _, name := range r.names(first) {
		if err := r.column(ctx, first, name); err != nil {
			return err
		}
	}
	if !r.good && r.first != nil {
		return r.first
	}
	return nil
}

// names lists the columns that are not bookkeeping: first those with a feature, in feature order.
func (r *reader) names(f *parquet.File) (names []string) {
	for _, feature := range r.set.header.features {
		if f.Column(feature.Name) != nil || feature.DType == "video" {
			names = append(names, feature.Name)
		}
	}
	for _, c := range f.Columns() {
		if r.set.header.feature(c.Name) == nil {
			names = append(names, c.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(layout.Standard, name) })
}

// column reads a column as a stream, media, a task or an attribute.
func (r *reader) column(ctx context.Context, first *parquet.File, name string) error {
	c, f := first.Column(name), r.set.header.feature(name)
	switch {
	case f != nil && f.DType == "video":
		return r.video(ctx, name)
	case c.Kind == parquet.Images, c.Kind == parquet.Texts && c.Rank == 0 && f != nil && f.DType == "image":
		return r.images(ctx, name, f)
	case r.set.opt.Lists && slices.Contains(layout.Language, name):
		v, err := r.values(ctx, name)
		if v != nil {
			r.e.Lists = append(r.e.Lists, dataset.ListStream{Name: name, Times: r.times, Rows: v.Lists})
		}
		return err
	case c.Kind == parquet.Other:
		r.leave(name, r.rows, dataset.CodeValueType, dataset.Detail{Got: c.Type})
		return nil
	}
	v, err := r.values(ctx, name)
	if v == nil || err != nil {
		return err
	}
	if c.Kind == parquet.Texts {
		r.texts(name, v)
		return nil
	}
	return r.stream(name, c, f, v)
}
