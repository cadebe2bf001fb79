package convert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/inorder"
)

// Reader is a format, or a program that reads one, that datasets are made for.
type Reader struct {
	Name   string // for example "openpi"
	Target string // the name of the target that it reads, for example "lerobot-2.1"
	// Version is the first part of the version of LeRobot datasets that it reads, for example "v2"; empty for other formats.
	Version string
	// Policy is set if each episode needs a task, and the dataset needs observation.state and action.
	Policy bool
	// Modality is set if the dataset needs meta/modality.json.
	Modality bool
}

// Readers returns the known readers.
func Readers() []Reader {
	return []Reader{
		{Name: "lerobot", Target: "lerobot", Version: "v3"},
		{Name: "lerobot-2.1", Target: "lerobot-2.1", Version: "v2"},
		{Name: "openpi", Target: "lerobot-2.1", Version: "v2", Policy: true},
		{Name: "gr00t", Target: "lerobot-2.1", Version: "v2", Policy: true, Modality: true},
		{Name: "rlds", Target: "rlds"},
	}
}

// Fitness has the reasons why inputs do not fit a reader. Episodes have the numbers of their inputs; notes about a whole input have -1.
type Fitness struct {
	// Refused are notes about episodes that the conversion skips, about content that ends the conversion, and about content that the
	// reader needs and the inputs lack.
	Refused dataset.EpisodeNotes
	// LeftOut are notes about streams, cameras, clouds and texts that the target has no place for. Attributes of an episode are no reason.
	LeftOut dataset.EpisodeNotes

	spoiled map[int]bool // episodes that are known to lack a stream of a later one
}

// Check reads all episodes and converts them as Shard does, but without frames and into a temporary folder, which it removes. It returns
// the reasons why they do not fit the reader. next is called after each episode. The target must have Traits.Whole. Errors are those
// that end every conversion, for example a missing file or a full disk.
func (c *Conversion) Check(ctx context.Context, reader Reader, next func()) (f *Fitness, err error) {
	dir, err := os.MkdirTemp("", "robocache-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	about := c.piece(0, 1, c.episodes)
	about.Dry = true
	w, err := c.target.Create(ctx, filepath.Join(dir, "out"), about)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	f = &Fitness{spoiled: map[int]bool{}}
	if err := f.inputs(ctx, c, reader); err != nil {
		return nil, err
	}
	limit := (&work{Conversion: c}).limit(c.opt.Workers)
	for _, r := range inorder.Each(ctx, c.episodes, c.opt.Workers, 1, func(r ready) int { return limit(&r) }, func(ctx context.Context, i int) ready {
		return c.prepare(ctx, i)
	}) {
		if err := f.episode(ctx, c, w, &r, reader); err != nil {
			return nil, err
		}
		next()
	}
	if l, is := w.(*leRobotWriter); is && reader.Policy && l.has != nil {
		for _, name := range []string{"observation.state", "action"} {
			if l.has[name] == "" {
				f.refuse(-1, "", dataset.Note{Code: dataset.CodeFeatureMissing, Subject: name, Detail: dataset.Detail{Want: reader.Name}})
			}
		}
	}
	return f, ctx.Err()
}

func (f *Fitness) refuse(number int, episode string, notes ...dataset.Note) {
	f.Refused.Add(number, episode, notes)
}

// inputs checks the inputs as a whole.
func (f *Fitness) inputs(ctx context.Context, c *Conversion, reader Reader) error {
	for i := range c.inputs {
		if in := &c.inputs[i]; in.from.Format() == "lerobot" && reader.Version != "" && !strings.HasPrefix(in.info.Version, reader.Version) {
			f.refuse(-1, "", dataset.Note{Code: dataset.CodeFormatVersion, Detail: dataset.Detail{Got: in.info.Version, Want: reader.Version, Names: []string{reader.Name}}})
		}
	}
	if !reader.Modality {
		return nil
	}
	text, notes, err := modality(ctx, c.inputs)
	if len(text) == 0 && notes == nil {
		notes.Add(dataset.Note{Code: dataset.CodeFileMissing, Subject: "meta/modality.json"})
	}
	f.refuse(-1, "", notes...)
	return err
}

// episode adds the reasons of one episode. It returns only errors that end every conversion.
func (f *Fitness) episode(ctx context.Context, c *Conversion, w Writer, r *ready, reader Reader) error {
	number, name, err := r.about.Index, r.about.Name, r.err
	if r.about.Skipped != nil {
		f.refuse(number, name, *r.about.Skipped)
	}
	for _, a := range r.accounts {
		for _, n := range a.Dropped {
			n.Subject = a.Name
			f.LeftOut.Add(number, name, dataset.Notes{n})
		}
	}
	if e := r.e; e != nil && err == nil {
		if reader.Policy && r.about.Task == "" && !slices.ContainsFunc(e.Texts, func(t dataset.TextStream) bool { return t.Task }) {
			f.refuse(number, name, dataset.Note{Code: dataset.CodeTaskMissing, Detail: dataset.Detail{Want: reader.Name}})
		}
		var kept Kept
		kept, err = w.Add(ctx, e)
		e.close()
		for _, n := range kept.Notes.Of(dataset.ClassLeftOut) {
			if _, attribute := e.Attributes.Other[n.Subject]; !attribute || slices.Contains(e.TextNames(), n.Subject) {
				f.LeftOut.Add(number, name, dataset.Notes{n})
			}
		}
	}
	var spoiled *SpoiledError
	var clock *ClockError
	var extra *ExtraStreamError
	var refused *RefusedError
	var option *OptionError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &spoiled):
		for n, err := range spoiled.Episodes {
			if in, _, index := at(c.inputs, n); !f.spoiled[n] {
				f.spoiled[n] = true
				f.refuse(in.info.Number(index), "", unreadNote("", err))
			}
		}
	case errors.As(err, &clock):
		f.refuse(number, name, dataset.Note{Code: dataset.CodeSeveralClocks, Detail: dataset.Detail{Names: []string{clock.A, clock.B}}})
	case errors.As(err, &extra):
		for _, s := range extra.Streams {
			f.refuse(number, name, dataset.Note{Code: dataset.CodeNotInFirst, Subject: s})
		}
	case errors.Is(err, lerobotwrite.ErrNotAligned), errors.As(err, &option) && option.Arg == "FPS":
		f.refuse(number, name, dataset.Note{Code: dataset.CodeNoRate, Detail: dataset.Detail{Cause: err}})
	case errors.As(err, &refused), ofEpisode(err):
		f.refuse(number, name, unreadNote(name, err))
	default:
		return err
	}
	return nil
}
