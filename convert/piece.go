package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// piece is a file or folder of the output while it is written.
type piece struct {
	*work
	n      *entry
	writer Writer // nil before the first episode
}

// add writes a prepared episode to the piece, and adds its report to the piece's entry. If the episode was skipped, only the report is
// added. An error ends the piece: see Writer.Add and brokenError.
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

// piece describes a new piece.
func (c *Conversion) piece(shard, shards, episodes int) Piece {
	about := Piece{Shard: shard, Shards: shards, Episodes: episodes, inputs: c.inputs}
	if c.opt.Plan != nil {
		about.Rate = c.opt.Plan.Rate
	}
	for i := range c.inputs {
		about.Inputs = append(about.Inputs, c.inputs[i].info)
	}
	return about
}

func (p *piece) write(ctx context.Context, r *ready) (err error) {
	if p.writer == nil {
		first, end := p.episodesOf(p.n.Piece)
		about := p.Conversion.piece(p.shard, p.shards, end-first)
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
	case errors.As(err, &refused), !p.traits.Whole: // nothing was written, or the piece gets no name
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

// ofOutput reports whether an error is a file-system error about the output or a file in it.
func (p *piece) ofOutput(err error) bool {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return false
	}
	below, err := filepath.Rel(p.at, path.Path)
	return err == nil && filepath.IsLocal(below)
}

// commit completes the piece under its final name. If no episode was converted, there is no file, and the piece's path is empty.
func (p *piece) commit(ctx context.Context) error {
	if !p.n.Report.converted() || p.writer == nil {
		p.n.Report.Path = ""
		return nil
	}
	p.keep()
	if err := p.writer.Commit(ctx); err != nil {
		return err
	}
	if w, ok := p.writer.(interface{ Notes() dataset.Notes }); ok { // notes about the piece as a whole
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

// take adds an episode's report, accounts and notes to the entry of its piece.
func (n *entry) take(r *ready) {
	n.Report.Episodes = append(n.Report.Episodes, r.about)
	n.Streams = sum(n.Streams, r.accounts)
	n.Losses.Add(r.about.Number, r.about.Name, r.losses)
	n.Notes.Add(r.about.Number, r.about.Name, r.notes)
}

// besides returns the notes that are not in an account's Dropped list: the ones about no stream, and the ones about changes.
func (k *Kept) besides(accounts []StreamAccount) (list dataset.Notes) {
	for _, n := range k.Notes {
		if n.Code.Class() != dataset.ClassLeftOut || !slices.ContainsFunc(accounts, func(a StreamAccount) bool { return a.Name == n.Subject }) {
			list = append(list, n)
		}
	}
	return list
}

// settle compares an episode's accounts with the writer's counts in kept. Streams that the writer left out are counted as dropped. If the
// counts differ, or an account does not add up, the error is a *BalanceError.
func settle(episode string, list []StreamAccount, kept *Kept) error {
	seen := 0
	for i := range list {
		a := &list[i]
		n, written := kept.Samples[a.Name]
		left := kept.Notes.LeftOut(a.Name)
		switch {
		case written:
			seen++
			if n != a.Rows {
				return &BalanceError{episode, a.Name, fmt.Sprintf("%d rows written", n), fmt.Sprint(a.Rows)}
			}
			a.Undecoded = len(kept.Undecoded[a.Name])
			a.Valid -= a.Undecoded
		case left != nil:
			a.dropAll(*left)
		case a.Rows > 0:
			return &BalanceError{episode, a.Name, "nothing written, and no reason given", fmt.Sprintf("%d rows", a.Rows)}
		}
		if err := a.check(episode); err != nil {
			return err
		}
	}
	if seen != len(kept.Samples) {
		return &BalanceError{episode, fmt.Sprint(slices.Sorted(maps.Keys(kept.Samples))), "written", "those of the account"}
	}
	return nil
}
