package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // so that dataset.Open knows them
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// recording is an episode that is resampled or fused.
type recording struct {
	path    string
	form    string // "ulog", "npz"
	episode *dataset.Episode
	plan    align.Plan
	used    []string // arrays of an .npz file that the streams are made of
	ignored []string // and those that are none's
	remarks []string
	fused   *align.Fused
	apart   *align.Resampled
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
	j := &recording{path: r.in, form: d.Format(), episode: e, plan: plan}
	if r.reading.Rate > 0 && d.Info().RateFrom != "caller" {
		j.remarks = append(j.remarks, "rate has no effect: it is for recordings that have no times and do not say")
	}
	info := d.Info()
	if list := inspection.Problems(info.Notes, info.Problems); len(list) > 0 {
		j.remarks = append(j.remarks, fmt.Sprintf("problems of the dataset, which robocache inspect lists: %d, the first: %s: %s", len(list), list[0].Where, list[0].What))
	}
	return &work{j}, d.Close()
}

// loadStreams reads an archive of streams.
func loadStreams(r *request) (*work, error) {
	file, err := npz.Open(r.in)
	if err != nil {
		return nil, readError(r.in, err)
	}
	defer file.Close()
	plan, err := r.makePlan(file.StreamNames())
	if err != nil {
		return nil, err
	}
	if !file.Has("targets") && r.hz == 0 && r.planFile == "" {
		return nil, usagef("no clock given: %s has no array targets, want one or --hz", r.in)
	}
	j := &recording{path: r.in, form: "npz", plan: plan}
	var names []string
	asked := map[string]bool{}
	for _, s := range plan.Streams {
		if s.From != "" {
			s.Name = s.From
		}
		if !asked[s.Name] {
			asked[s.Name] = true
			names = append(names, s.Name)
		}
	}
	var used []string
	if j.episode, used, err = file.Episode(npz.EpisodeOptions{BF16: r.from.set, Streams: names, Strict: r.reading.Strict}); err != nil {
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
				j.remarks = appendBits(j.remarks, s.Name+".values", &head)
			}
		}
	}
	if r.from.set && !bits {
		j.remarks = append(j.remarks, "in-dtype has no effect: no array is uint16")
	}
	if names == nil { // an archive of streams says itself which have a place in a row, samples or not
		for _, s := range j.episode.Streams {
			j.plan.Streams = append(j.plan.Streams, align.Stream{Name: s.Name})
		}
	}
	if r.hz == 0 && r.planFile == "" {
		if j.plan.Targets, err = file.Times("targets"); err != nil {
			return nil, &inputError{Path: r.in, Array: "targets", Err: err}
		}
		used = append(used, "targets")
	}
	j.used, j.ignored = used, append(inspection.Unused(file, used), file.Others()...)
	return &work{j}, nil
}

// noStreams says why nothing of an archive is a stream: the error of the only one that could be, or the reasons of all.
func noStreams(r *request, file *npz.File, left dataset.Notes) error {
	if names := file.StreamNames(); len(names) == 1 && len(left) == 1 {
		if _, _, err := file.Episode(npz.EpisodeOptions{BF16: r.from.set, Streams: names}); err != nil {
			return arrayError(r.in, err)
		}
	}
	const most = 20 // as many as one reads
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

// arrayError names the array of an archive that cannot be used.
func arrayError(path string, err error) error {
	var s *npz.StreamError
	if errors.As(err, &s) {
		if s.Got != "" {
			return &inputError{Path: path, Array: s.Array, Got: s.Got, Want: s.Want}
		}
		return &inputError{Path: path, Array: s.Array, Err: s.Err}
	}
	var f *dataset.FormatError
	if errors.As(err, &f) && errors.Is(err, dataset.ErrNotFound) {
		return &inputError{Path: path, Msg: fmt.Sprintf("no stream %s, want %s", f.Got, f.Want)}
	}
	return readError(path, err)
}

// makePlan is the plan of the flags, or of the file that --plan names. names are the recording's.
func (r *request) makePlan(names []string) (align.Plan, error) {
	if r.planFile != "" {
		p, err := planfile.Read(r.planFile)
		if err != nil {
			var bad *align.PlanError
			if errors.As(err, &bad) {
				return p, err
			}
			return p, readError(r.planFile, err)
		}
		return p, nil
	}
	streams, err := r.parseStreams(names)
	if err != nil {
		return align.Plan{}, err
	}
	return align.Plan{Rate: r.hz, Range: align.Range{Mode: r.span.value}, Snap: r.snap.limit, Unordered: r.unordered, Defaults: r.sampling(), Streams: streams}, nil
}

// sampling is what the flags say of all streams.
func (r *request) sampling() align.Sampling {
	s := align.Sampling{
		Period: r.period, Window: r.window.limit, Fill: r.fill.fill,
		MaxGap: r.gap.limit, Tolerance: r.near.limit, FillGaps: r.fillGaps, DType: r.dtype.value,
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

// splitName takes the name off the beginning of a value of --stream: the longest that there is, or all up to a bracket or colon.
func splitName(f string, names []string) (name, rest string) {
	for _, n := range names {
		if tail, ok := strings.CutPrefix(f, n); ok && len(n) > len(name) && (tail == "" || tail[0] == ':' || tail[0] == '[') {
			name, rest = n, tail
		}
	}
	if name != "" {
		return name, rest
	}
	if end := strings.IndexAny(f, "[:"); end >= 0 {
		return f[:end], f[end:]
	}
	return f, ""
}

func parseStream(f string, names []string) (s align.Stream, err error) {
	name, rest := splitName(f, names)
	s.Name = name
	if columns, found := strings.CutPrefix(rest, "["); found {
		var closed bool
		if columns, rest, closed = strings.Cut(columns, "]:"); !closed {
			columns, closed = strings.CutSuffix(columns, "]")
		}
		if !closed || columns == "" {
			return s, usagef("--stream: got %q, want columns in brackets, such as NAME[x,y]", f)
		}
		s.Columns = strings.Split(columns, ",")
	} else {
		rest = strings.TrimPrefix(rest, ":")
	}
	kind, gap, _ := strings.Cut(rest, ":")
	if s.Name == "" {
		return s, usagef("--stream: got %q, want NAME, NAME:kind or NAME:kind:max-gap", f)
	}
	if kind != "" {
		c := choice[ops.Interp]{list: kinds()}
		if err := c.Set(kind); err != nil {
			return s, usagef("--stream %s: got kind %q, %v", f, kind, err)
		}
		s.Kind = kind
	}
	if gap != "" {
		var limit limitFlag
		if err := limit.Set(gap); err != nil {
			return s, usagef("--stream %s: got max-gap %q, %v", f, gap, err)
		}
		s.MaxGap = limit.limit
	}
	return s, nil
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
	if j.form == "npz" && len(j.plan.Streams) > 0 { // else align lists them
		res.Notes = append(res.Notes, j.episode.Notes.Of(dataset.ClassLeftOut)...)
	}
	res.NoteUnfinite()
	res.Remarks = j.remarks
	return res, nil
}

// aligned is what run has made, as a recording.
func (j *recording) aligned() (*dataset.Episode, error) {
	if j.fused != nil {
		return j.fused.Episode()
	}
	return j.apart.Episode()
}

// explain says where in the input an error lies.
func (j *recording) explain(r *request, err error) error {
	var stream *align.StreamError
	var arg *ops.ArgError
	var value *ops.ValueError
	var missing *align.MissingError
	var placed *align.InPlanError
	var many *align.ManyError
	var span *align.RangeError
	var none *align.NoStreamsError
	var size *align.SizeError
	var place *align.InPlanError
	if errors.As(err, &placed) {
		place = placed
	}
	var steps *align.StepsError
	switch {
	case errors.As(err, &steps):
		return usagef("--hz: %s counts steps and does not say how many a second there are, want --rate", j.path)
	case errors.As(err, &missing):
		return &inputError{Path: j.path, Plan: place, Stream: missing.Stream, Err: j.damaged(missing)}
	case errors.As(err, &many):
		return usagef("%s: %v with --stream", j.path, many)
	case errors.As(err, &size):
		return usagef("--hz: %v", size)
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

// damaged adds to an error what was lost of the recording, which may be why.
func (j *recording) damaged(err error) error {
	if lost := notetext.Lines(j.episode.Notes.Damage()); len(lost) > 0 {
		return fmt.Errorf("%w; %s", err, strings.Join(lost, "; "))
	}
	return err
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
	var disorder *align.DisorderError
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

// array names the array of an archive that a stream's error is about.
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

// arrayOf names the array that a stream's values or times are in: its own, records of its name, or a clock of several.
func (j *recording) arrayOf(stream, part string) string {
	own := stream + "." + part
	for _, name := range append([]string{own, stream}, npz.Clocks()...) {
		if slices.Contains(j.used, name) {
			return name
		}
	}
	return own
}

func (j *recording) arrays(w align.ArrayWriter) error {
	if j.fused != nil {
		return j.fused.WriteArrays(w)
	}
	return j.apart.WriteArrays(w)
}

func (j *recording) panels() ([]viz.Panel, error) {
	var streams []align.Aligned
	if j.fused != nil {
		streams = j.fused.Streams
	} else {
		streams = j.apart.Streams
	}
	need := 0.0 // viz takes what it draws as float64
	for i := range streams {
		need += 8 * float64(streams[i].Len()+streams[i].Recorded.Len()) * float64(len(streams[i].Columns)+1)
	}
	if most := float64(tensor.Available()); need > most {
		return nil, usagef("--plot: got a picture that takes %.1f GiB to draw, want at most %.1f GiB, what there is here", need/(1<<30), most/(1<<30))
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
