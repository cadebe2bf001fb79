package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// request is a resample or fuse command as given.
type request struct {
	op            string // "Resample" or "Fuse"
	in, out, plot string
	backend       string
	streams       []string
	strict        bool
	unordered     string
	episode       episodeFlag // of a dataset; -1 unless given
	fillGaps      bool
	kind          choice[ops.Interp]
	quat          choice[ops.QuatOrder]
	edge          choice[ops.Edge]
	dtype, from   choice[tensor.DType]
	span          choice[align.RangeMode]
	encoding      choice[mcap.Encoding]
	planFile      string
	hz, period    positiveFlag
	clock         string       // of those that a recording has
	definitions   []string     // of its messages
	rate          positiveFlag // of the steps of a recording without times
	fill          fillFlag
	snap          limitFlag
	gap, near     limitFlag
	window        limitFlag
}

const resampleHelp = `Resample puts the streams of a recording on one clock.

IN is a recording, or a dataset of several of which --episode is one: a file or folder of any format
that robocache inspect reads, a numpy archive (.npz), or a pipe of one file; - is standard input.

Of a recording of streams it takes every one with at least two distinct timestamps, or those
named with --stream, and --hz makes the clock over the time that they have in common. Floats
are interpolated linearly, quaternions by slerp: those of a log (q[0] to q[3], q_d, q_offset and
delta_q_reset, in PX4's order wxyz), of a trajectory of TUM's, and of tables whose columns are
called so (qx to qw); --kind and --stream NAME:kind change that. Whole numbers keep their
previous value, unless NAME:kind is of a stream of nothing else. In a stream named with
:slerp, :rotvec or :rot6d, arrays of four, three or six floats are rotations and other floats
are linear; with :hermite, the first half of its columns are values, the second their
velocities. Images and videos are not taken. OUT.npz holds NAME.values [T,D], NAME.valid [T],
NAME.age [T] and NAME.columns of each stream, and the one times [T]; OUT.safetensors the same,
the columns as JSON in its metadata. OUT.mcap holds a topic NAME and a topic NAME.valid of each
stream, with a message for each target; --encoding says how they are encoded.

An archive of streams has NAME.values [S,D], [S] or records [S], and NAME.times [S], of each, or
one array times or timestamp for all; or records NAME [S] with a field that is their clock. An
archive with an array values is taken as one recording or a batch: values [B,S,D], [S,D], or
[B,S] or [S] of one feature, times [B,S] or [S], targets [B,T] or [T]
unless --hz makes a clock over the time that all rows share, and lengths [B] if there are any;
whole numbers keep their previous value unless --kind is given. OUT.npz holds values, valid, age
and times then. Times are int64 nanoseconds, datetime64, or float64 or float32 seconds.

A broken file gives what is whole, and what was lost is said; --strict refuses it. A stream whose
timestamps step back is left out, and said; --unordered sort takes its samples in order.

The kinds window-mean, -min, -max and -last reduce the samples of the last --window before
a target, its own time included, so that none between two targets is lost.

A target within --snap of a sample, a microsecond unless given, counts as on it: so recorded
times that were rounded are still those of a clock of their rate, and frame i of a camera is
row i. The clock of --hz ends with the last tick that is no more than that after the range.

valid is 1 where a target lies in the recorded range, in no gap longer than --max-gap,
within --tolerance of the sample used, and has no empty window; with --edge hold after the
range, too. age is the target's time less that of the sample at or before it, or that it is on.

What --dtype cannot hold is counted for each stream, in what is printed and under --json: integers
and doubles that are rounded, and finite numbers that become infinite.`

const resampleExample = `  robocache resample flight.ulg -o flight.npz --hz 50 --plot flight.png
  robocache resample flight.ulg -o out.npz --hz 100 --stream vehicle_attitude --stream sensor_combined:pchip --max-gap 50ms
  robocache resample episode.npz -o aligned.npz --kind nearest --tolerance 20ms
  robocache resample flight.ulg -o out.npz --hz 20 --kind window-mean --window 50ms
  robocache resample batch.npz -o batch50.npz --hz 50 --edge fill --fill -7.5 --dtype bf16`

const streamFlag = "NAME[COLUMN,...]:kind:max-gap of a stream to take, all but the name optional: airspeed, airspeed::50ms, pose[x,y]:pchip; repeatable"

// newRequest returns a request whose flags know their values.
func newRequest(op string) *request {
	return &request{
		op: op, episode: -1,
		kind:     choice[ops.Interp]{list: kinds(), kind: "KIND"},
		quat:     choice[ops.QuatOrder]{list: []ops.QuatOrder{ops.QuatXYZW, ops.QuatWXYZ}, kind: "ORDER"},
		edge:     choice[ops.Edge]{list: []ops.Edge{ops.EdgeClamp, ops.EdgeFill, ops.EdgeExtrapolate, ops.EdgeError, ops.EdgeHold}, kind: "RULE"},
		dtype:    choice[tensor.DType]{list: valueTypes(), kind: "DTYPE"},
		from:     choice[tensor.DType]{list: []tensor.DType{tensor.BF16}, kind: "DTYPE"},
		span:     choice[align.RangeMode]{list: []align.RangeMode{align.RangeCommon, align.RangeIntersection, align.RangeUnion}, kind: "RANGE"},
		encoding: choice[mcap.Encoding]{list: []mcap.Encoding{mcap.Protobuf, mcap.JSON}, kind: "ENCODING"},
		hz:       positiveFlag{max: 1e9, unit: "HZ"},
		rate:     positiveFlag{max: 1e9, unit: "HZ"},
		period:   positiveFlag{unit: "PERIOD"},
		window:   limitFlag{above: true},
	}
}

func (a *app) resampleCommand() *cobra.Command {
	r := newRequest("Resample")
	cmd := &cobra.Command{
		Use:     "resample IN -o OUT.npz",
		Short:   "Put the streams of a recording on one clock",
		Long:    resampleHelp,
		Example: resampleExample,
	}
	cmd.Flags().StringArrayVar(&r.streams, "stream", nil, streamFlag)
	cmd.Flags().Var(&r.fill, "fill", "value written by --edge fill, --edge hold before the first sample, and --fill-gaps (default nan)")
	cmd.Flags().Var(&r.dtype, "dtype", "dtype of the values written: f32, f64, f16 or bf16 (default the input's; bf16 is stored as uint16)")
	r.finish(cmd, func() error { return a.put(r, loadNPZ) })
	return cmd
}

// finish gives a command its argument, the flags that resample and fuse share, and what it does.
func (r *request) finish(cmd *cobra.Command, do func() error) {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s takes one input file, got %d: %q", cmd.Name(), len(args), args)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.in = args[0]
		if r.planFile != "" {
			if err := onlyPlan(cmd); err != nil {
				return err
			}
		}
		return do()
	}
	cmd.ValidArgsFunction = recordingFiles
	f := cmd.Flags()
	f.StringVarP(&r.out, "output", "o", "", "the .npz, .safetensors or .mcap file to write")
	f.Var(&r.encoding, "encoding", "of the messages of an .mcap file: protobuf (default) or json")
	f.StringVar(&r.plot, "plot", "", "also draw recorded samples, resampled curves and gaps to this .png file")
	f.BoolVar(&r.strict, "strict", false, "refuse a file that is broken anywhere, in place of keeping what is whole and saying what was lost")
	f.Var(&r.hz, "hz", "rate of the clock to make")
	f.Var(&r.span, "range", "the time that --hz covers: common (default; topics that hold and short streams do not narrow it), intersection or union")
	f.StringVar(&r.planFile, "plan", "", "a plan file that says all of the following, instead of flags; docs/plans.md has its keys")
	f.Var(&r.kind, "kind", strings.Join(r.kind.names(), ", ")+" (default linear)")
	f.Var(&r.quat, "quat", "order of quaternions where the recording does not say: xyzw or wxyz (default wxyz for .ulg, else xyzw)")
	f.Var(&r.period, "period", "period of --kind angle (default 2 pi)")
	f.Var(&r.window, "window", "the window kinds reduce the samples of this long up to each target")
	f.Var(&r.edge, "edge", "outside the recorded range: clamp (default), fill, extrapolate, error, or hold: the last sample stays valid")
	f.Var(&r.snap, "snap", "a target this near to a sample counts as on it, no more than half a step of --hz; 0: none does")
	f.Lookup("snap").DefValue = align.Snap.String()
	f.Var(&r.gap, "max-gap", "targets between samples further apart than this are not valid")
	f.BoolVar(&r.fillGaps, "fill-gaps", false, "write the fill value where --max-gap, --tolerance or an empty window make a target not valid")
	f.Var(&r.near, "tolerance", "previous, next and nearest samples further away than this are not valid")
	f.Var(&r.rate, "rate", "steps a second of a recording that has no times and does not say")
	clockFlag(f, &r.clock)
	definitionsFlag(f, &r.definitions)
	f.Var(&r.episode, "episode", "which episode of a dataset of several, counted from 0")
	f.StringVar(&r.unordered, "unordered", "", "a stream whose timestamps step back or are no times: drop (default; the others stay), sort, or error")
	f.Var(&r.from, "in-dtype", "bf16: read uint16 values of an .npz file as bf16")
	f.StringVar(&r.backend, "backend", "auto", "auto, cpu, cuda, cuda:N or sim")
	r.completions(cmd)
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

// options returns the operation's options, but for the channels. A target as near to a sample as snap counts as on it.
func (r *request) options(snap ops.Limit) ops.ResampleOptions {
	return ops.ResampleOptions{
		Interp: r.kind.value, Quat: r.quat.value, Period: r.period.value, Window: r.window.limit,
		Edge: r.edge.value, Fill: r.fill.fill, Snap: snap,
		MaxGap: r.gap.limit, Tolerance: r.near.limit, FillGaps: r.fillGaps,
		DType: r.dtype.value,
	}
}

// snapping is --snap, or its default, for the clock of --hz.
func (r *request) snapping() ops.Limit {
	snap, _ := align.Snapping(r.snap.limit, r.hz.value) // check has seen it
	return snap
}

// loading reads a recording.
type loading func(*request) (*work, error)

// put is resample and fuse: it reads a recording, one of an archive as load does, puts it on one clock and writes the output.
func (a *app) put(r *request, load loading) error {
	if err := r.check(); err != nil {
		return err
	}
	clean, err := a.begin(&r.in, r.out, r.plot)
	if err != nil {
		return err
	}
	defer clean()
	form, err := formatOf(r.in)
	if err != nil {
		return err
	}
	if err := r.checkFor(form); err != nil {
		return err
	}
	done := a.step("reading " + r.in)
	if form != "npz" {
		load = loadRecording
	}
	work, err := load(r)
	done()
	if err != nil {
		return err
	}
	if _, streams := work.job.(*recording); r.messages() && !streams {
		return usagef("-o: got %q for an array values, which is no stream, want a name that ends in .npz or .safetensors", r.out)
	}
	device, err := ops.Open(r.backend)
	if err != nil {
		return err
	}
	done = a.step(map[string]string{"Resample": "resampling", "Fuse": "fusing"}[r.op])
	res, err := work.run(r, device)
	done()
	if closing := device.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	res.Device = deviceOf(device.Info())
	done = a.step("writing " + r.out)
	defer done()
	return work.save(r, func() error {
		done()
		return a.resampled(res)
	})
}

// check finds what is wrong with the command line alone.
func (r *request) check() error {
	if _, given := r.window.limit.Get(); !given && r.windowed() != "" {
		return usagef("%s: no window given, want --window", r.windowed())
	}
	if _, err := align.Snapping(r.snap.limit, r.hz.value); err != nil {
		d, _ := r.snap.limit.Get()
		return usagef("--snap: got %v with --hz %g, want at most half a step of that", d, r.hz.value)
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
	if r.encoding.set && !r.messages() {
		return usagef("--encoding is for an output of messages, got -o %q, want a name that ends in .mcap", r.out)
	}
	return nil
}

// messages reports whether the output is a file of messages.
func (r *request) messages() bool { return strings.EqualFold(filepath.Ext(r.out), ".mcap") }

// windowed returns a flag that asks for a window kind, or "".
func (r *request) windowed() string {
	if r.kind.value.Windowed() {
		return "--kind " + r.kind.value.String()
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
	case r.span.set && r.hz.value == 0 && r.planFile == "":
		return usagef("--range %v without --hz: got no clock to make, want --hz, or the targets of the file and no --range", r.span.value)
	case r.episode > 0 && (form == "ulg" || form == "npz"):
		return usagef("--episode: got %d, and %s is one recording", r.episode, r.in)
	case form == "npz" && r.clock != "":
		return usagef("--clock is for recordings with several clocks, got %q", r.in)
	case form == "npz" && r.rate.value > 0:
		return usagef("--rate is for recordings without times, got %q", r.in)
	case form == "npz":
	case r.from.set:
		return usagef("--in-dtype is for .npz files, got %q", r.in)
	case r.kind.value.Width() > 1 && r.kind.value != ops.InterpSlerp:
		return usagef("--kind %v: %s does not say where it has such features, want --stream NAME:%v", r.kind.value, whatIs(form), r.kind.value)
	case r.hz.value == 0 && r.planFile == "":
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

// job is a recording that was read.
type job interface {
	// run resamples and keeps what save needs.
	run(r *request, device *ops.Device) (*result, error)
	// arrays writes the output.
	arrays(w align.ArrayWriter) error
	// panels returns the figure's content.
	panels() ([]viz.Panel, error)
}

// work is a job with its output still to be written.
type work struct{ job }

func (w work) save(r *request, report func() error) error {
	fill := inArrays(r.out, w.arrays)
	if r.messages() {
		e, err := w.job.(*recording).aligned() // as put has seen
		if err != nil {
			return err
		}
		fill = inMessages(e, r.encoding.value)
	}
	return save(r.in, r.out, r.plot, fill, func(out io.Writer) error {
		panels, err := w.panels()
		if err != nil {
			return err
		}
		if len(panels) == 0 {
			return &inputError{Path: r.in, Msg: "no samples, want at least one to draw"}
		}
		return viz.WritePNG(out, panels, viz.Options{Title: filepath.Base(r.in)})
	}, report)
}

// formatOf tells the formats apart by the file's name, and by its first bytes if that says nothing: "ulg", "npz", or "folder".
func formatOf(path string) (string, error) {
	folder, head, err := beginning(path, 4)
	switch {
	case err != nil:
		return "", err
	case folder:
		return "folder", nil
	}
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".ulg", ".npz":
		return ext[1:], nil
	}
	switch string(head) {
	case "ULog":
		return "ulg", nil
	case "PK\x03\x04", "PK\x05\x06":
		return "npz", nil
	}
	known, err := dataset.Recognise(context.Background(), path)
	if err != nil {
		return "", readError(path, err)
	}
	return known.Name, nil
}
