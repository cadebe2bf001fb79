package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// result is what resample and fuse say of their work.
type result struct {
	Input     string         `json:"input"`
	Output    string         `json:"output"`
	Plot      string         `json:"plot,omitempty"`
	Device    deviceInfo     `json:"device"`
	Clock     clockResult    `json:"clock"`
	Streams   []streamResult `json:"streams"`
	AllValid  *int           `json:"all_valid,omitempty"` // fuse: targets at which every stream is valid
	LeftOut   []leftOut      `json:"left_out"`            // streams of a .ulg file that are not in the output, and why
	Ignored   []string       `json:"ignored"`             // members of an .npz file that were not used
	Dropouts  *dropouts      `json:"dropouts,omitempty"`  // losses that the recorder noted
	LostBytes int64          `json:"lost_bytes"`          // of a broken file, under --allow-truncated
	Remarks   []string       `json:"remarks"`
}

// clockResult is the common clock. First and Last are its first and last target: int64 nanoseconds, or seconds as in the input;
// null for a clock without targets, or a target that is not finite.
type clockResult struct {
	DType   string  `json:"dtype"`
	Hz      float64 `json:"hz,omitempty"`
	Targets int     `json:"targets"`
	First   any     `json:"first"`
	Last    any     `json:"last"`
	// The streams whose range begins and ends the clock's.
	BeginsWith string `json:"begins_with,omitempty"`
	EndsWith   string `json:"ends_with,omitempty"`
}

func (c *clockResult) bounds(b bounds) { c.BeginsWith, c.EndsWith = b.first.name, b.last.name }

// streamResult counts what became of a stream. Targets = Valid + OutOfRange + Gapped + NotFinite.
type streamResult struct {
	Name       string         `json:"name"`
	Rows       int            `json:"rows"`
	Columns    int            `json:"columns"`
	DType      string         `json:"dtype"`
	Kinds      map[string]int `json:"kinds"` // columns by kind
	Samples    int            `json:"samples"`
	Targets    int            `json:"targets"`
	Valid      int            `json:"valid"`
	ValidShare float64        `json:"valid_share"` // 0 without targets
	OutOfRange int            `json:"out_of_range"`
	Gapped     int            `json:"gapped"`                  // in range, but in a gap beyond --max-gap or out of --tolerance
	NotFinite  int            `json:"not_finite"`              // targets that are NaN
	Rate       float64        `json:"rate_hz,omitempty"`       // 1 over the median step
	Jitter     float64        `json:"jitter_s,omitempty"`      // 95th percentile of the steps' distance from the median
	Gaps       int            `json:"gaps"`                    // steps of more than three times the median
	LongestGap float64        `json:"longest_gap_s,omitempty"` // of those
	Inexact    int            `json:"inexact_integers"`        // recorded integers that the dtype of the values read could not hold
	narrowed
}

type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type dropouts struct {
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

func deviceOf(i ops.Info) deviceInfo {
	return deviceInfo{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Why: i.Why}
}

func newResult(r *request, targets *tensor.Tensor) *result {
	n := targets.Dim(targets.Rank() - 1)
	c := clockResult{DType: targets.DType().String(), Hz: r.hz.value, Targets: n}
	if targets.Rank() == 1 && n > 0 {
		c.First, c.Last = stamp(targets, 0), stamp(targets, n-1)
	}
	return &result{
		Input: r.in, Output: r.out, Plot: r.plot, Clock: c,
		Streams: []streamResult{}, LeftOut: []leftOut{}, Ignored: []string{}, Remarks: []string{},
	}
}

// stamp returns element i of a clock, or nil if it is not finite.
func stamp(t *tensor.Tensor, i int) any {
	var v float64
	switch t.DType() {
	case tensor.I64:
		ns, err := tensor.Data[int64](t)
		if err != nil {
			return nil
		}
		return ns[i]
	case tensor.F64:
		sec, err := tensor.Data[float64](t)
		if err != nil {
			return nil
		}
		v = sec[i]
	case tensor.F32:
		sec, err := tensor.Data[float32](t)
		if err != nil {
			return nil
		}
		v = float64(sec[i])
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

// count adds a row: its stamps, targets and the operation's valid flags.
func (s *streamResult) count(stamps, targets, valid *tensor.Tensor) error {
	flags, err := tensor.Data[uint8](valid)
	if err != nil {
		return err
	}
	var outside, nan int
	switch stamps.DType() {
	case tensor.I64:
		outside, nan, err = countTargets[int64](stamps, targets, flags)
	case tensor.F64:
		outside, nan, err = countTargets[float64](stamps, targets, flags)
	default:
		outside, nan, err = countTargets[float32](stamps, targets, flags)
	}
	if err != nil {
		return err
	}
	good := bytes.Count(flags, []byte{1})
	s.Samples += stamps.Len()
	s.Targets += len(flags)
	s.Valid += good
	s.OutOfRange += outside
	s.NotFinite += nan
	s.Gapped += len(flags) - good - outside - nan
	if s.Targets > 0 {
		s.ValidShare = float64(s.Valid) / float64(s.Targets)
	}
	return nil
}

// countTargets counts the targets that are not valid since they lie outside sorted stamps, all where there are none, and those that are NaN.
func countTargets[T int64 | float64 | float32](stamps, targets *tensor.Tensor, valid []uint8) (outside, nan int, err error) {
	src, err := tensor.Data[T](stamps)
	if err != nil {
		return 0, 0, err
	}
	dst, err := tensor.Data[T](targets)
	if err != nil {
		return 0, 0, err
	}
	for i, x := range dst {
		switch {
		case x != x:
			nan++
		case valid[i] == 1:
		case len(src) == 0 || x < src[0] || x > src[len(src)-1]:
			outside++
		}
	}
	return outside, nan, nil
}

// clockStats adds what the row's clock is like.
func (s *streamResult) clockStats(st dataset.Stats) {
	s.Rate, s.Jitter = st.Rate, float64(st.Jitter)/1e9
	s.Gaps += st.Gaps
	s.LongestGap = max(s.LongestGap, float64(st.LongestGap)/1e9)
}

// kindNames writes the columns by kind, as in "4 slerp, 5 linear"; the kind alone if there is one.
func (s *streamResult) kindNames() string {
	list := slices.SortedFunc(maps.Keys(s.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Kinds[b], s.Kinds[a]), cmp.Compare(a, b))
	})
	if len(list) == 1 {
		return list[0]
	}
	for i, k := range list {
		list[i] = fmt.Sprintf("%d %s", s.Kinds[k], k)
	}
	return strings.Join(list, ", ")
}

// resampled writes the result: a table to standard output, what is not in the table to standard error.
func (a *app) resampled(r *result) error {
	if a.json {
		return a.writeJSON(r)
	}
	for _, group := range groupReasons(r.LeftOut) {
		a.remark("left out, %s", group)
	}
	if len(r.Ignored) > 0 {
		a.remark("not used: %s", strings.Join(r.Ignored, ", "))
	}
	for _, m := range r.Remarks {
		a.remark("%s", m)
	}
	fmt.Fprintln(a.out, r.Clock.String())
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "stream\tsamples\trate\tgaps\ttargets\tvalid\toutside\tin gaps\tinexact\t  kinds")
	for _, s := range r.Streams {
		rate := "-"
		if s.Rate > 0 {
			rate = fmt.Sprintf("%.1f Hz", s.Rate)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%d\t%.1f %%\t%d\t%d\t%d\t  %s\n", s.Name, s.Samples, rate, s.Gaps,
			s.Targets, 100*s.ValidShare, s.OutOfRange, s.Gapped+s.NotFinite, s.Inexact, s.kindNames())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range r.Streams {
		if lost := s.lost(); lost != "" {
			fmt.Fprintf(a.out, "%s, in %s: %s\n", s.Name, s.DType, lost)
		}
	}
	if n := r.AllValid; n != nil {
		fmt.Fprintf(a.out, "every stream is valid at %d of %d targets\n", *n, r.Clock.Targets)
	}
	if d := r.Dropouts; d != nil && d.Count > 0 {
		fmt.Fprintf(a.out, "dropouts noted by the recorder: %d, %.3f s in all\n", d.Count, d.Seconds)
	}
	wrote := r.Output
	if r.Plot != "" {
		wrote += " and " + r.Plot
	}
	_, err := fmt.Fprintf(a.out, "wrote %s, computed on %s\n", wrote, r.Device.Name)
	return err
}

// String describes the clock in a line.
func (c *clockResult) String() string {
	s := fmt.Sprintf("clock: %d targets", c.Targets)
	if c.Hz > 0 {
		s += fmt.Sprintf(" at %g Hz", c.Hz)
	}
	if first, ok := c.First.(int64); ok {
		last, _ := c.Last.(int64)
		s += fmt.Sprintf(", %s to %s s", seconds(first), seconds(last))
	} else if c.First != nil && c.Last != nil {
		s += fmt.Sprintf(", %v to %v s", c.First, c.Last)
	}
	if c.BeginsWith != "" {
		s += fmt.Sprintf(" (begins with %s, ends with %s)", c.BeginsWith, c.EndsWith)
	}
	return s
}

// groupReasons writes one line a reason, in the order of their first stream.
func groupReasons(list []leftOut) []string {
	var reasons []string
	names := map[string][]string{}
	for _, l := range list {
		if names[l.Reason] == nil {
			reasons = append(reasons, l.Reason)
		}
		names[l.Reason] = append(names[l.Reason], l.Name)
	}
	for i, r := range reasons {
		reasons[i] = r + ": " + strings.Join(names[r], ", ")
	}
	return reasons
}
