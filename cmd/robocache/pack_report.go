package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/loader/store"
)

// packed is the pack report.
type packed struct {
	Input    string            `json:"input"`
	Output   string            `json:"output"`
	Episodes int               `json:"episodes"`
	Skipped  []serve.Skipped   `json:"skipped"` // episodes that cannot be read
	Absent   []absentInput     `json:"absent"`  // the input, if it lacks declared episodes
	Streams  []packedStream    `json:"streams"`
	Media    []packedMedia     `json:"media"`
	LeftOut  []notetext.Reason `json:"left_out"`
	Remarks  []string          `json:"remarks"`
	Shards   int               `json:"shards"`        // files of the store if it is a folder; 0 for one file
	Packed   []int             `json:"packed_shards"` // shards packed by this run, from 0
	Fresh    []int             `json:"fresh_shards"`  // shards that were packed before
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
	Frames   int    `json:"frames"`
	Bytes    int    `json:"bytes"`
}

func packedOf(ctx context.Context, in, out string, store *store.Store) (*packed, error) {
	r := &packed{Input: in, Output: out, Episodes: store.Len(), Skipped: serve.SkippedOf(store.Skipped), Absent: absentIn(in, store), Streams: []packedStream{}, Media: []packedMedia{}, LeftOut: []notetext.Reason{}, Remarks: []string{}, Packed: []int{}, Fresh: []int{}}
	for _, a := range r.Absent {
		r.Remarks = append(r.Remarks, a.String())
	}
	for i := range store.Streams {
		s := &store.Streams[i]
		r.Streams = append(r.Streams, packedStream{s.Name, s.Samples(), len(s.Columns), s.DType().String(), s.Rounded, s.Overflowed, s.Inexact})
		if s.Rounded > 0 {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %d values are rounded to %v", s.Name, s.Rounded, s.DType()))
		}
	}
	for i := range store.Media {
		m := &store.Media[i]
		r.Media = append(r.Media, packedMedia{m.Name, m.Encoding, m.Len(), m.Bytes()})
	}
	at := map[string]int{}
	for _, e := range store.Episodes {
		for _, n := range e.Notes.Of(dataset.ClassLeftOut, dataset.ClassDamage) {
			key, l := n.Subject, notetext.Reason{Name: n.Subject, Reason: notetext.Text(n), Code: n.Code}
			if n.Code.Class() == dataset.ClassDamage {
				key, l = "damage "+string(n.Code)+n.Subject, notetext.Reason{Name: "damage", Reason: notetext.Line(n), Code: n.Code}
			}
			k, there := at[key]
			if !there {
				k = len(r.LeftOut)
				at[key], r.LeftOut = k, append(r.LeftOut, l)
			}
			r.LeftOut[k].Episodes++
		}
	}
	notes, err := batching.StoreNotes(ctx, store)
	if err != nil {
		return nil, err
	}
	r.Remarks = append(r.Remarks, notetext.EpisodeLines(notes, store.Len())...)
	for _, g := range store.Skipped.Groups() {
		r.Remarks = append(r.Remarks, fmt.Sprintf("skipped: episode %s: %s", g.Who(), notetext.Text(g[0])))
	}
	return r, nil
}

func (a *app) packed(r *packed) error {
	if a.JSON {
		return a.WriteJSON(r)
	}
	a.Remarks(r.Remarks)
	for _, l := range r.LeftOut {
		a.Remark("left out: %s, %s (in %s)", l.Name, l.Reason, episodes(l.Episodes))
	}
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
