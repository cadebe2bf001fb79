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
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// request is a resample or fuse command line.
type request struct {
	align.Plan           // the flags that are fields of a plan, except Streams and the names in Defaults
	op            string // "Resample" or "Fuse"
	in, out, plot string
	backend       string
	streams       []string
	reading       dataset.Options
	episode       episodeFlag // -1 if it is not given
	method        cli.Choice[ops.Interp]
	quat          cli.Choice[ops.QuatOrder]
	edge          cli.Choice[ops.Edge]
	dtype         cli.Setting[tensor.DType]
	from          cli.Choice[tensor.DType]
	span          cli.Setting[align.RangeMode]
	encoding      cli.Choice[mcap.Encoding]
	planFile      string
	fill          cli.FillFlag
}

// options returns the operation's options without the channels. A target within snap of a sample counts as on it.
func (r *request) options(snap ops.Limit) ops.ResampleOptions {
	s := r.sampling()
	return ops.ResampleOptions{
		Interp: r.method.Value, Quat: r.quat.Value, Period: s.Period, Window: s.Window, Edge: r.edge.Value, Fill: s.Fill, Snap: snap,
		MaxGap: s.MaxGap, Tolerance: s.Tolerance, FillGaps: s.FillGaps, DType: s.DType,
	}
}

// snapping returns --snap, or its default for the --hz clock.
func (r *request) snapping() ops.Limit {
	return clocks.Snapping(r.Snap, r.Rate)
}

// check checks the command line without the input.
func (r *request) check() error {
	if _, given := r.Defaults.Window.Get(); !given && r.windowed() != "" {
		return usagef("%s: no window given, want --window", r.windowed())
	}
	if d, _ := r.Snap.Get(); d > clocks.HalfStep(r.Rate) {
		return usagef("--snap: got %v with --hz %g, want at most half a step of that", d, r.Rate)
	}
	if r.Unordered != "" && !slices.Contains(align.Unordereds, r.Unordered) {
		return usagef("--unordered: got %q, want %s", r.Unordered, strings.Join(align.Unordereds, ", "))
	}
	if err := checkGiven(r.out, r.backend); err != nil {
		return err
	}
	if r.encoding.Given && !r.messages() {
		return usagef("--encoding is for an output of messages, got -o %q, want a name that ends in .mcap", r.out)
	}
	return nil
}

// messages reports whether the output is a message file.
func (r *request) messages() bool { return strings.EqualFold(filepath.Ext(r.out), ".mcap") }

// windowed returns a flag with a window kind, or "".
func (r *request) windowed() string {
	if r.method.Value.Windowed() {
		return "--method " + r.method.Value.String()
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

// checkFor checks that the flags fit the input's format.
func (r *request) checkFor(form string) error {
	switch {
	case r.span.Given && r.Rate == 0 && r.planFile == "":
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
	case r.method.Value.Width() > 1 && r.method.Value != ops.InterpSlerp:
		return usagef("--method %v: %s does not mark such features, want --stream NAME:%v", r.method.Value, whatIs(form), r.method.Value)
	case r.Rate == 0 && r.planFile == "":
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

// makePlan returns the plan from the flags or from --plan. names are the recording's streams.
func (r *request) makePlan(names []string) (align.Plan, error) {
	if r.planFile != "" {
		return readPlan(r.planFile)
	}
	streams, err := r.parseStreams(names)
	if err != nil {
		return align.Plan{}, err
	}
	plan := r.Plan
	plan.Defaults, plan.Streams = r.sampling(), streams
	return plan, nil
}

// sampling returns the flags' options for all streams.
func (r *request) sampling() align.Sampling {
	s := r.Defaults
	s.Fill, s.Kind, s.Edge, s.Quat = r.fill.Fill, r.method.String(), r.edge.String(), r.quat.String()
	return s
}

// parseStreams parses the --stream values: NAME[COLUMN,...]:method:max-gap, where only the name is required. names are the recording's
// streams, because a name may contain colons and brackets.
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

// sortable adds the cure to an error about timestamps.
func (r *request) sortable(err error) error {
	if err == nil {
		return nil
	}
	how := "--unordered sort"
	if r.planFile != "" {
		how = "unordered: sort in the plan"
	}
	switch failure.Of(err).Cure {
	case failure.CureSort:
		how += " takes the samples in order"
	case failure.CureDrop:
		how += " leaves such samples out"
	default:
		return err
	}
	var disorder *cover.DisorderError
	if !errors.As(err, &disorder) {
		return fmt.Errorf("%w; %s", err, how)
	}
	described := *disorder
	if described.Cure != "" {
		described.Cure = how
	}
	return &described
}

// newRequest returns a request with its flags' choices.
func newRequest(op string) *request {
	r := &request{
		op: op, episode: -1,
		method:   cli.ChoiceOf("METHOD", ops.Interps()...),
		quat:     cli.ChoiceOf("ORDER", ops.QuatXYZW, ops.QuatWXYZ),
		edge:     cli.ChoiceOf("RULE", ops.EdgeClamp, ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeError, ops.EdgeHold),
		from:     cli.ChoiceOf("DTYPE", tensor.BF16),
		encoding: cli.ChoiceOf("ENCODING", mcap.Protobuf, mcap.JSON),
	}
	r.dtype = dtypeFlag(&r.Defaults.DType)
	r.span = cli.SettingOf(&r.Range.Mode, "RANGE", align.RangeCommon, align.RangeIntersection, align.RangeUnion)
	return r
}

// onlyPlan returns a usage error if --plan is given with a flag that the plan replaces.
func onlyPlan(cmd *cobra.Command) (err error) {
	apart := []string{"plan", "episode", "rate", "clock", "msg-path", "output", "encoding", "plot", "backend", "strict", "in-dtype", "json"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(apart, f.Name) {
			err = usagef("--%s with --plan: got both, want it in the plan file", f.Name)
		}
	})
	return err
}
