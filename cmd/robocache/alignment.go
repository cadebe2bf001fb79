package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

// finish sets a command's argument, the flags that resample and fuse share, and its function.
func (r *request) finish(cmd *cobra.Command, do func() error) {
	cmd.Args = takes(1, 1, cmd.Name()+" takes one input file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.in = args[0]
		if r.planFile != "" {
			if err := onlyPlan(cmd); err != nil {
				return err
			}
		}
		return do()
	}
	takesRecordings(cmd, 0)
	f := cmd.Flags()
	f.StringVarP(&r.out, "output", "o", "", "the .npz, .safetensors or .mcap `FILE` to write")
	choiceFlag(cmd, &r.encoding, "encoding", "of the messages of an .mcap file: protobuf (default) or json")
	f.StringVar(&r.plot, "plot", "", "also draw recorded samples, resampled curves and gaps to this .png `FILE`")
	f.BoolVar(&r.reading.Strict, "strict", false, "refuse a file that is broken anywhere, instead of keeping the whole parts and listing the losses")
	f.Var(cli.Hertz(&r.Rate), "hz", "the clock's rate")
	choiceFlag(cmd, &r.span, "range", "the time that --hz covers: common (default; topics that hold and short streams do not narrow it), intersection or union")
	f.StringVar(&r.planFile, "plan", "", "a plan `FILE`, instead of the other flags here; docs/plans.md has its keys")
	choiceFlag(cmd, &r.method, "method", strings.Join(r.method.Names(), ", ")+" (default linear)")
	f.Var(&r.method, "kind", "")
	f.Lookup("kind").Hidden = true // the old name of --method, which job scripts have
	choiceFlag(cmd, &r.quat, "quat", "quaternion order if the recording does not declare it: xyzw or wxyz (default wxyz for .ulg, else xyzw)")
	f.Var(&cli.PositiveFlag{To: &r.Defaults.Period, Unit: "PERIOD"}, "period", "period for --method angle (default 2 pi)")
	f.Var(&cli.LimitFlag{To: &r.Defaults.Window, Above: true}, "window", "the window methods reduce the samples from this long before each timestamp")
	choiceFlag(cmd, &r.edge, "edge", "outside the recorded range: clamp (default), fill, extrapolate, error, or hold: the last sample stays valid")
	f.Var(&cli.LimitFlag{To: &r.Snap}, "snap", "a timestamp this near to a sample counts as on it, no more than half a step of --hz; 0: none does")
	f.Lookup("snap").DefValue = clocks.Snap.String()
	gapsFlag(f, &r.Defaults.MaxGap)
	f.BoolVar(&r.Defaults.FillGaps, "fill-gaps", false, "write the fill value where --max-gap, --tolerance or an empty window make a timestamp not valid")
	f.Var(&cli.LimitFlag{To: &r.Defaults.Tolerance}, "tolerance", "previous, next and nearest samples further away than this are not valid")
	readingFlags(f, &r.reading)
	f.Var(&r.episode, "episode", "the episode's number in the dataset, from 0 if the dataset has no numbers")
	unorderedFlag(cmd, &r.Unordered, "a stream if its timestamps step back or are no times: drop (default; the others stay), sort, or error")
	choiceFlag(cmd, &r.from, "in-dtype", "bf16: read uint16 values of an .npz file as bf16")
	backendFlag(cmd, &r.backend, "auto", "auto, cpu, cuda, cuda:N or sim")
	files(cmd, map[string]string{"output": "npz safetensors mcap", "plot": "png"})
	completeWith(cmd, "stream", r.completeStream)
}

// completeStream completes the input's stream names without repeats. After a name and a colon it completes the methods.
func (r *request) completeStream(args []string, word string) []string {
	if len(args) != 1 {
		return nil
	}
	e := episodeOf(args[0], r.episode)
	if e == nil {
		return nil
	}
	names := e.Names()
	var list []string
	if name, rest := splitName(word, names); rest != "" {
		columns := ""
		if rest[0] == '[' {
			columns, rest = rest[:strings.IndexByte(rest, ']')+1], rest[strings.IndexByte(rest, ']')+1:]
		}
		if strings.HasPrefix(rest, ":") {
			for _, k := range r.method.Names() {
				list = append(list, name+columns+":"+k)
			}
		}
	}
	given := map[string]bool{}
	for _, f := range r.streams {
		name, _ := splitName(f, names)
		given[name] = true
	}
	for _, name := range names {
		if !given[name] {
			list = append(list, name)
		}
	}
	return list
}

// loading is a function that reads a recording.
type loading func(*request) (*work, error)

// put runs resample and fuse: it reads a recording, puts it on one clock and writes the output. load reads archives.
func (a *app) put(r *request, load loading) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := a.begin(&r.in, append(r.reading.Definitions, r.planFile), output{flag: "-o", path: r.out, ends: []string{".npz", ".safetensors", ".mcap"}}, picture(r.plot)); err != nil {
		return err
	}
	form, err := formatOf(r.in)
	if err != nil {
		return err
	}
	if err := r.checkFor(form); err != nil {
		return err
	}
	done := a.Step("reading " + r.in)
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
	done = a.Step(map[string]string{"Resample": "resampling", "Fuse": "fusing"}[r.op])
	res, err := work.run(r, device)
	done()
	if closing := device.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	res.Device = deviceOf(device.Info())
	done = a.Step("writing " + r.out)
	defer done()
	return work.save(r, func() error {
		done()
		return a.resampled(res)
	})
}

func (w work) save(r *request, report func() error) error {
	fill := inArrays(r.out, w.arrays)
	if r.messages() {
		e, err := w.job.(*recording).aligned() // cannot fail, because put has checked it
		if err != nil {
			return err
		}
		fill = inMessages(e, r.encoding.Value)
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
