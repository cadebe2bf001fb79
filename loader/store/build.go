package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// mostAhead limits how many bytes Pack reads before they are packed.
const mostAhead = 48 << 20

// Build packs a dataset's episodes into memory. A stream takes its columns, and their order, from the first episode that has it.
// Columns in other episodes are found by their names. If an episode lacks a column, the stream is left out there, with a note.
// Other differences, for example additional columns, are remarks. An episode without streams keeps its place.
//
// The store's episodes also have the media streams that are not packed: see [Store.Episode]. Their frames are read from d, so d must stay
// open as long as frames are read.
func Build(ctx context.Context, d dataset.Dataset, opt BuildOptions) (*Store, error) {
	p, err := newPacker("", &opt)
	if err != nil {
		return nil, err
	}
	return p.dataset(ctx, d, &opt)
}

// Pack packs a dataset's episodes into a file. The file has the bytes that Build and Save would write. The dataset may be larger
// than memory: Pack needs about 100 MB, and memory for opt.Workers episodes, or for fewer large ones. Numbers
// that do not fit are written to a file without a name next to path first, so the disk must have room for the store twice. If a write
// fails, for example because the disk is full, the error is an *fs.PathError with the path. Pack then leaves nothing, and an older file
// of that name stays; the same is true if ctx ends. If the dataset has no stream to pack, the error is a *NothingError.
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
	if s.Shard == nil { // else another shard may have streams
		if err := s.Any(); err != nil {
			return err
		}
	}
	return s.write(path, p.fileTensors(ctx))
}

// dataset packs a dataset's episodes, and returns the store. If p writes to a file, the store has no tensors.
func (p *packer) dataset(ctx context.Context, d dataset.Dataset, opt *BuildOptions) (*Store, error) {
	readAhead := int64(mostAhead)
	if p.path == "" { // memory has to hold all episodes
		readAhead = math.MaxInt64
	}
	s := &Store{name: d.Name(), format: d.Format(), info: d.Info(), Sources: opt.Sources, Shard: opt.shard}
	p.tasks = s.info.Tasks
	guard := func(do func() error) error { return do() }
	if from, ok := dataset.Whole(d).(*Store); ok {
		guard = from.Guard
	}
	if s.Shard != nil {
		part := dataset.Subset{Dataset: d}
		for begin, end := s.Shard.run(); begin < end; begin++ {
			part.Places = append(part.Places, begin)
		}
		d = part
	}
	numbered := d.Info()
	splits, done := numbered.SplitsOf(d.Len()), 0
	for e, err := range dataset.ParallelWithin(ctx, d, p.workers, readAhead) {
		i, in := numbered.Number(done), splits[done]
		done++
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err != nil && (opt.Strict || dataset.IsFatal(err)):
			return nil, err
		case err != nil:
			s.Skipped = append(s.Skipped, skippedNote(i, err))
		default:
			p.ahead = float64(d.Len()) / float64(done)
			if err := guard(func() error { return p.add(ctx, i, e, in) }); err != nil {
				return nil, err
			}
			if p.path == "" {
				s.recordings = dataset.Recorded(d) // they are read again for frames
				s.recorded = append(s.recorded, p.unpacked(done-1, e))
			}
		}
		if opt.Progress != nil {
			opt.Progress(done, d.Len())
		}
	}
	if ctx.Err() != nil { // the context may end after the last episode
		return nil, ctx.Err()
	}
	for _, name := range opt.Streams {
		if len(p.packed) == 0 && slices.Contains(p.streamNames, name) && p.refused[name] == nil { // Any says why it is left out
			continue
		}
		if _, there := p.at[name]; !there && p.refused[name] != nil {
			return nil, p.refused[name]
		}
		if _, there := p.at[name]; !there && slices.Contains(p.streamNames, name) {
			if left := p.leftOutOf(opt.Streams); len(left) > 0 {
				return nil, &NothingError{Episodes: len(p.episodes), Notes: left, Format: s.format}
			}
		}
		if _, there := p.at[name]; !there && len(p.streamNames) > 0 && s.Shard == nil { // Any explains a store without streams
			return nil, refuse("Streams", fmt.Sprintf("%q, which no episode has", name), "streams in the dataset: ["+text.Closest(name, p.streamNames)+"]")
		}
	}
	for i, name := range slices.Concat(opt.Media, slices.Sorted(maps.Keys(opt.Frames))) {
		found := slices.Contains(p.mediaNames, name)
		if i >= len(opt.Media) {
			found = slices.ContainsFunc(p.media, func(m mediaPacker) bool { return m.Name == name })
		}
		if name == AllMedia || found || s.Shard != nil || len(p.episodes) == 0 {
			continue
		}
		if err := p.leftOut(name); err != nil {
			return nil, err
		}
		arg := "Media"
		if i >= len(opt.Media) {
			arg = "Frames"
		}
		return nil, UnknownMedia(arg, name, p.mediaNames)
	}
	s.Episodes = p.episodes
	var err error
	if s.Streams, err = p.streams(); err == nil {
		s.Media, err = p.packedMedia()
	}
	return s, err
}

// leftOutOf returns, for each of the streams, the first note that explains why an episode is packed without it.
func (p *packer) leftOutOf(streams []string) (notes dataset.Notes) {
	for _, name := range streams {
		for i := range p.episodes {
			if n := p.episodes[i].Notes.LeftOut(name); n != nil {
				notes.Add(*n)
				break
			}
		}
	}
	return notes
}

// add appends an episode: its streams, its media and its entry, with notes about content that is left out. An error ends the packing.
func (p *packer) add(ctx context.Context, number int, e *dataset.Episode, splits []string) error {
	out := Episode{Name: e.Name, Number: number, Task: e.Attributes.Task, Tasks: TasksOf(e, p.tasks), Success: e.Attributes.Success, Splits: splits, Frames: e.Frames,
		Rotation: e.Rotation, Dropouts: e.Dropouts, Notes: e.Notes.Of(dataset.ClassLeftOut)}
	others := e.Notes.Of(dataset.ClassDamage, dataset.ClassRemark)
	if len(p.only) > 0 {
		others = others.About(slices.Concat(p.only, p.cameras, slices.Collect(maps.Keys(p.sizes))))
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
		if !slices.Contains(p.streamNames, s.Name) {
			p.streamNames = append(p.streamNames, s.Name)
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
	for m := range p.packed { // also streams without samples in this episode
		g := &p.packed[m]
		g.Offsets = endAt(g.Offsets, len(p.episodes), g.times.len())
	}
	for m := range p.media {
		g := &p.media[m]
		g.Offsets = endAt(g.Offsets, len(p.episodes), g.times.len())
	}
	return nil
}

// stream appends a stream's samples. If the stream is left out, it returns a note with the reason; else the note's code is empty. An error
// ends the packing.
func (p *packer) stream(e *Episode, s *dataset.Stream) (why dataset.Note, err error) {
	if s.Times.DType() != tensor.I64 { // NaN, or a time too large for nanoseconds, is refused
		sec, err := tensor.Floats(s.Times)
		if err != nil {
			return why, err
		}
		if i := slices.IndexFunc(sec, func(v float64) bool { return !(math.Abs(v) <= 1<<62/1e9) }); i >= 0 {
			return dataset.Note{Code: dataset.CodeTimeRefused, Row: dataset.At(i), Detail: dataset.Detail{Got: fmt.Sprint(sec[i])}}, nil
		}
	}
	at, there := p.at[s.Name]
	if !there && slices.ContainsFunc(p.media, func(m mediaPacker) bool { return m.Name == s.Name }) {
		return nameOfMedia, nil
	}
	asked := p.columns[s.Name]
	if !there {
		columns, err := pickColumns(s, asked)
		if err != nil {
			if p.refused[s.Name] == nil {
				p.refused[s.Name] = err
			}
			why := strings.TrimPrefix(err.Error(), "stream "+s.Name+": ") // the note has the name
			return dataset.Note{Code: dataset.CodeColumnsRefused, Detail: dataset.Detail{Cause: errors.New(why)}}, nil
		}
		at = len(p.packed)
		p.at[s.Name] = at
		as := p.as
		if p.double != nil && p.double(s) {
			as = tensor.F64
		}
		p.packed = append(p.packed, streamPacker{
			Stream: Stream{Name: s.Name, Columns: columns, Offsets: make([]int64, len(p.episodes)+1)},
			values: newFloats(&p.pool, as), times: addColumn(&p.pool, &list[int64]{}),
		})
	}
	g := &p.packed[at]
	fitted := *s
	if why, err = e.Fit(&fitted, g.Columns, len(asked) > 0); why.Code != "" || err != nil {
		return why, err
	}
	rounded, overflowed, err := g.values.floats(&p.pool, fitted.Values)
	if err != nil {
		return why, err
	}
	g.Rounded += rounded
	g.Overflowed += overflowed
	g.Inexact += s.Inexact
	return why, g.times.add(&p.pool, s.Nanoseconds())
}

// NothingError means that a dataset has no stream to pack.
type NothingError struct {
	Episodes int // how many were read
	Skipped  dataset.Notes
	Notes    dataset.Notes // the first episode's notes
	Format   string        // the dataset's format
}

// Steps reports whether streams are left out because their timestamps count steps. If dataset.Options.Rate is set, they have
// times.
func (e *NothingError) Steps() bool {
	return e.Notes.Find(dataset.CodeStepTimes) != nil
}

// Any returns a *NothingError if the store has no stream, neither numbers nor media.
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
		return fmt.Sprintf("loader: no streams to pack: none of %d episodes can be read", len(e.Skipped)) + why
	}
	if len(e.Notes) == 0 {
		message := fmt.Sprintf("loader: no streams to pack: none of %d episodes has any", e.Episodes)
		if e.Format == "npz" || e.Format == "safetensors" {
			message += ", want arrays NAME.values [S,D] and NAME.times [S] for each stream"
		}
		return message
	}
	return "loader: no streams to pack: " + text.Join(e.Notes.Groups(), 5, ", ", func(g *dataset.Notes) string { return g.Who() + " (" + (*g)[0].Reason() + ")" })
}

// ErrorNotes returns the first episode's notes and the notes about skipped episodes.
func (e *NothingError) ErrorNotes() dataset.Notes { return slices.Concat(e.Notes, e.Skipped) }

// Unwrap returns dataset.ErrMissing.
func (e *NothingError) Unwrap() error { return dataset.ErrMissing }
