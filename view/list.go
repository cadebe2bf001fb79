package view

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/robocache/robocache/doctor"
)

// slow is the reading time of an episode from which its thumbnail is made at once, so that it need not be read again.
const slow = 100 * time.Millisecond

// scan reads every episode for the list, one at a time, so that requests need not wait.
func (s *Server) scan(ctx context.Context) {
	for i := range s.data.Len() {
		if ctx.Err() != nil {
			return
		}
		if s.list.has(i) {
			continue
		}
		began := time.Now()
		keep := unkept
		if s.data.Len() == 1 {
			keep = latest
		}
		e, err := s.get(ctx, i, keep)
		s.summarise(i, e, err)
		if err == nil && time.Since(began) > slow {
			s.frames.keep(s.thumbnail(ctx, e))
		}
	}
}

// summarise adds an episode to the list.
func (s *Server) summarise(i int, e *entry, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	n := &summary{Number: i, Kinds: []string{}}
	if err != nil {
		n.Error, n.Errors = err.Error(), 1
		n.Kinds = append(n.Kinds, string(doctor.Unreadable))
		s.list.add(n)
		return
	}
	n.Name, n.Task, n.Success, n.Steps = e.Name, e.Attributes.Task, e.Attributes.Success, e.Steps
	n.Seconds, n.Streams, n.Cameras, n.Clouds = e.seconds(e.end), len(e.Streams), len(e.Media), len(e.Clouds)
	seen := map[doctor.Kind]bool{}
	for _, f := range s.findings(e) {
		if f.Severity == doctor.Error {
			n.Errors++
		} else {
			n.Warnings++
		}
		if !seen[f.Kind] {
			seen[f.Kind] = true
			n.Kinds = append(n.Kinds, string(f.Kind))
		}
	}
	s.list.add(n)
}

// serveList sends up to 2000 summaries of episodes after the first N, in the order of scan: N is the argument after.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	const most = 2000
	after, err := integer(r, "after", 0, 0, 1<<40)
	if err != nil {
		failWith(w, err)
		return
	}
	s.list.mu.Lock()
	known := []*summary{}
	for _, i := range s.list.order[min(after, len(s.list.order)):] {
		if len(known) == most {
			break
		}
		known = append(known, s.list.known[i])
	}
	all := len(s.list.known)
	s.list.mu.Unlock()
	writeJSON(w, map[string]any{"episodes": known, "all": all})
}
