package batching

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
)

// wantRate names the argument that a recording lacks whose timestamps count steps.
func (p *Packing) wantRate(err error) error {
	return fmt.Errorf("%w; want %s HZ, the steps a second", err, p.Spell.of("rate"))
}

// Packing says how a dataset is read and packed: for pack, and for batches of a dataset that is no store.
type Packing struct {
	Path string `json:"-"`
	dataset.Options
	// Prefer is the clock where Options.Clock is empty and the recordings have it, and PreferRate the rate where neither Options.Rate nor the recordings
	// have one.
	Prefer     string             `json:"-"`
	PreferRate float64            `json:"-"`
	Build      store.BuildOptions `json:"-"`
	Spell      Spelling           `json:"-"`

	cameras bool // Build.Media are the cameras of a Request
}

// Read opens the dataset to be packed.
func (p *Packing) Read(ctx context.Context) (dataset.Dataset, error) {
	d, err := dataset.Open(ctx, p.Path, p.Options)
	if err != nil {
		return nil, ReadError(p.Path, err)
	}
	if info := d.Info(); p.Clock == "" && info.Clock != p.Prefer && slices.Contains(info.Clocks, p.Prefer) {
		if err := d.Close(); err != nil {
			return nil, err
		}
		preferred := *p
		preferred.Clock = p.Prefer
		return preferred.Read(ctx)
	}
	if p.Rate == 0 && p.PreferRate > 0 && d.Info().Rate == 0 {
		if err := d.Close(); err != nil {
			return nil, err
		}
		preferred := p.Options
		preferred.Rate = p.PreferRate
		if d, err = dataset.Open(ctx, p.Path, preferred); err != nil {
			return nil, ReadError(p.Path, err)
		}
		return d, nil
	}
	if err := p.checkRate(d.Info()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// checkRate returns an *OptionError if a rate is given that the recordings do not lack: it would be ignored where they have times, and would stretch
// recordings that declare another rate.
func (p *Packing) checkRate(info dataset.Info) error {
	switch {
	case p.Rate == 0:
		return nil
	case info.Declared != 0 && info.Declared != p.Rate:
		return refusef("rate", fmt.Sprintf("none, or the %g steps a second that %s says itself", info.Declared, p.Path), "%g", p.Rate)
	case info.RateFrom != "caller":
		return refusef("rate", fmt.Sprintf("none: %s has times, and %s is the steps a second of recordings that have none", p.Path, p.Spell.of("rate")), "%g", p.Rate)
	}
	return nil
}

// BuildOptions are those of the loader, with a function to call at each episode that is done.
func (p *Packing) BuildOptions(progress func(done, of int)) store.BuildOptions {
	opt := p.Build
	opt.Strict, opt.Progress = p.Strict, progress
	return opt
}

// Store reads the dataset and packs it into memory.
func (p *Packing) Store(ctx context.Context, watch *Watch) (*store.Store, error) {
	d, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	one, done := func() {}, func() {}
	if watch.Counting != nil {
		one, done = watch.Counting("reading episodes", d.Len())
	}
	defer done()
	opt := p.BuildOptions(func(int, int) { one() })
	opt.Large = func(bytes int64) { watch.large(bytes, p.Spell.of("streaming")) }
	store, err := store.Build(ctx, d, opt)
	if err == nil {
		err = store.Any()
	}
	if err != nil {
		return nil, p.Explain(err)
	}
	return store, nil
}

// Explain says what an error of packing means for whoever asked for it.
func (p *Packing) Explain(err error) error {
	var option *OptionError
	var nothing *store.NothingError
	var media *store.MediaError
	var stream *align.StreamError
	switch {
	case errors.As(err, &stream): // without the columns that are asked for
		return &InputError{Path: p.Path, Stream: stream.Stream, Got: stream.Got, Want: stream.Want}
	case errors.As(err, &media):
		return &InputError{Path: p.Path, Stream: media.Media, Msg: "no episode has frames of it: episode " + media.Episode, Err: &dataset.NoteError{Note: media.Note}}
	case errors.As(err, &option) && option.Arg == "Media" && p.cameras:
		return &OptionError{Arg: "cameras", Got: option.Got, Want: option.Want}
	case errors.As(err, &nothing) && nothing.Steps():
		return &InputError{Path: p.Path, Err: p.wantRate(err)}
	case errors.As(err, &nothing):
		return &InputError{Path: p.Path, Err: err}
	}
	return ReadError(p.Path, err)
}

// large notes the memory that frames will take, and the argument that saves it.
func (w *Watch) large(bytes int64, streaming string) {
	w.note(dataset.CodeFramesMemory, "", dataset.Detail{Got: fmt.Sprintf("%.1f", float64(bytes)/1e9), Unit: "GB", Names: []string{streaming}})
}
