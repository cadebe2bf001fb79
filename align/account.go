package align

import (
	"fmt"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// report begins the report: the clock, and what became of the recording itself.
func (j *job) report(e *dataset.Episode) Report {
	r := NewReport(j.targets, j.plan.Rate)
	if j.plan.Targets == nil {
		r.Clock.Range = j.plan.Range.Mode.String()
		r.Clock.BeginsWith, r.Clock.EndsWith = j.span.BeginsWith, j.span.EndsWith
	}
	r.Notes = j.left
	if e.Dropouts != nil {
		r.Dropouts = &Dropouts{Count: len(e.Dropouts)}
		for _, d := range e.Dropouts {
			r.Dropouts.Seconds += float64(d.Duration) / 1e9
		}
	}
	r.LostBytes = e.Damage.Bytes()
	for _, d := range e.Damage {
		r.Remarks = append(r.Remarks, "lost: "+d.String())
	}
	taken := e.Remarks
	if len(j.plan.Streams) > 0 {
		var names []string
		for i := range j.plan.Streams {
			names = append(names, j.plan.Streams[i].source())
		}
		taken = e.RemarksOf(names)
	}
	r.Remarks = append(r.Remarks, taken...)
	r.Remarks = append(r.Remarks, j.strays()...)
	if j.span.Remark != "" {
		r.Remarks = append(r.Remarks, j.span.Remark)
	}
	r.Remarks = append(r.Remarks, j.unused()...)
	for _, t := range j.takes {
		if n := t.how.Normalise; n != "" && n != "none" {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %s was left out: it needs the statistics of a dataset", t.stream.Name, n))
		}
	}
	return r
}

// account adds a stream's line to the report.
func (r *Report) account(t *take, a *Aligned, targets *tensor.Tensor, snap ops.Limit, lost func(n *Narrowed) error) error {
	line := StreamReport{
		Name: a.Name, Rows: 1, Columns: len(a.Columns), DType: a.Values.DType().String(),
		Inexact: a.Recorded.Inexact, Kinds: countKinds(a.Channels), Edge: t.edge.String(), BackSteps: t.sorting.late, Timeless: t.sorting.lost, Stray: t.strays,
	}
	if n := t.sorting; n.late+n.lost > 0 {
		r.Remarks = append(r.Remarks, Sorted(a.Name, n.late, n.lost))
	}
	line.Clock(t.stats)
	own, err := shifted(targets, -t.how.Offset)
	if err == nil {
		err = line.Count(a.Recorded.Times, own, a.Valid)
	}
	if err == nil {
		line.Unfinite, err = Unfinite(a.Recorded.Values)
	}
	if err == nil && line.Targets > 0 && line.Valid == 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%s: valid at none of the %d targets", a.Name, line.Targets))
	}
	if remark := Units(a.Recorded.Times, t.stats); remark != "" {
		r.Remarks = append(r.Remarks, a.Name+": "+remark)
	}
	if remark := Degrees(a.Recorded.Values, a.Channels); remark != "" {
		r.Remarks = append(r.Remarks, a.Name+": "+remark)
	}
	if remark := Coarse(a.Recorded, t.stats, own, snap); err == nil && remark != "" {
		r.Remarks = append(r.Remarks, a.Name+": "+remark)
	}
	if err == nil {
		err = lost(&line.Narrowed)
	}
	r.Streams = append(r.Streams, line)
	return err
}

// Sorted says, in words for a person, what became of samples that were recorded out of order, or without a time.
func Sorted(name string, late, lost int) string {
	var list []string
	if late > 0 {
		list = append(list, count(late, "step")+" back in time, sorted")
	}
	if lost > 0 {
		list = append(list, count(lost, "sample")+" without a time, and left out")
	}
	return name + ": " + strings.Join(list, "; ")
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// shifted returns a clock that is later by d.
func shifted(times *tensor.Tensor, d time.Duration) (*tensor.Tensor, error) {
	if d == 0 {
		return times, nil
	}
	if times.DType() == tensor.I64 {
		return shiftedBy(times, int64(d))
	}
	if times.DType() == tensor.F64 {
		return shiftedBy(times, float64(d)/1e9)
	}
	return shiftedBy(times, float32(float64(d)/1e9))
}

func shiftedBy[T int64 | float64 | float32](times *tensor.Tensor, d T) (*tensor.Tensor, error) {
	list, err := tensor.Data[T](times)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = t + d
	}
	return tensor.Of(out, len(out))
}
