package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/printed"
	"github.com/spf13/cobra"
)

// inspection is what inspect says of a file.
type inspection struct {
	Path     string             `json:"path"`
	Format   string             `json:"format"`
	Episodes []inspectedEpisode `json:"episodes"`
}

type inspectedEpisode struct {
	Name      string            `json:"name"`
	Task      string            `json:"task,omitempty"`
	Success   *bool             `json:"success,omitempty"`
	Streams   []inspectedStream `json:"streams"`
	Media     []inspectedMedia  `json:"media"`
	LeftOut   []leftOut         `json:"left_out"`
	LostBytes int64             `json:"lost_bytes"` // of a broken file that was read all the same
	Remarks   []string          `json:"remarks"`
}

type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type inspectedStream struct {
	Name       string            `json:"name"`
	Samples    int               `json:"samples"`
	Rate       float64           `json:"rate_hz,omitempty"`
	FirstNS    int64             `json:"first_ns"`
	LastNS     int64             `json:"last_ns"`
	Gaps       int               `json:"gaps"`
	Duplicates int               `json:"duplicates"`
	BackSteps  int               `json:"back_steps"`
	DType      string            `json:"dtype"`
	Columns    []inspectedColumn `json:"columns"`
}

type inspectedColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Integer  bool   `json:"integer,omitempty"`
	Rotation string `json:"rotation,omitempty"`
}

type inspectedMedia struct {
	Name     string  `json:"name"`
	Frames   int     `json:"frames"`
	Rate     float64 `json:"rate_hz,omitempty"`
	Encoding string  `json:"encoding"`
	Width    int     `json:"width,omitempty"`
	Height   int     `json:"height,omitempty"`
}

func (a *app) inspectCommand() *cobra.Command {
	var strict, columns bool
	rate := positiveFlag{max: 1e9, unit: "HZ"}
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "List the streams of a recording",
		Long: `Inspect lists the streams of a recording: samples, rate, what they cover, gaps, duplicate
timestamps and steps back, and their columns, and says of all else why it is no stream. FILE is a
ULog file (.ulg), or a numpy archive (.npz) that holds NAME.values and NAME.times of each stream, or
one array times for all that have as many samples, or records NAME with a field that is their clock;
or a pipe of one of them, or a folder of such files.`,
		Example: "  robocache inspect flight.ulg\n  robocache inspect flight.ulg --columns\n  robocache inspect flight.ulg --json | jq '.episodes[].streams[].name'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("inspect takes one file, got %d: %q", len(args), args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.inspect(cmd.Context(), args[0], dataset.Options{Strict: strict, Rate: rate.value}, columns)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse a file that is broken anywhere")
	cmd.Flags().Var(&rate, "rate", "steps a second of recordings that have no times and do not say")
	cmd.Flags().BoolVar(&columns, "columns", false, "name every column")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"ulg", "npz"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return cmd
}

func (a *app) inspect(ctx context.Context, path string, opt dataset.Options, columns bool) error {
	if ctx == nil {
		ctx = context.Background()
	}
	path, clean, err := a.local(path)
	if err != nil {
		return err
	}
	defer clean()
	form, err := formatOf(path)
	if err != nil {
		return err
	}
	found := inspection{Path: path, Episodes: []inspectedEpisode{}}
	if form == "npz" {
		file, err := npz.Open(path)
		if err != nil {
			return readError(path, err)
		}
		defer file.Close()
		e, err := everyStream(file, opt.Strict)
		if err != nil {
			return arrayError(path, err)
		}
		e.Name, found.Format = dataset.BaseName(path), form
		found.add(e)
	} else {
		d, err := dataset.Open(ctx, path, opt)
		if err != nil {
			return readError(path, err)
		}
		defer d.Close()
		found.Format = d.Format()
		for e, err := range dataset.Episodes(ctx, d) {
			if err != nil {
				return readError(path, err)
			}
			found.add(e)
		}
	}
	if a.json {
		return a.writeJSON(found)
	}
	return a.inspected(&found, columns)
}

// everyStream reads an archive's streams, and lists what else it holds.
func everyStream(file *npz.File, strict bool) (*dataset.Episode, error) {
	e, used, err := file.Episode(npz.EpisodeOptions{Strict: strict})
	if err != nil {
		return nil, err
	}
	for i := range e.LeftOut { // an array, or a stream that has another array of its name beside it
		l := &e.LeftOut[i]
		if use := takenElsewhere(file, l.Name); use != "" && file.Has(l.Name) && !file.Has(l.Name+".values") {
			l.Reason = reasonOf(file, l.Name, use)
		}
	}
	for _, name := range unused(file, used) {
		use := takenElsewhere(file, name)
		switch {
		case use != "":
		case file.Has(name + ".values"):
			use = " beside an array " + name + ".values, which is the stream"
		default:
			use = " of no stream, which has NAME.values and NAME.times, or is records with a clock"
		}
		e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: name, Reason: reasonOf(file, name, use)})
	}
	for _, name := range file.Others() {
		e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: name, Reason: "no .npy array"})
	}
	return e, nil
}

// reasonOf says what an array is and what it is for, or why it cannot be read.
func reasonOf(file *npz.File, name, use string) string {
	head, err := file.Header(name)
	if err != nil {
		return strings.TrimPrefix(err.Error(), "npy: ")
	}
	return head.String() + use
}

// takenElsewhere says what takes an array that is no part of a stream, or nothing.
func takenElsewhere(file *npz.File, name string) string {
	switch {
	case file.Has("values") && file.Has("times") && slices.Contains([]string{"values", "times", "targets", "lengths"}, name):
		return ", " + name + " of the batch that robocache resample takes"
	case name == "targets":
		return ", the clock that robocache fuse takes without --hz"
	case file.Has("points") && slices.Contains([]string{"points", "features", "offsets"}, name):
		return ", " + name + " of the cloud that robocache voxelize takes"
	}
	return ""
}

func (f *inspection) add(e *dataset.Episode) {
	out := inspectedEpisode{Name: e.Name, Task: e.Attributes.Task, Success: e.Attributes.Success, Streams: []inspectedStream{}, Media: []inspectedMedia{}, LeftOut: []leftOut{}, Remarks: []string{}}
	for i := range e.Streams {
		s := &e.Streams[i]
		st := s.Stats()
		line := inspectedStream{Name: s.Name, Samples: st.Samples, Rate: st.Rate, FirstNS: st.First, LastNS: st.Last, Gaps: st.Gaps, Duplicates: st.Duplicates,
			BackSteps: st.BackSteps, DType: s.Values.DType().String(), Columns: []inspectedColumn{}}
		for _, c := range s.Columns {
			line.Columns = append(line.Columns, inspectedColumn{c.Name, c.Type, c.Integer, c.Rotation.String()})
		}
		out.Streams = append(out.Streams, line)
	}
	for i := range e.Media {
		m := &e.Media[i]
		out.Media = append(out.Media, inspectedMedia{m.Name, m.Len(), m.Stats().Rate, m.Encoding, m.Width, m.Height})
	}
	for _, l := range e.LeftOut {
		out.LeftOut = append(out.LeftOut, leftOut{l.Name, l.Reason})
	}
	for _, d := range e.Damage {
		out.Remarks = append(out.Remarks, "lost: "+d.String())
	}
	if e.Steps {
		out.Remarks = append(out.Remarks, "no times: timestamps count steps, a second each, unless --rate says how many a second there are")
	}
	out.LostBytes = e.Damage.Bytes()
	f.Episodes = append(f.Episodes, out)
}

// inspected prints a table for each episode.
func (a *app) inspected(f *inspection, columns bool) error {
	for _, e := range f.Episodes {
		fmt.Fprintf(a.out, "%s, %s: %d streams\n", e.Name, f.Format, len(e.Streams))
		t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "stream\tsamples\trate\tcovers\tgaps\tcolumns")
		for _, s := range e.Streams {
			rate, names := "-", make([]string, len(s.Columns))
			if s.Rate > 0 {
				rate = fmt.Sprintf("%.1f Hz", s.Rate)
			}
			for i, c := range s.Columns {
				names[i] = c.Name
			}
			if !columns && len(names) > 4 {
				names = append(names[:3:3], fmt.Sprintf("... %d more", len(names)-3))
			}
			covers := fmt.Sprintf("%.3f to %.3f s", float64(s.FirstNS)/1e9, float64(s.LastNS)/1e9)
			if s.Samples == 0 {
				covers = "-"
			}
			if s.Duplicates > 0 {
				covers += fmt.Sprintf(", %d timestamps repeat", s.Duplicates)
			}
			if s.BackSteps > 0 {
				covers += fmt.Sprintf(", %d steps back", s.BackSteps)
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%d\t%s\n", printed.Text(s.Name), s.Samples, rate, covers, s.Gaps, printed.Text(strings.Join(names, ", ")))
		}
		for _, m := range e.Media {
			fmt.Fprintf(t, "%s\t%d\t%.1f Hz\t\t\t%s %dx%d\n", m.Name, m.Frames, m.Rate, m.Encoding, m.Width, m.Height)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, l := range e.LeftOut {
			fmt.Fprintf(a.out, "left out: %s\n", printed.Text(l.Name+", "+l.Reason))
		}
		for _, r := range e.Remarks {
			a.remark("%s", r)
		}
	}
	return nil
}
