package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
)

// conversion has the convert flags.
type conversion struct {
	in       []string
	out, to  string
	planFile string
	backend  string
	shards   shardFlags
	// allowSkipped permits an input with no converted episode.
	allowSkipped bool
	unordered    string
	maxGap       ops.Limit
	opt          convert.Options
	targets      map[string]func() (convert.Target, error)
}

func (c *conversion) formats() []string { return slices.Sorted(maps.Keys(c.targets)) }

// check checks the command line alone and makes the target.
func (c *conversion) check(hz float64) (convert.Target, error) {
	target, known := c.targets[c.to]
	switch {
	case c.out == "":
		return nil, usagef("no output given, want -o OUT")
	case c.to == "":
		return nil, usagef("no format given, want --to %s", strings.Join(c.formats(), ", "))
	case !known:
		return nil, usagef("--to: got %q, want %s", c.to, strings.Join(c.formats(), ", "))
	case c.planFile != "" && hz > 0:
		return nil, usagef("--hz with --plan: got both, want the rate in the plan file")
	case c.maxGap != align.AutoGap && hz == 0:
		return nil, usagef("--max-gap: got it without --hz, want it in the plan file: else streams stay as they are")
	case slices.Contains(c.opt.Media, "none") && len(c.opt.Media) > 1:
		return nil, usagef("--media: got none and others, want one or the other")
	case c.unordered != "" && !slices.Contains(align.Unordereds, c.unordered):
		return nil, usagef("--unordered: got %q, want %s", c.unordered, strings.Join(align.Unordereds, ", "))
	case c.unordered != "" && c.planFile == "" && hz == 0:
		return nil, usagef("--unordered: got no --plan and no --hz, want one: else streams stay as they are")
	}
	if err := writable(slices.Concat(c.in, []string{c.planFile}, c.opt.Reading.Definitions), output{flag: "-o", path: c.out, folder: true}); err != nil {
		return nil, err
	}
	if err := c.named(); err != nil {
		return nil, err
	}
	if len(c.opt.Media) == 1 && c.opt.Media[0] == "none" {
		c.opt.Media = []string{""}
	}
	if c.planFile != "" {
		p, err := readPlan(c.planFile)
		if err != nil {
			return nil, err
		}
		c.opt.Plan = &p
	} else if hz > 0 {
		c.opt.Plan = &align.Plan{Rate: hz, Defaults: align.Sampling{MaxGap: c.maxGap}}
	}
	if c.unordered != "" {
		c.opt.Plan.Unordered = c.unordered
	}
	return target()
}

// named returns an error if the output's extension belongs to another format than --to, because it would become a folder name.
func (c *conversion) named() error {
	ext := strings.ToLower(filepath.Ext(c.out))
	st, err := fault.Stat(c.out)
	switch {
	case dataset.IsSystem(err):
		return readError(c.out, err)
	case ext == "" || err == nil && st.IsDir():
		return nil
	}
	refused := func(of string) error {
		return usagef("-o: got %q, with the ending for %s, with --to %s, want the name of a folder, or another ending", c.out, of, c.to)
	}
	of := ""
	for _, format := range c.formats() {
		t, err := c.targets[format]()
		if err != nil || t.Traits().Ext != ext {
			continue
		}
		if format == c.to {
			return nil
		}
		of = format
	}
	if of != "" {
		return refused(of)
	}
	for _, f := range dataset.Formats() {
		if slices.Contains(f.Extensions, ext) {
			return refused(f.Name)
		}
	}
	return nil
}

// explain maps errors from package convert to command-line errors.
func (c *conversion) explain(err error) error {
	var (
		option  *convert.OptionError
		input   *convert.InputError
		episode *convert.EpisodeError
		clock   *convert.ClockError
		nothing *convert.NothingError
		path    *fs.PathError
		steps   *clocks.StepsError
		extra   *convert.ExtraStreamError
		busy    *convert.BusyError
		program *video.ProgramError
		format  *dataset.FormatError
	)
	switch {
	case errors.As(err, &extra):
		return &inputError{Path: strings.Join(c.in, ", "), Msg: fmt.Sprintf("--extra: got error, and episode %d, %s, has %s, which the first, %s, has not: want drop to "+
			"leave that out, skip to leave such episodes out, or a --plan with streams that all have", extra.Number, extra.Episode, strings.Join(extra.Streams, ", "), extra.First)}
	case errors.As(err, &clock):
		return usagef("--to %s has one clock for all: got episode %s with two clocks, for %s and %s, want --hz F or --plan FILE",
			c.to, clock.Episode, clock.A, clock.B)
	case errors.As(err, &steps):
		return usagef("--hz: %v, want --rate", err)
	case errors.As(err, &busy):
		return &outputError{c.out, fmt.Errorf("another program is making it: want %s", busy.Option.Want)}
	case errors.As(err, &option) && option.Arg == "Plan" && c.planFile != "":
		return &inputError{Path: c.planFile, Got: option.Got, Want: option.Want}
	case errors.As(err, &option):
		return option
	case errors.As(err, &input):
		return readError(input.Path, input.Err)
	case errors.As(err, &program): // not an error of the input
		return &outputError{c.out, err}
	case errors.As(err, &episode):
		return &inputError{Path: episode.Input, Err: flagged{episode.Err}}
	case errors.As(err, &nothing):
		if nothing.First != nil && errors.As(nothing.First.Cause, &format) && format.Format == "convert" && format.Kind == dataset.ErrNotFound {
			arg := "--" + strings.TrimPrefix(format.Msg, "observation.")
			return &usageError{fmt.Sprintf("%s: got %s, want %s", arg, format.Got, format.Want), arg, format.Got, format.Want}
		}
		return &inputError{Path: strings.Join(c.in, ", "), Err: flagged{err}}
	case errors.As(err, &path):
		return unwritten(err)
	}
	return err
}

func wereEpisodes(n int) string {
	if n == 1 {
		return "one episode was"
	}
	return fmt.Sprintf("%d episodes were all", n)
}
