package align

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/precision"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// Report counts the fate of a recording's samples. Its JSON names do not change.
type Report struct {
	Clock struct {
		DType   string  `json:"dtype"`
		Hz      float64 `json:"hz,omitempty"`
		Targets int     `json:"targets"`
		// First and Last are the first and last target: int64 nanoseconds, or seconds as in the input; nil if there is none, or if
		// it is not finite.
		First any    `json:"first"`
		Last  any    `json:"last"`
		Range string `json:"range,omitempty"` // name of the RangeMode
		// BeginsWith and EndsWith are the streams that define the clock's beginning and end.
		BeginsWith string `json:"begins_with,omitempty"`
		EndsWith   string `json:"ends_with,omitempty"`
	} `json:"clock"`
	Streams   []StreamReport `json:"streams"`
	AllValid  *int           `json:"all_valid,omitempty"` // Fuse only: targets at which every stream is valid
	Dropouts  *Dropouts      `json:"dropouts,omitempty"`  // losses that the recorder noted
	LostBytes int64          `json:"lost_bytes"`          // in a broken file that was read as far as possible
	// Notes are about recorded streams that are not in the output (ClassLeftOut), then about damage, choices and changes that are
	// not counted above. Package notetext has their sentences.
	Notes dataset.Notes `json:"-"`
}

// StreamReport counts the samples and targets of a stream. Targets = Valid + OutOfRange + Gapped + NotFinite.
type StreamReport struct {
	Name       string         `json:"name"`
	Rows       int            `json:"rows"` // episodes in a batch
	Columns    int            `json:"columns"`
	DType      string         `json:"dtype"`
	Kinds      map[string]int `json:"methods"` // columns by method of interpolation
	Edge       string         `json:"edge,omitempty"`
	Samples    int            `json:"samples"`
	FirstNS    *int64         `json:"first_ns"` // the first sample
	LastNS     *int64         `json:"last_ns"`
	Targets    int            `json:"targets"`
	Valid      int            `json:"valid"`
	ValidShare float64        `json:"valid_share"` // 0 without targets
	OutOfRange int            `json:"out_of_range"`
	Gapped     int            `json:"gapped"`             // in range, but in a gap beyond MaxGap or outside Tolerance
	NotFinite  int            `json:"not_finite"`         // targets that are NaN
	Rate       float64        `json:"rate_hz"`            // 1 divided by the median step
	Jitter     float64        `json:"jitter_s"`           // 95th percentile of the steps' distance from the median
	Gaps       int            `json:"gaps"`               // see dataset.Stats.Limit
	LongestGap float64        `json:"longest_gap_s"`      // the longest such step
	BackSteps  int            `json:"sorted_back_steps"`  // steps back in time, over which the samples were sorted
	Stray      int            `json:"stray_samples"`      // samples left out, because their timestamp is far from the others
	Timeless   int            `json:"timeless_samples"`   // samples left out, because their timestamp is not finite
	Inexact    int            `json:"lossy_integers"`     // recorded integers that the values' dtype rounds
	Unfinite   int            `json:"not_finite_samples"` // samples with a NaN or infinite value; they are resampled unchanged
	precision.Loss
}

// Dropouts are losses that the recorder noted.
type Dropouts struct {
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

// NewReport returns the report for a clock [T] or [B,T], without streams.
func NewReport(targets *tensor.Tensor, hz float64) Report {
	n := targets.Dim(targets.Rank() - 1)
	r := Report{Streams: []StreamReport{}}
	c := &r.Clock
	c.DType, c.Hz, c.Targets = targets.DType().String(), hz, n
	if targets.Rank() == 1 && n > 0 {
		c.First, c.Last = timeAt(targets, 0), timeAt(targets, n-1)
	}
	return r
}

// timeAt returns element i of a clock, or nil if it is not finite.
func timeAt(t *tensor.Tensor, i int) any {
	if t.DType() == tensor.I64 {
		ns, err := tensor.Data[int64](t)
		if err != nil {
			return nil
		}
		return ns[i]
	}
	sec, err := tensor.Floats(t)
	if err != nil || math.IsNaN(sec[i]) || math.IsInf(sec[i], 0) {
		return nil
	}
	return sec[i]
}

// Count adds an episode: its sample timestamps and targets, both in one dtype, and the operation's valid flags.
func (s *StreamReport) Count(times, targets, valid *tensor.Tensor) error {
	flags, err := tensor.Packed[uint8](valid)
	if err != nil {
		return err
	}
	var outside, nan int
	switch times.DType() {
	case tensor.I64:
		outside, nan, err = countTargets[int64](times, targets, flags)
	case tensor.F64:
		outside, nan, err = countTargets[float64](times, targets, flags)
	default:
		outside, nan, err = countTargets[float32](times, targets, flags)
	}
	if err != nil {
		return err
	}
	good := bytes.Count(flags, []byte{1})
	s.Samples += times.Len()
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

// countTargets counts the targets that are not valid because they lie outside the sorted timestamps, and the targets that are NaN. If there
// are no timestamps, all targets are outside.
func countTargets[T int64 | float64 | float32](times, targets *tensor.Tensor, valid []uint8) (outside, nan int, err error) {
	src, err := tensor.Data[T](times)
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

// Clock adds the rate, gaps and range of an episode's timestamps.
func (s *StreamReport) Clock(st dataset.Stats) {
	s.Rate, s.Jitter = st.Rate, float64(st.Jitter)/1e9
	s.Gaps += st.Gaps
	s.LongestGap = max(s.LongestGap, float64(st.LongestGap)/1e9)
	if st.Samples > 0 && (s.FirstNS == nil || st.First < *s.FirstNS) {
		s.FirstNS = &st.First
	}
	if st.Samples > 0 && (s.LastNS == nil || st.Last > *s.LastNS) {
		s.LastNS = &st.Last
	}
}

// NoteUnfinite adds a note for each stream with samples that are not finite.
func (r *Report) NoteUnfinite() {
	for i := range r.Streams {
		if s := &r.Streams[i]; s.Unfinite > 0 {
			r.Notes.Add(dataset.Note{Code: dataset.CodeNotFinite, Subject: s.Name, Count: s.Unfinite, Detail: dataset.Detail{Of: s.Samples}})
		}
	}
}

// kindNames returns the number of columns by kind, for example "4 slerp, 5 linear", or the kind alone if there is one.
func (s *StreamReport) kindNames() string {
	list := slices.SortedFunc(maps.Keys(s.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Kinds[b], s.Kinds[a]), cmp.Compare(a, b))
	})
	if len(list) > 1 {
		for i, k := range list {
			list[i] = fmt.Sprintf("%d %s", s.Kinds[k], k)
		}
	}
	if s.Edge == "hold" {
		list = append(list, "held")
	}
	return strings.Join(list, ", ")
}

// covers returns the time of the samples as text.
func (s *StreamReport) covers() string {
	if s.FirstNS == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f s", float64(*s.FirstNS)/1e9, float64(*s.LastNS)/1e9)
}

// String returns the text of Print.
func (r Report) String() string {
	var b strings.Builder
	_ = r.Print(&b) // a strings.Builder does not fail
	return b.String()
}

// Print writes the clock in one line, a table with a line per stream, and the losses. If w has a method Width() int, the table leaves out columns that
// are beyond that width.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	if _, err := io.WriteString(w, r.clock()+"\n"+r.outside()); err != nil {
		return err
	}
	t := text.NewTable(w, tabwriter.AlignRight, "range", "timestamps", "lossy", "  methods", "outside")
	fmt.Fprintln(t, "stream\tsamples\trate\tgaps\trange\ttimestamps\tvalid\toutside\tin gaps\tlossy\t  methods")
	for _, s := range r.Streams {
		rate := "-"
		if s.Rate > 0 {
			rate = fmt.Sprintf("%.1f Hz", s.Rate)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\t%d\t%.1f %%\t%d\t%d\t%d\t  %s\n", printed.Text(s.Name), s.Samples, rate, s.Gaps, s.covers(),
			s.Targets, 100*s.ValidShare, s.OutOfRange, s.Gapped, s.Inexact, s.kindNames())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range r.Streams {
		if s.NotFinite > 0 {
			fmt.Fprintf(&b, "%s: %s that are no times\n", printed.Text(s.Name), text.Count(s.NotFinite, "timestamp"))
		}
		if lost := s.Lost(); lost != "" {
			fmt.Fprintf(&b, "%s, in %s: %s\n", printed.Text(s.Name), s.DType, lost)
		}
	}
	if n := r.AllValid; n != nil {
		fmt.Fprintf(&b, "every stream is valid at %d of %d timestamps\n", *n, r.Clock.Targets)
	}
	if d := r.Dropouts; d != nil && d.Count > 0 {
		fmt.Fprintf(&b, "dropouts noted by the recorder: %d, %.3f s in all\n", d.Count, d.Seconds)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// clock returns a line about the clock.
func (r *Report) clock() string {
	c := &r.Clock
	s := fmt.Sprintf("clock: %d timestamps", c.Targets)
	if c.Hz > 0 {
		s += fmt.Sprintf(" at %g Hz", c.Hz)
	}
	if first, ok := c.First.(int64); ok {
		last, _ := c.Last.(int64)
		s += fmt.Sprintf(", %s to %s s", cover.Seconds(first), cover.Seconds(last))
	} else if c.First != nil && c.Last != nil {
		s += fmt.Sprintf(", %v to %v s", c.First, c.Last)
	}
	if c.BeginsWith != "" {
		s += fmt.Sprintf(" (begins with %s, ends with %s)", printed.Text(c.BeginsWith), printed.Text(c.EndsWith))
	}
	return s
}

// outside returns a line about the streams that shorten a clock by a tenth of the recording and a second or more, or nothing.
func (r *Report) outside() string {
	c := &r.Clock
	first, _ := c.First.(int64)
	last, ok := c.Last.(int64)
	lo, hi := first, last
	for _, s := range r.Streams {
		if s.FirstNS != nil {
			lo, hi = min(lo, *s.FirstNS), max(hi, *s.LastNS)
		}
	}
	share := 1 - float64(last-first)/float64(max(hi-lo, 1))
	if !ok || c.BeginsWith == "" || c.EndsWith == "" || share < 0.1 || hi-lo-(last-first) < 1e9 {
		return ""
	}
	ends := slices.Compact([]string{c.BeginsWith, c.EndsWith})
	return fmt.Sprintf("%.0f %% of the time from %s to %s s is outside, because each stream must have samples: without %s there is more\n",
		100*share, cover.Seconds(lo), cover.Seconds(hi), printed.Text(strings.Join(ends, " or ")))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
