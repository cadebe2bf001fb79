package batching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// wantRate is what a recording lacks whose timestamps count steps.
const wantRate = "want --rate HZ, the steps a second"

// Packing says how a dataset is packed: for pack, and for batches of what is no store.
type Packing struct {
	Path  string
	Rate  float64 // steps a second of recordings that have no times and do not say
	Clock string
	// Prefer is the clock where Clock does not say and the recordings have it, and PreferRate the rate where Rate does not say, nor the recordings.
	Prefer     string
	PreferRate float64
	// Definitions are folders and files of message definitions, of recordings that lack some.
	Definitions []string
	Streams     []string
	Columns     map[string][]string // of them, as loader.BuildOptions has them
	Media       []string
	Cameras     bool // Media are those of --camera
	DType       tensor.DType
	Strict      bool
	// Episodes are the numbers, ascending, of those to pack; all for nil.
	Episodes []int
	Replace  bool // shards that were packed otherwise
}

// Read opens the dataset to be packed.
func (p *Packing) Read(ctx context.Context) (dataset.Dataset, error) {
	d, err := dataset.Open(ctx, p.Path, dataset.Options{Strict: p.Strict, Rate: p.Rate, Clock: p.Clock, Definitions: p.Definitions})
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
		d, err = dataset.Open(ctx, p.Path, dataset.Options{Strict: p.Strict, Rate: p.PreferRate, Clock: p.Clock, Definitions: p.Definitions})
		if err != nil {
			return nil, ReadError(p.Path, err)
		}
		return d, nil
	}
	if err := p.rated(d.Info()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// rated checks that a rate that is given is what the recordings lack: it would be ignored where they have times, and would stretch those of recordings that
// say another.
func (p *Packing) rated(info dataset.Info) error {
	switch {
	case p.Rate == 0:
		return nil
	case info.Declared != 0 && info.Declared != p.Rate:
		return Usagef("--rate: got %g, want none, or the %g steps a second that %s says itself", p.Rate, info.Declared, p.Path)
	case info.RateFrom != "caller":
		return Usagef("--rate: got %g, want none: %s has times, and --rate is the steps a second of recordings that have none", p.Rate, p.Path)
	}
	return nil
}

// Options are those of the loader, with a function to call at each episode that is done.
func (p *Packing) Options(progress func(done, of int)) loader.BuildOptions {
	return loader.BuildOptions{Streams: p.Streams, Columns: p.Columns, Media: p.Media, DType: p.DType, Strict: p.Strict, Replace: p.Replace, Episodes: p.Episodes, Progress: progress}
}

// Store reads the dataset and packs it into memory.
func (p *Packing) Store(ctx context.Context, watch *Watch) (*loader.Store, error) {
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
	opt := p.Options(func(int, int) { one() })
	opt.Large = func(bytes int64) {
		watch.remark("the frames of the cameras will take about %.1f GB of memory, and while they are read more; --streaming reads them when they are needed", float64(bytes)/1e9)
	}
	store, err := loader.Build(ctx, d, opt)
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
	var option *loader.OptionError
	var nothing *loader.NothingError
	var media *loader.MediaError
	var stream *align.StreamError
	switch {
	case errors.As(err, &stream): // without the columns that are asked for
		return &InputError{Path: p.Path, Stream: stream.Stream, Msg: fmt.Sprintf("got %s, want %s", stream.Got, stream.Want), Got: stream.Got, Want: stream.Want}
	case errors.As(err, &media):
		return &InputError{Path: p.Path, Stream: media.Media, Msg: "no episode has frames of it: episode " + media.Episode, Err: &dataset.NoteError{Note: media.Note}}
	case errors.As(err, &option):
		flag := map[string]string{"Streams": "stream", "Media": "media", "Episodes": "episodes"}[option.Arg]
		want := option.Want
		if p.Cameras && option.Arg == "Media" {
			flag, want = "camera", strings.TrimPrefix(want, "all, or ")
		}
		if strings.Contains(option.Got, ",") && flag != "episodes" {
			want += "; each has a --" + flag + " of its own"
		}
		return Usagef("--%s: got %s, want %s", flag, option.Got, want)
	case errors.As(err, &nothing) && nothing.Steps():
		return &InputError{Path: p.Path, Err: fmt.Errorf("%w; %s", err, wantRate)}
	case errors.As(err, &nothing):
		return &InputError{Path: p.Path, Err: err}
	}
	return ReadError(p.Path, err)
}
