package view

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// mostMade is how many numbers may be made of an episode for its curves.
const mostMade = 20_000_000

const (
	// mostPixels is the widest picture that is asked for.
	mostPixels = 8192
	// mostDrawn is how many extremes are sent together: of very many columns each gets fewer.
	mostDrawn = 2_000_000
)

// window is the range of time that a request asks for, in ns, and in how many pixels.
func (e *entry) window(r *http.Request) (from, to int64, pixels int, err error) {
	length := float64(e.end-e.start) / 1e9
	const far = 1e9 // seconds
	a, err := number(r, "from", 0, -far, far)
	if err != nil {
		return 0, 0, 0, err
	}
	b, err := number(r, "to", length, -far, far)
	if err != nil {
		return 0, 0, 0, err
	}
	if pixels, err = integer(r, "width", 1000, 1, mostPixels); err != nil {
		return 0, 0, 0, err
	}
	from, to = e.start+int64(math.Floor(a*1e9)), e.start+int64(math.Ceil(b*1e9))
	if from > to {
		return 0, 0, 0, &badRequest{"to", r.FormValue("to"), "a time after from"}
	}
	return from, max(to, from+1), pixels, nil
}

// columnsOf reads the indices of columns that a request asks for, all unless it does.
func columnsOf(r *http.Request, width int) ([]int, error) {
	text, list := r.FormValue("columns"), []int{}
	if text == "" {
		for k := range width {
			list = append(list, k)
		}
		return list, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		k, err := strconv.Atoi(part)
		if err != nil || k < 0 || k >= width || len(list) >= width {
			return nil, &badRequest{"columns", text, fmt.Sprintf("numbers of columns from 0 to %d, with commas", width-1)}
		}
		list = append(list, k)
	}
	return list, nil
}

// serveSeries sends what to draw of a stream in a range of time, in so many pixels, and with a rate or plan what that makes of it.
func (s *Server) serveSeries(w http.ResponseWriter, r *http.Request, e *entry) {
	b, err := s.series(r, e)
	if err != nil {
		failWith(w, err)
		return
	}
	writeBytes(w, b)
}

func (s *Server) series(r *http.Request, e *entry) ([]byte, error) {
	i, err := e.stream(r.FormValue("stream"))
	if err != nil {
		return nil, err
	}
	from, to, pixels, err := e.window(r)
	if err != nil {
		return nil, err
	}
	c := e.curves[i]
	if c == nil {
		return []byte(`{"samples":0,"each":true,"t":[],"v":[],"gaps":[]}`), nil
	}
	columns, err := columnsOf(r, c.width)
	if err != nil {
		return nil, err
	}
	rate, err := number(r, "hz", -1, 0, 1e6)
	if err != nil {
		return nil, err
	}
	pixels = max(min(pixels, mostDrawn/max(len(columns), 1)), 10)
	p, err := c.draw(from, to, pixels, columns)
	if err != nil {
		return nil, err
	}
	b := append(p.appendTo([]byte{'{'}, e.start), `,"gaps":[`...)
	for n, g := range spans(c.gaps, from, to, pixels) {
		if n > 0 {
			b = append(b, ',')
		}
		b = appendTimes(b, e.start, g.From, g.To)
	}
	b = append(b, ']')
	if rate >= 0 {
		if b, err = s.appendMade(b, e, rate, e.Streams[i].Name, from, to, pixels, columns); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func (p *points) appendTo(b []byte, start int64) []byte {
	b = fmt.Appendf(b, `"samples":%d,"each":%t,"t":`, p.rows, p.each)
	b = append(appendTimes(b, start, p.times...), `,"v":[`...)
	for i, v := range p.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumbers(b, v)
	}
	return append(b, ']')
}

// stream returns the index of a stream.
func (e *entry) stream(name string) (int, error) {
	for i := range e.Streams {
		if e.Streams[i].Name == name {
			return i, nil
		}
	}
	return 0, &missing{"stream " + strconv.Quote(name)}
}

// made is what a plan makes of an episode.
type made struct {
	resampled *align.Resampled
	from      []string       // the recorded streams that its streams are made of
	curves    []once[*curve] // of its streams
}

// made returns what a plan makes of the episode at a rate, 0 for the server's plan as it is.
func (s *Server) made(e *entry, rate float64) (*made, error) {
	plan := align.Plan{Rate: rate}
	if s.opt.Plan != nil {
		plan = *s.opt.Plan
		if rate > 0 {
			plan.Rate = rate
		}
	} else if rate == 0 {
		return nil, &badRequest{"hz", "0", "a rate: there is no plan"}
	}
	e.mu.Lock()
	o := e.made[rate]
	if o == nil {
		if len(e.made) >= 2 { // those of rates that someone tried
			clear(e.made)
		}
		o = &once[*made]{}
		e.made[rate] = o
	}
	e.mu.Unlock()
	return o.get(func() (*made, error) {
		columns := 0
		for i := range e.Streams {
			columns += len(e.Streams[i].Columns)
		}
		if n := plan.Rate * e.seconds(e.end) * float64(columns); n > mostMade {
			return nil, &badRequest{"rate", fmt.Sprintf("%g Hz, which gives %.0f million numbers", plan.Rate, n/1e6), fmt.Sprintf("at most %d million", mostMade/1_000_000)}
		}
		got, err := align.Resample(s.ctx, s.device, e.Episode, plan) // not of the request alone: others may wait for it
		if err != nil {
			return nil, err
		}
		m := &made{resampled: got, curves: make([]once[*curve], len(got.Streams))}
		for i := range got.Streams {
			from := got.Streams[i].Name
			for _, p := range plan.Streams {
				if p.Name == from {
					from = cmp.Or(p.From, p.Name)
					break
				}
			}
			m.from = append(m.from, from)
		}
		return m, nil
	})
}

// appendMade adds what a plan makes of a stream, columns by their names.
func (s *Server) appendMade(b []byte, e *entry, rate float64, name string, from, to int64, pixels int, columns []int) ([]byte, error) {
	m, err := s.made(e, rate)
	if err != nil {
		return fmt.Appendf(b, `,"made":{"error":%s}`, quoted(err.Error())), nil
	}
	recorded, which := e.Stream(name), []int{}
	var all points
	for i := range m.resampled.Streams {
		if m.from[i] != name {
			continue
		}
		a := &m.resampled.Streams[i]
		c, err := m.curves[i].get(func() (*curve, error) {
			values, err := a.Shown()
			if err != nil {
				return nil, err
			}
			return newCurve(&dataset.Stream{Name: a.Name, Times: a.Times, Values: values, Columns: a.Columns}, false)
		})
		if err != nil {
			return nil, err
		}
		var taken []int
		for n, k := range columns {
			if at := a.Column(recorded.Columns[k].Name); at >= 0 && !slices.Contains(which, n) {
				taken, which = append(taken, at), append(which, n)
			}
		}
		if c == nil {
			continue
		}
		p, err := c.draw(from, to, pixels, taken)
		if err != nil {
			return nil, err
		}
		p.values = append(all.values, p.values...) // a plan's streams share their clock
		all = p
	}
	if all.values != nil {
		b = fmt.Appendf(b, `,"made":{"columns":%s,`, strings.ReplaceAll(fmt.Sprint(which), " ", ","))
		return append(all.appendTo(b, e.start), '}'), nil
	}
	why := "not among the plan's streams"
	if n := m.resampled.Report.Notes.LeftOut(name); n != nil {
		why = notetext.Text(*n)
	}
	return fmt.Appendf(b, `,"made":{"error":%s}`, quoted(why)), nil
}
