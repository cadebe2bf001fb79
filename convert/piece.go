package convert

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// piece is one that is being made.
type piece struct {
	*work
	n      *entry
	writer Writer // nil before the first episode that there is
}

// add writes an episode, or notes why not.
func (p *piece) add(ctx context.Context, r *ready) error {
	if r.err != nil {
		return r.err
	}
	if e := r.e; e != nil {
		err := p.write(ctx, r)
		e.close()
		if err != nil {
			return err
		}
	}
	p.n.take(r)
	return nil
}

func (p *piece) write(ctx context.Context, r *ready) (err error) {
	if p.writer == nil {
		first, end := p.episodesOf(p.n.Piece)
		about := Piece{Shard: p.shard, Shards: p.shards, Episodes: end - first, inputs: p.inputs}
		if p.opt.Plan != nil {
			about.Rate = p.opt.Plan.Rate
		}
		for i := range p.inputs {
			about.Inputs = append(about.Inputs, p.inputs[i].info)
		}
		p.n.Report.Path = p.name(p.n.Piece)
		if p.writer, err = p.target.Create(ctx, p.path(&p.n.Report), about); err != nil {
			return err
		}
	}
	kept, err := p.writer.Add(ctx, r.e)
	var refused *RefusedError
	var spoiled *SpoiledError
	switch {
	case err == nil:
	case errors.As(err, &spoiled) && p.opt.Reading.Strict:
		_, which, _ := at(p.inputs, spoiled.first())
		return &EpisodeError{Number: spoiled.first(), Input: p.inputs[which].path, Err: err}
	case errors.As(err, &spoiled):
		return err
	case p.ofOutput(err):
		return err
	case errors.As(err, &refused), !p.traits.Whole: // of which nothing was written, or that is not named
		*r = p.unread(ctx, *r, err)
		return r.err
	case ofEpisode(err) && !p.opt.Reading.Strict:
		return &brokenError{r.about.Number, err}
	default:
		return &EpisodeError{Number: r.about.Number, Input: p.inputs[r.about.Input].path, Err: err}
	}
	r.notes = append(slices.Clip(r.notes), kept.besides(r.accounts)...)
	return settle(r.about.Name, r.accounts, &kept)
}

// ofOutput reports whether an error is of the output, or of a file below it.
func (p *piece) ofOutput(err error) bool {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return false
	}
	below, err := filepath.Rel(p.at, path.Path)
	return err == nil && filepath.IsLocal(below)
}

// commit gives the piece its name, if there is anything in it.
func (p *piece) commit(ctx context.Context) error {
	if !p.n.Report.converted() || p.writer == nil {
		p.n.Report.Path = ""
		return nil
	}
	p.keep()
	if err := p.writer.Commit(ctx); err != nil {
		return err
	}
	if w, ok := p.writer.(interface{ Notes() dataset.Notes }); ok { // of the piece as a whole
		first, end := p.episodesOf(p.n.Piece)
		for _, n := range w.Notes() {
			p.n.Notes.Join(dataset.EpisodeNote{Note: n, Number: first, Episodes: end - first})
		}
	}
	return nil
}

func (p *piece) close() {
	if p.writer != nil {
		p.writer.Close()
	}
}
