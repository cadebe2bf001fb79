package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// BuildOptions say how a store is packed. The zero value takes all streams, in float32 where they have doubles.
type BuildOptions struct {
	Streams []string // those to take, by name; all unless given
	// Columns are those to take of a stream, by its name, as align.Stream has them; all that the first episode has unless given. An episode without them leaves
	// the stream out. A range takes all, since it counts columns.
	Columns map[string][]string
	Media   []string     // media streams to take, by name, or AllMedia; none unless given; of videos those of logs, whose frames need no file
	DType   tensor.DType // of all values: F32, F16 or BF16, or F64; F32 unless given. What it does not hold is rounded and counted
	Workers int          // episodes that are read at a time; as many as there are processors unless given
	// Strict makes an episode that cannot be read an error; else it is skipped and listed.
	Strict bool
	// Episodes are the numbers of those to take, ascending; all unless given. The others are as if the dataset had them not, but for the numbers.
	Episodes []int
	// Progress is told how many episodes are done, after each.
	Progress func(done, of int)
	// Large is told once by Build, before most of them are read, about how many bytes of memory frames will take, if that is over 1 GiB.
	Large func(bytes int64)
	// Replace lets PackShard replace shards that were packed otherwise.
	Replace bool
	// Sources are the files that the dataset is read from, for Store.Sources. They are best hashed before: what changes meanwhile makes the store stale.
	Sources []Source

	shard *Shard // the part of the dataset to pack; all of it unless given
}

// AllMedia stands for all media streams in BuildOptions.Media.
const AllMedia = "all"

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

// newPacker returns a packer that keeps all in memory, or with a path what fits; the rest is in a file beside that, until the packer is closed.
func newPacker(path string, opt *BuildOptions) (*packer, error) {
	p := &packer{pool: pool{path: path}, as: opt.DType, strict: opt.Strict, only: opt.Streams, columns: opt.Columns, refused: map[string]error{}, at: map[string]int{}, cameras: opt.Media, large: opt.Large}
	switch opt.DType {
	case 0:
		p.as = tensor.F32
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F64:
	default:
		return nil, refuse("DType", opt.DType.String(), "f32, f64, f16 or bf16")
	}
	return p, nil
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
	some, err := someOf(d, opt.Episodes)
	if err != nil {
		return nil, err
	}
	if s.Shard != nil {
		begin, end := s.Shard.run()
		some.numbers = some.numbers[begin:end]
	}
	done := 0
	for e, err := range dataset.ParallelWithin(ctx, some, workers, readAhead) {
		i := some.numbers[done]
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
		return nil, refuse("Media", fmt.Sprintf("%q, which no episode has", name), mediaOf(p.seenMedia))
	}
	s.Episodes = p.episodes
	if s.Streams, err = p.streams(); err == nil {
		s.Media, err = p.packedMedia()
	}
	return s, err
}

// leftOut returns a *MediaError if an episode leaves a media stream out.
func (p *packer) leftOut(media string) error {
	for _, e := range p.episodes {
		if n := e.Notes.LeftOut(media); n != nil {
			return &MediaError{media, e.Name, *n}
		}
	}
	return nil
}

// whileWanted writes as long as a context lasts.
type whileWanted struct {
	ctx context.Context
	w   io.Writer
}

func (w whileWanted) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
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
			why = ": " + few(e.Skipped.Groups(), "; ", func(g *dataset.NoteGroup) string { return "episode " + g.Who() + ": " + g.Reason() })
		}
		return fmt.Sprintf("loader: no streams to pack: no episode that can be read, of %d", len(e.Skipped)) + why
	}
	if len(e.Notes) == 0 {
		text := fmt.Sprintf("loader: no streams to pack: none of %d episodes has any", e.Episodes)
		if e.Format == "npz" || e.Format == "safetensors" {
			text += ", want arrays NAME.values [S,D] and NAME.times [S] of each stream"
		}
		return text
	}
	return "loader: no streams to pack: " + few(e.Notes.Groups(), ", ", func(g *dataset.NoteGroup) string { return g.Who() + " (" + g.Reason() + ")" })
}

// ErrorNotes returns the notes, and those of the episodes that were skipped.
func (e *NothingError) ErrorNotes() dataset.Notes { return slices.Concat(e.Notes, e.Skipped) }

// Unwrap returns dataset.ErrMissing.
func (e *NothingError) Unwrap() error { return dataset.ErrMissing }
