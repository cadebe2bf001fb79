package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// mostAhead is how many bytes of numbers Pack has read before they are packed.
const mostAhead = 48 << 20

// Build packs the episodes of a dataset into memory. A stream has the columns of the first episode with it, in that order and of these kinds: others' are
// found by their names. Where one is missing, the stream is left out there, and listed; what else differs is a remark. An episode without any stream
// has its place all the same.
func Build(ctx context.Context, d dataset.Dataset, opt BuildOptions) (*Store, error) {
	p, err := newPacker("", &opt)
	if err != nil {
		return nil, err
	}
	return p.dataset(ctx, d, &opt)
}

// Pack packs the episodes of a dataset into a file, the one that Save writes of what Build gives, byte for byte. The dataset may be larger than
// memory: Pack takes some 100 MB beyond the largest episodes, of which it reads at most opt.Workers at a time, and fewer where they are large. What
// does not fit is written to a file without a name beside path first, so the disk must have room for the store twice. A failure to write, such as a
// full disk, is an *fs.PathError that has the path, and leaves nothing behind; under the name is what was there before. So it is after the end of
// ctx. A dataset without any stream to pack is a *NothingError.
func Pack(ctx context.Context, d dataset.Dataset, path string, opt BuildOptions) error {
	if err := atomicfile.Check(path); err != nil {
		return err
	}
	p, err := newPacker(path, &opt)
	if err != nil {
		return err
	}
	defer p.close()
	s, err := p.dataset(ctx, d, &opt)
	if err != nil {
		return err
	}
	if s.Shard == nil { // else another shard may have them
		if err := s.Any(); err != nil {
			return err
		}
	}
	return s.write(path, p.saved(ctx))
}

// dataset packs the episodes of a dataset.
func (p *packer) dataset(ctx context.Context, d dataset.Dataset, opt *BuildOptions) (*Store, error) {
	readAhead := int64(mostAhead)
	if p.path == "" { // memory has to hold them all
		readAhead = math.MaxInt64
	}
	workers := opt.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	s := &Store{name: d.Name(), format: d.Format(), info: d.Info(), Sources: opt.Sources, Shard: opt.shard}
	splits := s.info.SplitsOf(d.Len())
	guard := func(do func() error) error { return do() }
	if from, ok := d.(*Store); ok {
		guard = from.Guard
	}
	some, err := NewSubset(d, opt.Episodes)
	if err != nil {
		return nil, err
	}
	if s.Shard != nil {
		begin, end := s.Shard.run()
		some.Numbers = some.Numbers[begin:end]
	}
	done := 0
	for e, err := range dataset.ParallelWithin(ctx, some, workers, readAhead) {
		i := some.Numbers[done]
		done++
		if failed := (*dataset.EpisodeError)(nil); errors.As(err, &failed) {
			failed.Episode = i
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err != nil && opt.Strict:
			return nil, err
		case err != nil:
			s.Skipped = append(s.Skipped, skippedNote(i, err))
		default:
			p.ahead = float64(some.Len()) / float64(done)
			if err := guard(func() error { return p.add(ctx, i, e, splits[i]) }); err != nil {
				return nil, err
			}
		}
		if opt.Progress != nil {
			opt.Progress(done, some.Len())
		}
	}
	if ctx.Err() != nil { // after the last that came
		return nil, ctx.Err()
	}
	for _, name := range opt.Streams {
		if _, there := p.at[name]; !there && p.refused[name] != nil {
			return nil, p.refused[name]
		}
		if _, there := p.at[name]; !there && len(p.seen) > 0 && s.Shard == nil { // where there is none at all, Any says why
			return nil, refuse("Streams", fmt.Sprintf("%q, which no episode has", name), "streams of the dataset: "+listed(p.seen))
		}
	}
	for _, name := range opt.Media {
		if name == AllMedia || slices.Contains(p.seenMedia, name) || s.Shard != nil || len(p.episodes) == 0 {
			continue
		}
		if err := p.leftOut(name); err != nil {
			return nil, err
		}
		return nil, UnknownMedia("Media", name, p.seenMedia)
	}
	s.Episodes = p.episodes
	if s.Streams, err = p.streams(); err == nil {
		s.Media, err = p.packedMedia()
	}
	return s, err
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
			why := strings.TrimPrefix(err.Error(), "stream "+s.Name+": ") // the note has the name
			return dataset.Note{Code: dataset.CodeColumnsRefused, Detail: dataset.Detail{Cause: errors.New(why)}}, nil
		}
		at = len(p.packed)
		p.at[s.Name] = at
		p.packed = append(p.packed, packing{
			Stream: Stream{Name: s.Name, Columns: columns, Offsets: make([]int64, len(p.episodes)+1)},
			values: newFloats(&p.pool, p.as), times: growing(&p.pool, &list[int64]{}),
		})
	}
	g := &p.packed[at]
	f, why := Fit(g.Columns, s.Columns, len(asked) > 0)
	if why.Code != "" {
		return why, nil
	}
	e.Differ(s.Name, f.Differs)
	values, err := f.Of(s.Values)
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

// NothingError says that a dataset has no stream to pack.
type NothingError struct {
	Episodes int // that were read
	Skipped  dataset.Notes
	Notes    dataset.Notes // of the first episode
	Format   string        // of the dataset
}

// Steps reports whether streams were left out whose timestamps count steps: with dataset.Options.Rate they would have times.
func (e *NothingError) Steps() bool {
	return e.Notes.Find(dataset.CodeStepTimes) != nil
}

// Any returns a *NothingError if the store has no stream, of numbers or of media.
func (s *Store) Any() error {
	if len(s.Streams)+len(s.Media) > 0 {
		return nil
	}
	e := &NothingError{Episodes: len(s.Episodes), Skipped: s.Skipped, Format: s.format}
	if len(s.Episodes) > 0 {
		e.Notes = s.Episodes[0].Notes.Of(dataset.ClassLeftOut)
	}
	return e
}

func (e *NothingError) Error() string {
	if e.Episodes == 0 {
		why := ""
		if len(e.Skipped) > 0 {
			why = ": " + text.Join(e.Skipped.Groups(), 5, "; ", func(g *dataset.Notes) string { return "episode " + g.Who() + ": " + (*g)[0].Reason() })
		}
		return fmt.Sprintf("loader: no streams to pack: no episode that can be read, of %d", len(e.Skipped)) + why
	}
	if len(e.Notes) == 0 {
		message := fmt.Sprintf("loader: no streams to pack: none of %d episodes has any", e.Episodes)
		if e.Format == "npz" || e.Format == "safetensors" {
			message += ", want arrays NAME.values [S,D] and NAME.times [S] of each stream"
		}
		return message
	}
	return "loader: no streams to pack: " + text.Join(e.Notes.Groups(), 5, ", ", func(g *dataset.Notes) string { return g.Who() + " (" + (*g)[0].Reason() + ")" })
}

// ErrorNotes returns the notes, and those of the episodes that were skipped.
func (e *NothingError) ErrorNotes() dataset.Notes { return slices.Concat(e.Notes, e.Skipped) }

// Unwrap returns dataset.ErrMissing.
func (e *NothingError) Unwrap() error { return dataset.ErrMissing }
