package view

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
)

// mostMade is the maximum number of values in one resampling.
const mostMade = 20_000_000

// mostDrawn is the number of extremes in one answer; if there are many columns, each gets fewer pixels.
const mostDrawn = 2_000_000

// serveSeries sends a stream's points in a time range for a width in pixels. If the request has a rate, it adds the points of the
// resampled stream.
func (s *Server) serveSeries(w http.ResponseWriter, r *http.Request, e *entry) error {
	b, err := s.series(r, e)
	if err == nil {
		send(w, jsonType, b)
	}
	return err
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

// resampling returns the episode resampled at a rate in hertz; 0 is the plan's rate. One resampling runs at a time, and all
// its requests wait for it. The error is errBusy while another one runs.
func (s *Server) resampling(e *entry, rate float64) (*resampling, error) {
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
	l := e.resamplings[rate]
	if l == nil {
		if !s.busy.TryLock() {
			e.mu.Unlock()
			return nil, errBusy
		}
		if len(e.resamplings) >= 2 { // for earlier rates
			clear(e.resamplings)
		}
		l = &lazy[*resampling]{}
		e.resamplings[rate] = l
	}
	e.mu.Unlock()
	return l.get(func() (*resampling, error) {
		defer s.busy.Unlock()
		columns := 0
		for i := range e.Streams {
			columns += len(e.Streams[i].Columns)
		}
		if n := plan.Rate * e.seconds(e.end) * float64(columns); n > mostMade {
			return nil, &badRequest{"rate", fmt.Sprintf("%g Hz, which gives %.0f million numbers", plan.Rate, n/1e6), fmt.Sprintf("at most %d million", mostMade/1_000_000)}
		}
		got, err := align.Resample(s.ctx, s.device, e.recorded, plan) // rather than the request's context, because other requests may wait for it
		if err != nil {
			return nil, err
		}
		m := &resampling{resampled: got, curves: make([]lazy[*curve], len(got.Streams))}
		for i := range got.Streams {
			from := got.Streams[i].Name
			for _, p := range plan.Streams {
				if p.Name == from {
					from = p.Source()
					break
				}
			}
			m.from = append(m.from, from)
		}
		return m, nil
	})
}

// appendMade appends the resampled stream's points, with columns matched by name.
func (s *Server) appendMade(b []byte, e *entry, rate float64, name string, from, to int64, pixels int, columns []int) ([]byte, error) {
	m, err := s.resampling(e, rate)
	if err == errBusy {
		return nil, err
	}
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
		p.values = append(all.values, p.values...) // because a plan's streams share their clock
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
