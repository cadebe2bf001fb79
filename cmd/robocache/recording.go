package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // registers the formats
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// recording is an episode to resample or fuse.
type recording struct {
	path    string
	form    string // "ulog", "npz"
	episode *dataset.Episode
	plan    align.Plan
	used    []string // arrays of an .npz file that are used
	ignored []string // the arrays that are not used
	notes   noteList
	fused   *align.Fused
	apart   *align.Resampled
	info    dataset.Info
	drawn   []align.Aligned // in the figure
}

func loadRecording(r *request) (*work, error) {
	d, err := dataset.Open(context.Background(), r.in, r.reading)
	if err != nil {
		return nil, readError(r.in, err)
	}
	e, err := r.episode.of(context.Background(), d, r.in)
	if err != nil {
		return nil, err
	}
	plan, err := r.makePlan(e.Names())
	if err != nil {
		return nil, err
	}
	j := &recording{path: r.in, form: d.Format(), episode: e, plan: plan, info: d.Info()}
	if r.reading.Rate > 0 && j.info.RateFrom != "caller" {
		j.notes.remark("rate-unused", "rate has no effect: it is for recordings that have no times and no rate")
	}
	if list := inspection.Problems(j.info.Notes); len(list) > 0 {
		j.notes.remark("problems", "problems of the dataset, which robocache inspect lists: %d, the first: %s: %s", len(list), list[0].Where, list[0].What)
	}
	return &work{j}, d.Close()
}

// loadStreams reads an archive with streams for resample or fuse. If it has no usable stream, the error names the reasons.
func loadStreams(r *request) (_ *work, err error) {
	defer dataset.Watched(r.in, &err)()
	file, err := npz.Open(r.in)
	if err != nil {
		return nil, readError(r.in, err)
	}
	defer file.Close()
	plan, err := r.makePlan(file.StreamNames())
	if err != nil {
		return nil, err
	}
	if !file.Has("targets") && r.Rate == 0 && r.planFile == "" {
		return nil, usagef("no clock given: %s has no array targets, want one or --hz", r.in)
	}
	j := &recording{path: r.in, form: "npz", plan: plan}
	var names []string
	asked := map[string]bool{}
	for _, s := range plan.Streams {
		if from := s.Source(); !asked[from] {
			asked[from] = true
			names = append(names, from)
		}
	}
	var used []string
	if j.episode, used, err = file.Episode(npz.EpisodeOptions{BF16: r.from.Given, Streams: names, Strict: r.reading.Strict}); err != nil {
		return nil, arrayError(r.in, err)
	}
	if len(j.episode.Streams) == 0 {
		return nil, noStreams(r, file, j.episode.Notes.Of(dataset.ClassLeftOut))
	}
	bits := false
	for i := range j.episode.Streams {
		s := &j.episode.Streams[i]
		bits = bits || s.Columns[0].Type == tensor.BF16.String()
		if s.Columns[0].Type == "uint16" {
			if head, err := file.Header(s.Name + ".values"); err == nil {
				j.notes.bits(s.Name+".values", &head)
			}
		}
	}
	if r.from.Given && !bits {
		j.notes.remark("in-dtype-unused", "in-dtype has no effect: no array is uint16")
	}
	if names == nil { // without an explicit list, streams without samples would be missing
		for _, s := range j.episode.Streams {
			j.plan.Streams = append(j.plan.Streams, align.Stream{Name: s.Name})
		}
	}
	if r.Rate == 0 && r.planFile == "" {
		if j.plan.Defaults.MaxGap == align.AutoGap { // arrays are no recording
			j.plan.Defaults.MaxGap = ops.Limit{}
		}
		if j.plan.Targets, err = file.Times("targets"); err != nil {
			return nil, &inputError{Path: r.in, Array: "targets", Err: err}
		}
		used = append(used, "targets")
	}
	j.used, j.ignored = used, append(inspection.Unused(file, used), file.Others()...)
	return &work{j}, nil
}

// noStreams returns the error for an archive without streams: the only candidate's error, or the reasons for all.
func noStreams(r *request, file *npz.File, left dataset.Notes) error {
	if names := file.StreamNames(); len(names) == 1 && len(left) == 1 {
		if _, _, err := file.Episode(npz.EpisodeOptions{BF16: r.from.Given, Streams: names}); err != nil {
			return arrayError(r.in, err)
		}
	}
	const most = 20 // short enough to read
	if len(left) > 0 {
		var list []string
		for _, l := range left[:min(len(left), most)] {
			list = append(list, l.Subject+" ("+notetext.Text(l)+")")
		}
		if n := len(left) - most; n > 0 {
			list = append(list, fmt.Sprintf("and %d more, which robocache inspect lists", n))
		}
		return &inputError{Path: r.in, Msg: "no streams that can be used: " + strings.Join(list, ", ")}
	}
	got := "nothing in it"
	if all := file.Names(); len(all) > 0 {
		got = strings.Join(all[:min(len(all), most)], ", ")
	} else if all = file.Others(); len(all) > 0 {
		got = "no member called NAME.npy, but " + strings.Join(all[:min(len(all), most)], ", ")
	}
	want := "arrays NAME.values [S,D] and NAME.times [S], or records NAME [S] with one clock of " + strings.Join(npz.Clocks(), ", ")
	if r.op == "Resample" {
		want += ", or arrays values and times"
	}
	return &inputError{Path: r.in, Msg: "no streams", Got: got, Want: want}
}

func (j *recording) run(r *request, device *ops.Device) (*result, error) {
	var err error
	res := &result{Input: r.in, Output: r.out, Plot: r.plot, Ignored: append([]string{}, j.ignored...)}
	if r.op == "Fuse" {
		if j.fused, err = align.Fuse(context.Background(), device, j.episode, j.plan); err == nil {
			res.Report = j.fused.Report
		}
	} else if j.apart, err = align.Resample(context.Background(), device, j.episode, j.plan); err == nil {
		res.Report = j.apart.Report
	}
	if err != nil {
		return nil, j.explain(r, err)
	}
	if j.form == "npz" && len(j.plan.Streams) > 0 { // otherwise align lists them
		res.Notes = append(res.Notes, j.episode.Notes.Of(dataset.ClassLeftOut)...)
	}
	res.NoteUnfinite()
	if r.plot != "" {
		j.rank(r)
	}
	res.noteList = j.notes
	return res, nil
}

// aligned returns the result from run as an episode.
func (j *recording) aligned() (*dataset.Episode, error) {
	if j.fused != nil {
		return j.fused.Episode()
	}
	return j.apart.Episode()
}

// explain adds the place in the input to an error.
func (j *recording) explain(r *request, err error) error {
	var stream *align.StreamError
	var arg *ops.ArgError
	var value *ops.ValueError
	var missing *clocks.MissingError
	var many *clocks.ManyError
	var span *clocks.RangeError
	var none *clocks.NoStreamsError
	var size *clocks.SizeError
	var place *clocks.InPlanError
	var steps *clocks.StepsError
	errors.As(err, &place) // nil if the error has no place in a plan file
	switch {
	case errors.As(err, &steps):
		return usagef("--hz: %s counts steps and has no rate, want --rate", j.path)
	case errors.As(err, &missing):
		return &inputError{Path: j.path, Plan: place, Stream: missing.Stream, Err: j.damaged(missing)}
	case errors.As(err, &many):
		return usagef("%s: %v with --stream", j.path, many)
	case errors.As(err, &size):
		return &inputError{Path: j.path, Err: fmt.Errorf("--hz: %w", err)}
	case errors.As(err, &span) && span.Targets > 0 && len(span.Streams) == 0:
		return usagef("--hz: %v", span)
	case errors.As(err, &stream):
		e := &inputError{Path: j.path, Plan: place, Stream: stream.Stream, Got: stream.Got, Want: stream.Want, Err: r.sortable(stream.Err)}
		if j.form == "npz" {
			e.Array = j.array(stream)
		}
		return e
	case errors.As(err, &none):
		if j.form == "npz" {
			none.Notes = append(none.Notes, j.episode.Notes.Of(dataset.ClassLeftOut)...)
		}
		return &inputError{Path: j.path, Err: j.damaged(none)}
	case errors.As(err, &span), errors.As(err, &arg), errors.As(err, &value):
		e := &inputError{Path: j.path, Err: err}
		if j.form == "npz" && (value != nil && value.Arg == "Targets" || arg != nil && arg.Arg == "Targets") {
			e.Array = "targets"
		}
		return e
	}
	var plan *align.PlanError
	if errors.As(err, &plan) && plan.Key == "targets" {
		return &inputError{Path: j.path, Array: "targets", Got: plan.Got, Want: plan.Want}
	}
	return err
}

// damaged adds a recording's losses to an error, because they may be its cause.
func (j *recording) damaged(err error) error {
	if lost := notetext.Lines(j.episode.Notes.Damage()); len(lost) > 0 {
		return fmt.Errorf("%w; %s", err, strings.Join(lost, "; "))
	}
	return err
}

// array returns the name of the archive's array that a stream's error is about.
func (j *recording) array(e *align.StreamError) string {
	name := cmp.Or(e.Arg, ops.Argument(e))
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "Src":
		return j.arrayOf(e.Stream, "values")
	case "SrcTimes":
		return j.arrayOf(e.Stream, "times")
	case "Targets":
		return "targets"
	}
	return ""
}

// arrayOf returns the array with a stream's values or times: its own array, its records, or a shared clock.
func (j *recording) arrayOf(stream, part string) string {
	own := stream + "." + part
	for _, name := range append([]string{own, stream}, npz.Clocks()...) {
		if slices.Contains(j.used, name) {
			return name
		}
	}
	return own
}

func (j *recording) arrays(w arrayfile.Writer) error {
	if j.fused != nil {
		return j.fused.WriteArrays(w)
	}
	return j.apart.WriteArrays(w)
}

// mostPanels is the largest number of streams in a figure if a command names none.
const mostPanels = 12

// rank orders the streams of the figure as a plan for the episode takes them, so that constant ones come last, and keeps the first mostPanels.
// Streams that the command or its plan names are all drawn, in their order.
func (j *recording) rank(r *request) {
	if j.fused != nil {
		j.drawn = j.fused.Streams
	} else {
		j.drawn = j.apart.Streams
	}
	if len(r.streams) > 0 || r.planFile != "" {
		return
	}
	order := suggest.Rank(j.episode, &j.info)
	j.drawn = slices.Clone(j.drawn)
	slices.SortStableFunc(j.drawn, func(a, b align.Aligned) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	if n := len(j.drawn); n > mostPanels {
		var names []string
		for _, s := range j.drawn[mostPanels:] {
			names = append(names, s.Name)
		}
		j.drawn = j.drawn[:mostPanels]
		j.notes.remark("streams-undrawn", "the figure shows %d of %d streams (--stream chooses), without %s", mostPanels, n, text.List(names, 12))
	}
}

func (j *recording) panels() ([]viz.Panel, error) {
	streams := j.drawn
	need := 0.0 // viz draws float64
	for i := range streams {
		need += 8 * float64(streams[i].Len()+streams[i].Recorded.Len()) * float64(len(streams[i].Columns)+1)
	}
	if most := float64(tensor.Available()); need > most {
		return nil, &inputError{Path: j.path, Msg: fmt.Sprintf("--plot: got a picture that takes %s to draw, want at most %s", memory.Size(need), memory.Size(most)), Err: tensor.ErrOutOfMemory}
	}
	var list []viz.Panel
	for i := range streams {
		s := &streams[i]
		if s.Recorded.Len() == 0 {
			continue
		}
		p := viz.Compare(s.Recorded, &s.Stream)
		p.Gap, _ = s.How.MaxGap.Get()
		var err error
		if p.Resampled.Values, err = s.Shown(); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}
