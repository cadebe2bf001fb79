package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// pick is a stream to take, and how.
type pick struct {
	stream *dataset.Stream
	times  *tensor.Tensor
	kind   *ops.Kind // as in --stream NAME:kind; nil for what --kind or the columns say
	gap    ops.Limit // as in fuse's --stream NAME:kind:max-gap, else --max-gap
	out    ops.ResampleArgs
}

// ulogJob is a flight log.
type ulogJob struct {
	path    string
	log     *ulog.Log
	picks   []pick
	left    []leftOut
	clock   ops.Clock
	bounds  bounds
	targets *tensor.Tensor
	maxGap  time.Duration // 0 without --max-gap
}

func loadULog(r *request) (*work, error) {
	j, err := readULog(r)
	return &work{j}, err
}

func readULog(r *request) (*ulogJob, error) {
	asked, err := r.parseStreams()
	if err != nil {
		return nil, err
	}
	log, err := ulog.ReadFile(r.in, ulog.Options{AllowTruncated: r.truncated})
	if err != nil {
		return nil, readError(r.in, err)
	}
	j := &ulogJob{path: r.in, log: log}
	j.maxGap, _ = r.gap.limit.Get()
	if err := j.choose(asked, r); err != nil {
		return nil, err
	}
	ranges := make([]extent, 0, len(j.picks))
	for _, p := range j.picks {
		e, err := extentOf(r.op, p.stream.Name, 0, p.times)
		if err != nil {
			return nil, &inputError{Path: r.in, Stream: p.stream.Name, Err: err}
		}
		ranges = append(ranges, e)
	}
	if j.clock, j.bounds, err = clockOver(ranges, r); err != nil {
		return nil, &inputError{Path: r.in, Err: err}
	}
	columns := 0
	for _, p := range j.picks {
		columns += len(p.stream.Columns)
	}
	if err := checkOutput(j.clock, len(j.picks), columns, r); err != nil {
		return nil, err
	}
	j.targets, err = writeOut(j.clock, tensor.I64)
	return j, err
}

// streamFlag is a value of --stream.
type streamFlag struct {
	name string
	kind *ops.Kind
	gap  ops.Limit // fuse: its own --max-gap
}

func (r *request) parseStreams() ([]streamFlag, error) {
	var list []streamFlag
	for _, f := range r.streams {
		name, kindName, given := strings.Cut(f, ":")
		s := streamFlag{name: name, gap: r.gap.limit}
		if r.op == "Fuse" {
			var gap string
			var limit limitFlag
			kindName, gap, _ = strings.Cut(kindName, ":")
			if gap != "" {
				if err := limit.Set(gap); err != nil {
					return nil, usagef("--stream %s: got max-gap %q, %v", f, gap, err)
				}
				s.gap = limit.limit
			}
			given = kindName != ""
		}
		if given {
			c := choice[ops.Kind]{list: kinds()}
			if err := c.Set(kindName); err != nil {
				return nil, usagef("--stream %s: got kind %q, %v", f, kindName, err)
			}
			s.kind = &c.value
		}
		if name == "" {
			return nil, usagef("--stream: got %q, want NAME or NAME:kind", f)
		}
		if slices.ContainsFunc(list, func(o streamFlag) bool { return o.name == name }) {
			return nil, usagef("--stream: %q is given twice, want each stream once", name)
		}
		list = append(list, s)
	}
	return list, nil
}

// choose takes the streams that were asked for, or all, and names those that cannot be resampled.
func (j *ulogJob) choose(asked []streamFlag, r *request) error {
	if len(asked) == 0 {
		for _, s := range j.log.Streams {
			asked = append(asked, streamFlag{name: s.Name, gap: r.gap.limit})
		}
		for _, name := range j.log.Empty {
			j.left = append(j.left, leftOut{name, "no samples"})
		}
		for _, u := range j.log.Unclocked {
			j.left = append(j.left, leftOut{u.Name, fmt.Sprintf("no time stamps for its %d samples", u.Samples)})
		}
	}
	for _, a := range asked {
		s := j.log.Stream(a.name)
		switch reason := j.unusable(s, a.name); {
		case s == nil && reason == "":
			return &inputError{Path: j.path, Msg: fmt.Sprintf("no stream %q, want %s", a.name, strings.Join(j.log.Names(), ", "))}
		case reason != "":
			j.left = append(j.left, leftOut{a.name, reason})
		default:
			times, err := tensor.Of(s.Times, len(s.Times))
			if err != nil {
				return err
			}
			j.picks = append(j.picks, pick{stream: s, times: times, kind: a.kind, gap: a.gap})
		}
	}
	if len(j.picks) == 0 {
		var list []string
		for _, l := range j.left {
			list = append(list, l.Name+" ("+l.Reason+")")
		}
		return &inputError{Path: j.path, Msg: "no stream to resample, want one with two distinct stamps: " + strings.Join(list, ", ")}
	}
	return nil
}

// unusable says why a stream has no place on a clock, or nothing. The stream is nil if the log has no samples of it.
func (j *ulogJob) unusable(s *dataset.Stream, name string) string {
	if s == nil {
		if slices.Contains(j.log.Empty, name) {
			return "no samples"
		}
		for _, u := range j.log.Unclocked {
			if u.Name == name {
				return fmt.Sprintf("no time stamps for its %d samples", u.Samples)
			}
		}
		return ""
	}
	switch st := s.Stats(); {
	case len(s.Columns) == 0:
		return "no columns"
	case st.Samples-st.Duplicates < 2:
		return "fewer than two distinct stamps"
	}
	return ""
}

// result says what became of the log itself.
func (j *ulogJob) result(r *request) *result {
	res := newResult(r, j.targets)
	res.LeftOut = j.left
	res.Dropouts = dropoutsOf(j.log)
	res.LostBytes = j.log.LostBytes
	if j.log.Damage != nil {
		res.Remarks = append(res.Remarks, fmt.Sprintf("%d bytes were not read: %v", j.log.LostBytes, j.log.Damage))
	}
	res.Clock.bounds(j.bounds)
	return res
}

func (j *ulogJob) run(r *request, device *ops.Device) (*result, error) {
	res := j.result(r)
	for i := range j.picks {
		p := &j.picks[i]
		channels, err := j.channels(p, r)
		if err != nil {
			return nil, err
		}
		opts := r.options()
		opts.Kind, opts.Channels = ops.Linear, channels
		args := ops.ResampleArgs{Src: p.stream.Values, SrcTimes: p.times, Targets: j.clock}
		p.out, err = device.Resample(args, opts)
		if err != nil {
			var arg *ops.ArgError
			var value *ops.ValueError
			if errors.As(err, &arg) || errors.As(err, &value) {
				return nil, &inputError{Path: j.path, Stream: p.stream.Name, Err: err}
			}
			return nil, fmt.Errorf("stream %s: %w", p.stream.Name, err)
		}
		line := streamResult{
			Name: p.stream.Name, Rows: 1, Columns: len(p.stream.Columns), DType: p.out.Dst.DType().String(),
			Inexact: p.stream.Inexact, Kinds: countKinds(channels),
		}
		line.clockStats(p.stream.Stats())
		if err := line.count(p.times, j.targets, p.out.Valid); err != nil {
			return nil, err
		}
		if err := line.narrow(p.out.Dst, j.targets, 0, p.stream.Columns, args.Src.DType(), resampled(device, args, opts)); err != nil {
			return nil, err
		}
		res.Streams = append(res.Streams, line)
	}
	return res, nil
}

// channels gives each column its kind: integers hold their last value, known quaternions go along their arc unless another kind
// was asked for, the rest is linear or as asked.
func (j *ulogJob) channels(p *pick, r *request) ([]ops.Channel, error) {
	kind, asked := r.kind.value, r.kind.set
	if p.kind != nil {
		kind, asked = *p.kind, true
	}
	quat := ops.WXYZ
	if r.quat.set {
		quat = r.quat.value
	}
	cols := p.stream.Columns
	if kind == ops.Hermite {
		for _, c := range cols {
			if c.Integer || len(cols)%2 != 0 {
				return nil, &inputError{Path: j.path, Stream: p.stream.Name,
					Msg: fmt.Sprintf("hermite: got columns %s, want floats, as many values as velocities", strings.Join(names(cols), ", "))}
			}
		}
		return []ops.Channel{{Hi: len(cols), Kind: kind}}, nil
	}
	arrays := asked && kind.Width() > 1 // of that many floats; quaternions that are known need not be asked for
	var list []ops.Channel
	found := 0
	for i := 0; i < len(cols); i++ {
		c := ops.Channel{Lo: i, Hi: i + 1, Kind: ops.Linear}
		if asked && !arrays {
			c.Kind, c.Period = kind, r.period.value
		}
		four := fourOf(cols, i)
		switch {
		case cols[i].Integer:
			c.Kind = ops.Previous
		case four != "" && (!asked && known(four) || kind == ops.Slerp && (known(four) || p.kind != nil)):
			c.Kind, c.Quat, c.Hi = ops.Slerp, quat, i+4
		case arrays && kind != ops.Slerp && arrayOf(cols, i, kind.Width()) != "":
			c.Kind, c.Hi = kind, i+kind.Width()
		}
		if c.Kind != ops.Angle {
			c.Period = 0
		}
		if c.Kind == kind {
			found++
		}
		i = c.Hi - 1
		list = append(list, c)
	}
	if p.kind != nil && arrays && found == 0 {
		return nil, &inputError{Path: j.path, Stream: p.stream.Name,
			Msg: fmt.Sprintf("%v: got columns %s, want an array of %s floats", kind, strings.Join(names(cols), ", "),
				map[int]string{3: "three", 4: "four", 6: "six"}[kind.Width()])}
	}
	return merge(list), nil
}

// known reports whether PX4 keeps a quaternion in a field of that name.
func known(base string) bool {
	switch base[strings.LastIndexByte(base, '.')+1:] {
	case "q", "q_d", "q_offset", "delta_q_reset":
		return true
	}
	return false
}

// fourOf returns the name of the array of four floats that begins at column i, or "".
func fourOf(cols []dataset.Column, i int) string { return arrayOf(cols, i, 4) }

// arrayOf returns the name of the array of n floats that begins at column i, or "".
func arrayOf(cols []dataset.Column, i, n int) string {
	base, ok := strings.CutSuffix(cols[i].Name, "[0]")
	if !ok || i+n > len(cols) {
		return ""
	}
	for k, c := range cols[i : i+n] {
		if c.Integer || c.Name != fmt.Sprintf("%s[%d]", base, k) {
			return ""
		}
	}
	if i+n < len(cols) && cols[i+n].Name == fmt.Sprintf("%s[%d]", base, n) {
		return ""
	}
	return base
}

// merge joins neighbours of one kind.
func merge(list []ops.Channel) []ops.Channel {
	var out []ops.Channel
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Kind == c.Kind && out[n-1].Quat == c.Quat && out[n-1].Period == c.Period {
			out[n-1].Hi = c.Hi
			continue
		}
		out = append(out, c)
	}
	return out
}

func countKinds(list []ops.Channel) map[string]int {
	out := map[string]int{}
	for _, c := range list {
		out[c.Kind.String()] += c.Hi - c.Lo
	}
	return out
}

func names(cols []dataset.Column) []string {
	list := make([]string, len(cols))
	for i, c := range cols {
		list[i] = c.Name
	}
	return list
}

func dropoutsOf(log *ulog.Log) *dropouts {
	d := &dropouts{Count: len(log.Dropouts)}
	for _, o := range log.Dropouts {
		d.Seconds += float64(o.Duration) / 1e9
	}
	return d
}

func (j *ulogJob) arrays(w *npz.Writer) error {
	if err := w.Add("times", j.targets); err != nil {
		return err
	}
	for _, p := range j.picks {
		err := errors.Join(
			w.Add(p.stream.Name+".values", p.out.Dst),
			w.Add(p.stream.Name+".valid", p.out.Valid),
			w.Add(p.stream.Name+".age", p.out.Age),
			w.AddStrings(p.stream.Name+".columns", names(p.stream.Columns)),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *ulogJob) panels() ([]viz.Panel, error) {
	var list []viz.Panel
	for _, p := range j.picks {
		list = append(list, p.panel(j.maxGap, j.targets, p.out.Dst))
	}
	return list, nil
}

// panel shows the stream with what was made of it.
func (p *pick) panel(gap time.Duration, targets, made *tensor.Tensor) viz.Panel {
	cols := p.stream.Columns
	panel := viz.Panel{
		Title: p.stream.Name, Columns: names(cols), Held: make([]bool, len(cols)), Gap: gap,
		Recorded:  viz.Series{Times: p.times, Values: p.stream.Values},
		Resampled: viz.Series{Times: targets, Values: made},
	}
	for i, c := range cols {
		panel.Held[i] = c.Integer
		if base := fourOf(cols, i); base != "" && known(base) && panel.Show == nil {
			panel.Show = []int{i, i + 1, i + 2, i + 3}
		}
	}
	return panel
}
