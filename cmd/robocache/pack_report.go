package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/loader/store"
)

// packed is the pack report.
type packed struct {
	Input    string          `json:"input"`
	Output   string          `json:"output"`
	Episodes int             `json:"episodes"`
	Skipped  []serve.Skipped `json:"skipped"` // episodes that cannot be read
	Streams  []packedStream  `json:"streams"`
	Media    []packedMedia   `json:"media"`
	noteList
	Shards int   `json:"shards"`        // files in the store if it is a folder; 0 for one file
	Packed []int `json:"packed_shards"` // shards packed by this run, from 0
	Fresh  []int `json:"fresh_shards"`  // shards that were packed before
}

type packedStream struct {
	Name       string `json:"name"`
	Samples    int    `json:"samples"`
	Columns    int    `json:"columns"`
	DType      string `json:"dtype"`
	Rounded    int    `json:"rounded"`    // values that the dtype cannot represent
	Overflowed int    `json:"overflowed"` // the part of Rounded that became infinite
	Inexact    int    `json:"lossy_integers"`
}

type packedMedia struct {
	Name     string `json:"name"`
	Encoding string `json:"encoding"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Resized  bool   `json:"resized"`
	Frames   int    `json:"frames"`
	Bytes    int    `json:"bytes"`
}

func packedOf(ctx context.Context, in, out string, store *store.Store) (*packed, error) {
	r := &packed{Input: in, Output: out, Episodes: store.Len(), Skipped: serve.SkippedOf(store.Skipped), Streams: []packedStream{}, Media: []packedMedia{}, noteList: newNotes(), Packed: []int{}, Fresh: []int{}}
	r.notes(absentIn(in, store))
	for i := range store.Streams {
		s := &store.Streams[i]
		r.Streams = append(r.Streams, packedStream{s.Name, s.Samples(), len(s.Columns), s.DType().String(), s.Rounded, s.Overflowed, s.Inexact})
		if s.Rounded > 0 {
			r.remark("values-rounded", "%s: %d values are rounded to %v", s.Name, s.Rounded, s.DType())
		}
	}
	for i := range store.Media {
		m := &store.Media[i]
		r.Media = append(r.Media, packedMedia{m.Name, m.Encoding, m.Width, m.Height, m.Resized, m.Len(), m.Bytes()})
	}
	var left dataset.EpisodeNotes
	for _, e := range store.Episodes {
		left.Add(e.Number, e.Name, e.Notes.Of(dataset.ClassLeftOut, dataset.ClassDamage))
	}
	notes, err := batching.StoreNotes(ctx, store)
	if err != nil {
		return nil, err
	}
	r.add(notetext.EpisodeEntries(notes), notetext.EpisodeLines(notes, store.Len())...)
	for _, g := range store.Skipped.Groups() {
		r.add(nil, fmt.Sprintf("skipped: episode %s: %s", g.Who(), notetext.Text(g[0])))
	}
	for i, e := range notetext.EpisodeEntries(left.List) {
		line := e.Text
		if e.Class == dataset.ClassLeftOut {
			line = fmt.Sprintf("left out: %s, %s", e.Subject, notetext.Text(left.List[i].Note))
		}
		r.add([]notetext.EpisodeEntry{e}, fmt.Sprintf("%s (in %s)", line, episodes(e.Episodes)))
	}
	return r, nil
}

func (a *app) packed(r *packed) error {
	if a.JSON {
		return a.WriteJSON(schema.Pack, r)
	}
	r.print(a)
	samples := 0
	for _, s := range r.Streams {
		samples += s.Samples
	}
	frames, media := 0, ""
	for _, m := range r.Media {
		frames += m.Frames
	}
	if len(r.Media) > 0 {
		media = fmt.Sprintf(", %d frames of %d media streams", frames, len(r.Media))
	}
	_, err := fmt.Fprintf(a.Out, "packed %s, %d streams, %d samples%s, into %s\n", episodes(r.Episodes), len(r.Streams), samples, media, r.Output)
	return err
}

// packInto packs a dataset to a store.
func (a *app) packInto(ctx context.Context, p *batching.Packing, d dataset.Dataset, out string, sources []store.Source) error {
	bar := a.Counting("packing episodes", d.Len())
	defer bar.Done()
	written := func() {}
	defer func() { written() }()
	opt := p.BuildOptions(func(done, of int) {
		if bar.Add(1); done == of {
			bar.Done()
			written = a.Step("writing " + out)
		}
	})
	opt.Sources = sources
	err := store.Pack(ctx, d, out, opt)
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == out {
		return unwritten(err)
	}
	if err != nil {
		return p.Explain(err)
	}
	return nil
}
