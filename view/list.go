package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/caught"
)

// summary is an episode in the list.
type summary struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Task     string   `json:"task,omitempty"`
	Success  *bool    `json:"success,omitempty"`
	Seconds  float64  `json:"seconds"`
	Steps    bool     `json:"steps,omitempty"`
	Streams  int      `json:"streams"`
	Cameras  int      `json:"cameras"`
	Clouds   int      `json:"clouds,omitempty"`
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	Kinds    []string `json:"kinds"`           // of the findings, each once
	Error    string   `json:"error,omitempty"` // why it cannot be read
}

// listing is what is known of the episodes.
type listing struct {
	mu    sync.Mutex
	known []*summary // nil where nothing is known yet
	order []int      // in which they became known
}

func (l *listing) init(n int) { l.known = make([]*summary, n) }

func (l *listing) add(s *summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[s.Number] == nil {
		l.order = append(l.order, s.Number)
		l.known[s.Number] = s
	}
}

func (l *listing) has(i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[i] != nil
}

// slow is how long reading takes of an episode that is not read again for a small picture.
const slow = 100 * time.Millisecond

// scan reads every episode for the list, one at a time, so that those who look at one need not wait.
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
		if err == nil && time.Since(began) > slow { // so that it need not be read again for its picture
			s.frames.keep(s.thumbnail(ctx, e))
		}
	}
}

// summarise puts an episode into the list.
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

// serveList sends the episodes that became known after the first so many, at most 2000 of them.
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

// thumbnailHeight is that of the pictures in the list, in pixels of a screen with two for each of the page.
const thumbnailHeight = 96

// serveThumbnail sends a small picture of an episode: a frame of its middle, or without cameras the shape of its first stream.
func (s *Server) serveThumbnail(w http.ResponseWriter, r *http.Request) {
	i, ok := s.numberOf(w, r)
	if !ok {
		return
	}
	name := thumbnailOf(i)
	shot, err := s.frames.get(r.Context(), name, name, func(ctx context.Context) {
		e, err := s.get(ctx, i, unkept)
		shot := &shot{name: name, err: err}
		if err == nil {
			shot = s.thumbnail(ctx, e)
		}
		if ctx.Err() == nil {
			s.frames.keep(shot)
		}
	})
	if err != nil {
		failWith(w, err)
		return
	}
	if r.FormValue("run") == s.run {
		w.Header().Set("Cache-Control", "private, max-age=86400, immutable")
	}
	w.Header().Set("Content-Type", shot.kind)
	_, _ = w.Write(shot.bytes) // who has gone needs no answer
}

func thumbnailOf(episode int) picture { return picture{episode, -1, 0, thumbnailHeight} }

func (s *Server) thumbnail(ctx context.Context, e *entry) (made *shot) {
	name := thumbnailOf(e.number)
	err := caught.Do(func() error {
		for k := range e.Media {
			m, c := &e.Media[k], &e.mediaOrder[k]
			if n := len(c.times); n > 0 && m.Decodes() {
				t, err := m.Decode(ctx, c.index(n/2))
				if err != nil {
					continue
				}
				made = encoded(name, t)
				return nil
			}
		}
		made = &shot{name: name, kind: "image/svg+xml", bytes: e.sparkline()}
		return nil
	})
	if err != nil {
		made = &shot{name: name, err: err}
	}
	return made
}

// sparkline draws the first columns of the stream with most samples, of flags only where there is nothing else, each from its least to its greatest
// value.
func (e *entry) sparkline() []byte {
	const width, height, lines = 128, 96, 3
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" preserveAspectRatio="none">`, width, height)
	longest, most := -1, 0
	for i, c := range e.curves {
		if c == nil || c.width == 0 {
			continue
		}
		n := len(c.times)
		if e.Streams[i].AllInteger() { // flags, if there is nothing else
			n = 1
		}
		if n > most {
			longest, most = i, n
		}
	}
	if longest >= 0 {
		c := e.curves[longest]
		columns := make([]int, min(c.width, lines))
		for k := range columns {
			columns[k] = k
		}
		if p, err := c.draw(e.start, max(e.end, e.start+1), width/2, columns); err == nil {
			for k, v := range p.values {
				low, high := extent(v)
				if !(high > low) {
					low, high = low-1, low+1
				}
				fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, [...]string{"#4c9be8", "#e8a13c", "#3cb88f"}[k])
				for j, y := range v {
					if y == y {
						fmt.Fprintf(&b, "%.1f,%.1f ", width*float64(p.times[j]-e.start)/float64(max(e.end-e.start, 1)), height-8-(height-16)*(y-low)/(high-low))
					}
				}
				b.WriteString(`"/>`)
			}
		}
	}
	b.WriteString("</svg>")
	return []byte(b.String())
}
