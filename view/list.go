package view

import (
	"context"
	"net/http"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/caught"
)

// slow is the reading time from which an episode's thumbnail is made at once, so that it need not be read again.
const slow = 100 * time.Millisecond

// scan reads and examines every episode for the list, one at a time, so that requests need not wait.
func (s *Server) scan(ctx context.Context) {
	exam := doctor.NewExamination(ctx, s.data, doctor.Options{Path: s.opt.Path})
	for place := range s.data.Len() {
		i, began := s.info.Number(place), time.Now()
		keep := unkept
		if s.data.Len() == 1 {
			keep = latest
		}
		e, err := s.get(ctx, i, keep)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			none := &dataset.Episode{}
			e = &entry{number: i, Episode: none, recorded: none}
		}
		var found []doctor.Finding
		if caught.Do(func() error { found = exam.Add(ctx, i, e.recorded, err); return nil }) == nil {
			_, _ = e.found.get(func() ([]doctor.Finding, error) { return found, nil }) // the findings are there already if the page shows the episode
		}
		s.summarise(e, err)
		if err == nil && time.Since(began) > slow {
			s.frames.keep(s.thumbnail(ctx, e))
		}
	}
	compared := s.list.of(doctor.Whole)
	_ = caught.Do(func() error { compared = exam.Compare(); return nil })
	s.list.finish(compared)
}

// summarise adds an episode to the list.
func (s *Server) summarise(e *entry, err error) {
	n := &summary{Number: e.number, Name: e.Name, Task: e.Attributes.Task, Success: e.Attributes.Success, Steps: e.Steps, Seconds: e.seconds(e.end), Kinds: []string{}}
	for _, f := range s.findings(e) {
		n.count(&f)
	}
	if err != nil {
		n.Error = err.Error()
	}
	s.list.add(n)
}

// serveList sends up to 2000 episode summaries after the first N, in scan's order. N is the argument after. An episode with changed
// findings is sent again. done is true if nothing follows.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) error {
	const most = 2000
	after, err := integer(r, "after", 0, 0, 1<<40)
	if err != nil {
		return err
	}
	s.list.mu.Lock()
	known := []summary{} // copies, because finish changes summaries
	for _, i := range s.list.order[min(after, len(s.list.order)):] {
		if len(known) == most {
			break
		}
		known = append(known, *s.list.known[i])
	}
	done := s.list.done && after+len(known) >= len(s.list.order)
	s.list.mu.Unlock()
	writeJSON(w, map[string]any{"episodes": known, "done": done})
	return nil
}
