package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// packer appends episodes to packed streams.
type packer struct {
	pool
	as       tensor.DType
	strict   bool
	only     []string
	columns  map[string][]string // as BuildOptions.Columns
	refused  map[string]error    // streams that have not had these so far, with the error of the first
	at       map[string]int
	packed   []packing
	episodes []Episode
	seen     []string // streams that there are and that nobody asked for, too

	cameras   []string // as BuildOptions.Media
	media     []packingMedia
	seenMedia []string
	foreseen  map[string]int64  // bytes that the frames of each may have in the end
	large     func(bytes int64) // as BuildOptions.Large; nil once it was told
}

// packing is a packed stream of which episodes are still to come.
type packing struct {
	Stream
	values floats
	times  *list[int64]
}

// add appends an episode.
func (p *packer) add(ctx context.Context, number int, e *dataset.Episode, splits []string) error {
	out := Episode{Name: e.Name, Number: number, Task: e.Attributes.Task, Success: e.Attributes.Success, Splits: splits, Frames: e.Frames,
		Rotation: e.Rotation, Dropouts: e.Dropouts, Notes: e.Notes.Of(dataset.ClassLeftOut)}
	others := e.Notes.Of(dataset.ClassDamage, dataset.ClassRemark)
	if len(p.only) > 0 {
		others = others.About(slices.Concat(p.only, p.cameras))
	}
	out.Notes = append(out.Notes, others...)
	leave := func(n dataset.Note, name string, count int) {
		n.Subject, n.Count = name, cmp.Or(n.Count, count)
		out.Notes = append(out.Notes, n)
	}
	for _, s := range e.Empty {
		empty := EmptyStream{Name: s.Name, Columns: s.Columns}
		if s.DType != 0 {
			empty.DType = s.DType.String()
		}
		out.Empty = append(out.Empty, empty)
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if !slices.Contains(p.seen, s.Name) {
			p.seen = append(p.seen, s.Name)
		}
		if len(p.only) > 0 && !slices.Contains(p.only, s.Name) {
			continue
		}
		if err := s.Check(); err != nil {
			leave(dataset.Note{Code: dataset.CodeInvalidStream, Detail: dataset.Detail{Cause: err}}, s.Name, s.Len())
			continue
		}
		if e.Steps {
			leave(dataset.Note{Code: dataset.CodeStepTimes}, s.Name, s.Len())
			continue
		}
		if why, err := p.stream(&out, s); err != nil {
			return err
		} else if why.Code != "" {
			leave(why, s.Name, s.Len())
		}
	}
	if err := p.addMedia(ctx, e, leave); err != nil {
		return err
	}
	for i := range e.Clouds {
		leave(dataset.Note{Code: dataset.CodeCloudsNotPacked}, e.Clouds[i].Name, e.Clouds[i].Len())
	}
	p.episodes = append(p.episodes, out)
	for m := range p.packed { // those that had no samples too
		g := &p.packed[m]
		g.Offsets = endAt(g.Offsets, len(p.episodes), g.times.len())
	}
	for m := range p.media {
		g := &p.media[m]
		g.Offsets = endAt(g.Offsets, len(p.episodes), g.times.len())
	}
	return nil
}

// endAt notes where the samples of so many episodes end. Those of episodes that have none are where others end.
func endAt(offsets []int64, episodes, end int) []int64 {
	for len(offsets) <= episodes {
		offsets = append(offsets, offsets[len(offsets)-1])
	}
	offsets[episodes] = int64(end)
	return offsets
}

// stream appends the samples of a stream, or returns a note that explains why not.
func (p *packer) stream(e *Episode, s *dataset.Stream) (why dataset.Note, err error) {
	if s.Times.DType() != tensor.I64 { // a time that is none has no place among nanoseconds
		sec, err := tensor.Floats(s.Times)
		if err != nil {
			return why, err
		}
		if i := slices.IndexFunc(sec, func(v float64) bool { return !(math.Abs(v) <= 1<<62/1e9) }); i >= 0 {
			return dataset.Note{Code: dataset.CodeTimeRefused, Row: dataset.At(i), Detail: dataset.Detail{Got: fmt.Sprint(sec[i])}}, nil
		}
	}
	at, there := p.at[s.Name]
	if !there && slices.ContainsFunc(p.media, func(m packingMedia) bool { return m.Name == s.Name }) {
		return nameOfMedia, nil
	}
	asked := p.columns[s.Name]
	if !there {
		columns, err := wanted(s, asked)
		if err != nil {
			if p.refused[s.Name] == nil {
				p.refused[s.Name] = err
			}
			text := strings.TrimPrefix(err.Error(), "stream "+s.Name+": ") // the note has the name
			return dataset.Note{Code: dataset.CodeColumnsRefused, Detail: dataset.Detail{Cause: errors.New(text)}}, nil
		}
		at = len(p.packed)
		p.at[s.Name] = at
		p.packed = append(p.packed, packing{
			Stream: Stream{Name: s.Name, Columns: columns, Offsets: make([]int64, len(p.episodes)+1)},
			values: newFloats(&p.pool, p.as), times: growing(&p.pool, &list[int64]{}),
		})
	}
	g := &p.packed[at]
	f, why := fit(g.Columns, s.Columns, len(asked) > 0)
	if why.Code != "" {
		return why, nil
	}
	e.differ(s.Name, f.differs)
	values, err := f.of(s.Values)
	if err != nil {
		return why, err
	}
	rounded, overflowed, err := g.values.floats(&p.pool, values)
	if err != nil {
		return why, err
	}
	g.Rounded += rounded
	g.Overflowed += overflowed
	g.Inexact += s.Inexact
	return why, g.times.add(&p.pool, s.Nanoseconds())
}

// streams returns the packed streams, when no more episodes come. Their tensors are nil unless all is in memory.
func (p *packer) streams() ([]Stream, error) {
	all := make([]Stream, len(p.packed))
	for m := range p.packed {
		g := &p.packed[m]
		all[m] = g.Stream
		if p.path != "" {
			continue
		}
		var err error
		if all[m].Values, err = g.values.tensor(g.times.len(), len(g.Columns)); err != nil {
			return nil, err
		}
		if all[m].Times, err = g.times.tensor(g.times.len()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// saved returns the packed tensors, when no more episodes come. Their elements are written as long as ctx lasts.
func (p *packer) saved(ctx context.Context) []saved {
	var all []saved
	grown := func(name string, c column, shape ...int) {
		all = append(all, saved{name, c.dtype(), shape, func(w io.Writer) error { return c.write(&p.pool, whileWanted{ctx, w}) }})
	}
	for m := range p.packed {
		g := &p.packed[m]
		n := g.times.len()
		grown(g.Name+".values", g.values, n, len(g.Columns))
		grown(g.Name+".times", g.times, n)
		all = append(all, savedInts(g.Name+".offsets", g.Offsets))
	}
	for m := range p.media {
		g := &p.media[m]
		grown(g.Name+".frames", g.frames, g.frames.len())
		grown(g.Name+".frame_offsets", g.ends, g.ends.len())
		grown(g.Name+".times", g.times, g.times.len())
		all = append(all, savedInts(g.Name+".offsets", g.Offsets))
	}
	return all
}

// listed writes a few names in brackets.
func listed(names []string) string { return "[" + text.List(names, 12) + "]" }
