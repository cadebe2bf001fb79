package doctor

import (
	"slices"

	"github.com/robocache/robocache/dataset"
)

// examiner runs the checks of one episode. Each check is a method in a file of its own, and adds its findings to list.
type examiner struct {
	e       *dataset.Episode
	n       int           // the episode's number
	info    *dataset.Info // of the dataset; may be nil
	opt     *Options
	times   map[string][]int64 // of streams with two or more samples, by name
	clocked []*clock
	clockOf map[string]*clock // by stream, camera or cloud
	list    []*Finding
	still   []Finding   // findings about constant streams
	moving  []string    // names of streams that change
	values  int         // numbers examined
	work    *workspace  // shared with the examiners of other episodes
	stated  *statistics // of the dataset; nil if it states none, or if only this episode is examined
}

// add adds a finding with the advice of its kind, which the caller may replace.
func (x *examiner) add(kind Kind, stream string, count int, why string) *Finding {
	f := newFinding(kind, stream, count, why)
	x.list = append(x.list, f)
	return f
}

// placed returns a finding with the episode's path, number and source.
func (x *examiner) placed(f *Finding) Finding {
	f.Path, f.Episode, f.Start = x.opt.Path, x.n, x.zero(f.Subject())
	if f.Path != "" && x.e.Attributes.Source != f.Path {
		f.Source = x.e.Attributes.Source
	}
	return *f
}

// zero returns the time, ns, at which the X axis of a stream's pictures begins: the beginning of the episode, or of the stream if its
// timestamps are in another unit.
func (x *examiner) zero(stream string) int64 {
	of := x.clockOf[stream]
	if of != nil && of.wrong {
		return of.times[0]
	}
	zero := int64(0)
	known := false
	for _, c := range x.clocked {
		if first := c.times[c.lo]; !c.wrong && (!known || first < zero) {
			zero, known = first, true
		}
	}
	return zero
}

// clocks returns the clocks of the episode, one for all streams with the same timestamps.
func (x *examiner) clocks() (list []*clock) {
	add := func(name string, times []int64) *clock {
		for _, c := range list {
			if len(c.times) == len(times) && (&c.times[0] == &times[0] || slices.Equal(c.times, times)) {
				c.others = append(c.others, name)
				x.clockOf[name] = c
				return nil
			}
		}
		c := &clock{stream: name, times: times}
		list = append(list, c)
		x.clockOf[name] = c
		return c
	}
	for i := range x.e.Streams {
		s := &x.e.Streams[i]
		if times := s.Nanoseconds(); len(times) > 1 {
			x.times[s.Name] = times
			if c := add(s.Name, times); c != nil {
				c.raw = s.Times
				if v, ok := valuesOf(s); ok {
					c.values = &v
				}
			}
		}
	}
	for i := range x.e.Media {
		if m := &x.e.Media[i]; m.Len() > 1 {
			add(m.Name, m.Times)
		}
	}
	for i := range x.e.Clouds {
		if c := &x.e.Clouds[i]; c.Len() > 1 {
			add(c.Name, c.Times)
		}
	}
	return list
}

// show sets a finding's rows and columns, and a picture of these columns.
func (x *examiner) show(f *Finding, s *dataset.Stream, v *values, columns, rows []int) {
	f.mark(x.times[s.Name], rows)
	for _, c := range columns {
		f.Columns = append(f.Columns, s.Columns[c].Name)
	}
	f.draw = x.series(s, v, columns, f.At)
}

// series returns a drawing of the first mostLines columns of a stream, with marks at times.
func (x *examiner) series(s *dataset.Stream, v *values, columns []int, marks []int64) drawing {
	times := x.times[s.Name]
	steps := x.e.Steps || len(times) < v.rows
	return func() *Plot {
		p := &Plot{X: "s", Y: s.Name}
		zero := x.zero(s.Name)
		at := func(i int) float64 { return float64(times[i]-zero) / 1e9 }
		if steps {
			p.X, at = "sample", func(i int) float64 { return float64(i) }
		}
		for _, c := range columns[:min(len(columns), mostLines)] {
			p.Lines = append(p.Lines, thin(s.Columns[c].Name, v.rows, at, func(i int) float64 { return v.at(i, c) }))
		}
		for _, t := range marks {
			if len(times) > 0 {
				p.Marks = append(p.Marks, float64(t-zero)/1e9)
			}
		}
		return p
	}
}

// steps returns a drawing of the steps of a clock, with marks at times.
func (x *examiner) steps(c *clock, marks []int64) drawing {
	return func() *Plot {
		p := &Plot{X: "s", Y: "step, ms"}
		zero := x.zero(c.stream)
		p.Lines = []Line{thin(c.stream, c.hi-c.lo-1, func(i int) float64 { return float64(c.times[c.lo+i]-zero) / 1e9 },
			func(i int) float64 { return float64(c.times[c.lo+i+1]-c.times[c.lo+i]) / 1e6 })}
		for _, t := range marks {
			p.Marks = append(p.Marks, float64(t-zero)/1e9)
		}
		return p
	}
}
