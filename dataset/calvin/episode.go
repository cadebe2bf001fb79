package calvin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Episode reads the numbers in an episode. Images are read when they are needed. Missing and broken frames, and samples that differ
// in type or shape from the array's other samples, are counted in Notes; with Strict they are a *dataset.FormatError. If no frame
// is left, the error is also a *dataset.FormatError.
func (s *Set) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard("calvin", s.path, &err)()
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	if i < 0 || i >= len(s.episodes) {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: len(s.episodes)}
	}
	at := s.episodes[i]
	r := row{at.first, at.last}
	if !r.valid() {
		return nil, formatError(dataset.ErrCorrupt, at.split.dir, at.name, fmt.Sprintf("frames from %d to %d", r.first, r.last), "the first and the last")
	}
	b := &builder{set: s, at: at, episode: &dataset.Episode{Name: at.name}}
	if err := b.build(ctx, r); err != nil {
		return nil, err
	}
	return b.episode, nil
}

// builder makes an episode.
type builder struct {
	set     *Set
	at      place
	episode *dataset.Episode
	ids     []int64 // numbers of the frames in the episode, including the broken ones
	lost    map[int]bool
	all     []int64 // the times of all frames that are whole
}

func (b *builder) build(ctx context.Context, r row) error {
	p := b.at.split
	b.ids = p.between(r)
	if missing := r.last - r.first + 1 - int64(len(b.ids)); missing > 0 {
		first := formatError(dataset.ErrNotFound, p.path(firstGap(r, b.ids)), "frame", "no file", "one of each frame from "+frameName(r.first)+" to "+frameName(r.last))
		if len(b.ids) == 0 || b.set.strict {
			return first
		}
		b.episode.Notes = dataset.Notes{{Code: dataset.CodeFrameMissing, Count: int(missing), Detail: dataset.Detail{Cause: first}}}
	}
	t, err := p.read(ctx, b.ids, b.set.strict)
	if err != nil {
		return err
	}
	if len(t.lost) == len(b.ids) {
		return t.damage[0].Cause
	}
	b.episode.Notes = append(b.episode.Notes, t.damage...)
	b.lost = make(map[int]bool, len(t.lost))
	for _, row := range t.lost {
		b.lost[row] = true
	}
	whole := make([]int, 0, len(b.ids)-len(t.lost))
	kept := make([]int64, 0, cap(whole))
	for row, n := range b.ids {
		if !b.lost[row] {
			whole, kept = append(whole, row), append(kept, n)
		}
	}
	b.episode.Frames = len(whole)
	if b.all, err = b.clock(whole); err != nil {
		return err
	}
	for _, s := range t.series {
		if err := b.add(s); err != nil {
			return err
		}
	}
	a := &b.episode.Attributes
	a.Source = p.dir
	a.Other = map[string]string{"split": p.name, "first_frame": strconv.FormatInt(r.first, 10), "last_frame": strconv.FormatInt(r.last, 10)}
	if scene := p.sceneOf(r); scene != "" {
		a.Other["scene"] = scene
	}
	p.describe(a, b.episode, b.at, kept)
	return nil
}

// clock returns the times of some of the frames.
func (b *builder) clock(rows []int) ([]int64, error) {
	if b.all != nil && len(rows) == len(b.all) {
		return b.all, nil
	}
	steps := make([]int, len(rows))
	for i, row := range rows {
		steps[i] = int(b.ids[row] - b.at.first)
	}
	return dataset.StepTimesOf(steps, b.set.info.Rate)
}

// add makes a stream or media from an array. It takes the samples with the most frequent type and shape.
func (b *builder) add(s *series) error {
	var best *variant
	there := 0
	for _, v := range s.variants {
		there += len(v.rows)
		if best == nil || v.isStream() && !best.isStream() || v.isStream() == best.isStream() && len(v.rows) > len(best.rows) {
			best = v
		}
	}
	if lack := b.episode.Frames - there; lack > 0 {
		if err := b.damage(dataset.CodeFrameWithoutArray, s.name, lack, b.without(s), "no array "+s.name, "one, as other frames have"); err != nil {
			return err
		}
	}
	for _, v := range s.variants {
		if v == best {
			continue
		}
		if err := b.damage(dataset.CodeSampleUnlike, s.name, len(v.rows), v.rows[0], s.name+" "+v.String(), best.String()); err != nil {
			return err
		}
	}
	switch {
	case !best.isStream():
		b.leave(s.name, len(best.rows), best.reason.Code, best.reason.Detail)
		return nil
	case isImage(s.name):
		return b.media(s.name, best)
	}
	return b.stream(s.name, best)
}

// String describes the samples.
func (v *variant) String() string {
	switch {
	case !v.isStream():
		return v.reason.Reason()
	case v.size > 0:
		return fmt.Sprintf("%d bytes", v.size)
	}
	return v.like.String()
}

// damage counts frames that differ from the others, or refuses them.
func (b *builder) damage(code dataset.Code, name string, count, row int, got, want string) error {
	bad := formatError(dataset.ErrShape, b.at.split.path(b.ids[row]), "frame", got, want)
	if b.set.strict {
		return bad
	}
	b.episode.Notes = append(b.episode.Notes, dataset.Note{Code: code, Subject: name, Count: count, Detail: dataset.Detail{Cause: bad}})
	return nil
}

// without returns the first frame that lacks an array. There is one.
func (b *builder) without(s *series) int {
	has := make(map[int]bool)
	for _, v := range s.variants {
		for _, row := range v.rows {
			has[row] = true
		}
	}
	row := 0
	for has[row] || b.lost[row] {
		row++
	}
	return row
}

func (b *builder) leave(name string, count int, code dataset.Code, d dataset.Detail) {
	b.episode.Notes = append(b.episode.Notes, dataset.Note{Code: code, Subject: name, Count: count, Detail: d})
}

func (b *builder) stream(name string, v *variant) error {
	width := v.like.Len()
	if width == 0 {
		b.leave(name, len(v.rows), dataset.CodeNoColumns, dataset.Detail{})
		return nil
	}
	times, err := b.clock(v.rows)
	if err != nil {
		return err
	}
	var values *tensor.Tensor
	if v.wide != nil {
		values, err = tensor.Of(v.wide, len(v.rows), width)
	} else {
		values, err = tensor.Of(v.narrow, len(v.rows), width)
	}
	if err != nil {
		return err
	}
	dtype, _ := v.like.DType()
	stream, err := dataset.NewStream(name, times, values, columnsOf(name, width, v.like.Type(), !dtype.IsFloat()))
	if err != nil {
		return err
	}
	stream.Inexact = v.inexact
	b.episode.Streams = append(b.episode.Streams, stream)
	return nil
}
