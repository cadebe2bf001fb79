package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// request is a resample or fuse command as given.
type request struct {
	op            string // "Resample" or "Fuse"
	in, out, plot string
	backend       string
	streams       []string
	reading       dataset.Options
	unordered     string
	episode       episodeFlag // of a dataset; -1 unless given
	fillGaps      bool
	kind          cli.Choice[ops.Interp]
	quat          cli.Choice[ops.QuatOrder]
	edge          cli.Choice[ops.Edge]
	dtype, from   cli.Choice[tensor.DType]
	span          cli.Choice[align.RangeMode]
	encoding      cli.Choice[mcap.Encoding]
	planFile      string
	hz, period    float64
	fill          cli.FillFlag
	snap          cli.LimitFlag
	gap, near     cli.LimitFlag
	window        cli.LimitFlag
}

// options returns the operation's options, but for the channels. A target as near to a sample as snap counts as on it.
func (r *request) options(snap ops.Limit) ops.ResampleOptions {
	return ops.ResampleOptions{
		Interp: r.kind.Value, Quat: r.quat.Value, Period: r.period, Window: r.window.Limit,
		Edge: r.edge.Value, Fill: r.fill.Fill, Snap: snap,
		MaxGap: r.gap.Limit, Tolerance: r.near.Limit, FillGaps: r.fillGaps,
		DType: r.dtype.Value,
	}
}

// snapping is --snap, or its default, for the clock of --hz.
func (r *request) snapping() ops.Limit {
	return clocks.Snapping(r.snap.Limit, r.hz)
}

// check finds what is wrong with the command line alone.
func (r *request) check() error {
	if _, given := r.window.Limit.Get(); !given && r.windowed() != "" {
		return usagef("%s: no window given, want --window", r.windowed())
	}
	if d, _ := r.snap.Limit.Get(); d > clocks.HalfStep(r.hz) {
		return usagef("--snap: got %v with --hz %g, want at most half a step of that", d, r.hz)
	}
	if r.unordered != "" && !slices.Contains(align.Unordereds, r.unordered) {
		return usagef("--unordered: got %q, want %s", r.unordered, strings.Join(align.Unordereds, ", "))
	}
	for flag, path := range map[string]string{"-o": r.out, "--plot": r.plot} {
		if r.planFile != "" && path != "" && sameFile(r.planFile, path) {
			return usagef("%s: %q is the plan, want another file", flag, path)
		}
	}
	if err := checkFiles(r.in, r.out, r.plot, r.backend, ".npz", ".safetensors", ".mcap"); err != nil {
		return err
	}
	if r.encoding.Given && !r.messages() {
		return usagef("--encoding is for an output of messages, got -o %q, want a name that ends in .mcap", r.out)
	}
	return nil
}

// messages reports whether the output is a file of messages.
func (r *request) messages() bool { return strings.EqualFold(filepath.Ext(r.out), ".mcap") }

// windowed returns a flag that asks for a window kind, or "".
func (r *request) windowed() string {
	if r.kind.Value.Windowed() {
		return "--kind " + r.kind.Value.String()
	}
	for _, f := range r.streams {
		if s, err := parseStream(f, nil); err == nil && s.Kind != "" {
			if kind, err := ops.ParseInterp(s.Kind); err == nil && kind.Windowed() {
				return "--stream " + f
			}
		}
	}
	return ""
}

// checkFor finds flags that do not go with the format of the input.
func (r *request) checkFor(form string) error {
	switch {
	case r.span.Given && r.hz == 0 && r.planFile == "":
		return usagef("--range %v without --hz: got no clock to make, want --hz, or the targets of the file and no --range", r.span.Value)
	case r.episode > 0 && (form == "ulg" || form == "npz"):
		return usagef("--episode: got %d, and %s is one recording", r.episode, r.in)
	case form == "npz" && r.reading.Clock != "":
		return usagef("--clock is for recordings with several clocks, got %q", r.in)
	case form == "npz" && r.reading.Rate > 0:
		return usagef("--rate is for recordings without times, got %q", r.in)
	case form == "npz":
	case r.from.Given:
		return usagef("--in-dtype is for .npz files, got %q", r.in)
	case r.kind.Value.Width() > 1 && r.kind.Value != ops.InterpSlerp:
		return usagef("--kind %v: %s does not say where it has such features, want --stream NAME:%v", r.kind.Value, whatIs(form), r.kind.Value)
	case r.hz == 0 && r.planFile == "":
		return usagef("no clock given: %s has no targets, want --hz", whatIs(form))
	}
	return nil
}

func whatIs(form string) string {
	switch form {
	case "ulg":
		return "a .ulg file"
	case "folder":
		return "a folder of recordings"
	}
	return "a file of format " + form
}

// makePlan is the plan of the flags, or of the file that --plan names. names are the recording's.
func (r *request) makePlan(names []string) (align.Plan, error) {
	if r.planFile != "" {
		return readPlan(r.planFile)
	}
	streams, err := r.parseStreams(names)
	if err != nil {
		return align.Plan{}, err
	}
	return align.Plan{Rate: r.hz, Range: align.Range{Mode: r.span.Value}, Snap: r.snap.Limit, Unordered: r.unordered, Defaults: r.sampling(), Streams: streams}, nil
}

// sampling is what the flags say of all streams.
func (r *request) sampling() align.Sampling {
	s := align.Sampling{
		Period: r.period, Window: r.window.Limit, Fill: r.fill.Fill,
		MaxGap: r.gap.Limit, Tolerance: r.near.Limit, FillGaps: r.fillGaps, DType: r.dtype.Value,
		Kind: r.kind.String(), Edge: r.edge.String(), Quat: r.quat.String(),
	}
	return s
}

// parseStreams reads the values of --stream: NAME[COLUMN,...]:kind:max-gap, of which all but the name may be left out. names are those that the
// recording has: a colon or bracket that belongs to one of them is part of it.
func (r *request) parseStreams(names []string) ([]align.Stream, error) {
	var list []align.Stream
	for _, f := range r.streams {
		s, err := parseStream(f, names)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(o align.Stream) bool { return o.Name == s.Name }) {
			return nil, usagef("--stream: %q is given twice, want each stream once", s.Name)
		}
		list = append(list, s)
	}
	return list, nil
}

// sortable adds to an error about timestamps what takes such samples.
func (r *request) sortable(err error) error {
	var value *ops.ValueError
	if !errors.As(err, &value) || !strings.HasSuffix(value.Arg, "SrcTimes") {
		return err
	}
	how := "--unordered sort"
	if r.planFile != "" {
		how = "unordered: sort in the plan"
	}
	var disorder *cover.DisorderError
	if errors.As(err, &disorder) {
		said := *disorder
		if err = &said; said.Cure == "" {
			return err
		}
		said.Cure = how + " leaves such samples out"
		if errors.Is(value, ops.ErrUnsorted) {
			said.Cure = how + " takes the samples in order"
		}
		return err
	}
	switch {
	case errors.Is(value, ops.ErrUnsorted):
		return fmt.Errorf("%w; %s takes the samples in order", err, how)
	case errors.Is(value, ops.ErrNotFinite), errors.Is(value, ops.ErrTimeRange):
		return fmt.Errorf("%w; %s leaves such samples out", err, how)
	}
	return err
}

// newRequest returns a request whose flags know their values.
func newRequest(op string) *request {
	return &request{
		op: op, episode: -1,
		kind:     cli.Choice[ops.Interp]{List: ops.Interps(), Kind: "KIND"},
		quat:     cli.Choice[ops.QuatOrder]{List: []ops.QuatOrder{ops.QuatXYZW, ops.QuatWXYZ}, Kind: "ORDER"},
		edge:     cli.Choice[ops.Edge]{List: []ops.Edge{ops.EdgeClamp, ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeError, ops.EdgeHold}, Kind: "RULE"},
		dtype:    cli.Choice[tensor.DType]{List: valueTypes(), Kind: "DTYPE"},
		from:     cli.Choice[tensor.DType]{List: []tensor.DType{tensor.BF16}, Kind: "DTYPE"},
		span:     cli.Choice[align.RangeMode]{List: []align.RangeMode{align.RangeCommon, align.RangeIntersection, align.RangeUnion}, Kind: "RANGE"},
		encoding: cli.Choice[mcap.Encoding]{List: []mcap.Encoding{mcap.Protobuf, mcap.JSON}, Kind: "ENCODING"},
		window:   cli.LimitFlag{Above: true},
	}
}

// onlyPlan refuses flags that say what a plan file says.
func onlyPlan(cmd *cobra.Command) (err error) {
	apart := []string{"plan", "episode", "rate", "clock", "msg-path", "output", "encoding", "plot", "backend", "strict", "in-dtype", "json"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(apart, f.Name) {
			err = usagef("--%s with --plan: got both, want it in the plan file", f.Name)
		}
	})
	return err
}
