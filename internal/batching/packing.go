package batching

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// wantRate adds the argument that sets a rate to an error about timestamps that count steps.
func (p *Packing) wantRate(err error) error {
	return fmt.Errorf("%w; want %s HZ, the steps a second", err, p.Spell.of("rate"))
}

// Packing sets how a dataset is read and packed, for pack and for batches.
type Packing struct {
	Path string `json:"-"`
	dataset.Options
	// Prefer is the clock if Options.Clock is empty and the recordings have it. PreferRate is the rate if neither Options.Rate nor the
	// recordings set one.
	Prefer     string             `json:"-"`
	PreferRate float64            `json:"-"`
	Build      store.BuildOptions `json:"-"`
	Points     align.Plan         `json:"-"` // has the streams of points to add, see depth.WithPoints; Device computes them
	Device     *ops.Device        `json:"-"`
	Spell      Spelling           `json:"-"`
}

// Read opens the dataset, with Prefer and PreferRate if they are needed. The error is an *OptionError if an option is invalid, an
// *align.PlanError if a stream of points is, else an *InputError. The caller closes the dataset.
func (p *Packing) Read(ctx context.Context) (dataset.Dataset, error) {
	opt := p.Options
	opt.Clock = cmp.Or(opt.Clock, p.Prefer)
	d, err := inspection.Open(ctx, p.Path, opt)
	if none := (*OptionError)(nil); p.Clock == "" && errors.As(err, &none) && none.Arg == "Clock" { // it does not have the preferred one
		opt.Clock = ""
		d, err = inspection.Open(ctx, p.Path, opt)
	}
	if err != nil {
		return nil, ReadError(p.Path, err)
	}
	if p.Rate == 0 && p.PreferRate > 0 && d.Info().Rate == 0 {
		if err := d.Close(); err != nil {
			return nil, err
		}
		opt.Rate = p.PreferRate
		if d, err = inspection.Open(ctx, p.Path, opt); err != nil {
			return nil, ReadError(p.Path, err)
		}
	} else if err := p.checkRate(d.Info()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	with, err := depth.WithPoints(ctx, p.Device, d, &p.Points, p.Strict)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return with, nil
}

// checkRate returns an *OptionError if a rate is set that the recordings do not need. If they have times, the rate would be ignored. If
// they declare another rate, it would stretch them.
func (p *Packing) checkRate(info dataset.Info) error {
	switch {
	case p.Rate == 0:
		return nil
	case info.Declared != 0 && info.Declared != p.Rate:
		return refusef("rate", fmt.Sprintf("none, or the %g steps a second that %s declares", info.Declared, p.Path), "%g", p.Rate)
	case info.RateFrom != "caller":
		return refusef("rate", fmt.Sprintf("none: %s has times, and %s is the steps a second for recordings that have none", p.Path, p.Spell.of("rate")), "%g", p.Rate)
	}
	return nil
}

// SetPoints sets Points from a plan's text, and the device. If the text is invalid, there are none, because a policy reports its plan's
// errors.
func (p *Packing) SetPoints(plan string, device *ops.Device) {
	p.Points, _ = planfile.Parse("plan", []byte(plan))
	p.Device = device
}

// BuildOptions returns the store's options. progress is called after each episode.
func (p *Packing) BuildOptions(progress func(done, of int)) store.BuildOptions {
	opt := p.Build
	opt.Strict, opt.Progress = p.Strict, progress
	return opt
}

// Store reads the dataset, and packs it into memory. If no stream can be packed, it returns an error, as Explain describes. The caller
// closes the dataset after the store, because it has the frames.
func (p *Packing) Store(ctx context.Context, watch *Watch) (*store.Store, dataset.Dataset, error) {
	d, err := p.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	one, done := func() {}, func() {}
	if watch.Counting != nil {
		one, done = watch.Counting("reading episodes", d.Len())
	}
	defer done()
	store, err := store.Build(ctx, d, p.BuildOptions(func(int, int) { one() }))
	if err == nil {
		err = store.Any()
	}
	if err != nil {
		return nil, nil, errors.Join(p.Explain(err), d.Close())
	}
	return store, d, nil
}

// Explain converts an error from packing: it returns an *InputError with the path, or an *OptionError with the argument's name.
func (p *Packing) Explain(err error) error {
	var nothing *store.NothingError
	var media *store.MediaError
	var stream *align.StreamError
	switch {
	case errors.As(err, &stream): // it lacks the selected columns
		return &InputError{Path: p.Path, Stream: stream.Stream, Got: stream.Got, Want: stream.Want}
	case errors.As(err, &media):
		return &InputError{Path: p.Path, Stream: media.Media, Msg: "no episode has its frames: episode " + media.Episode, Err: &dataset.NoteError{Note: media.Note}}
	case errors.As(err, &nothing) && nothing.Steps():
		return &InputError{Path: p.Path, Err: p.wantRate(err)}
	case errors.As(err, &nothing):
		return &InputError{Path: p.Path, Err: err}
	}
	return ReadError(p.Path, err)
}
