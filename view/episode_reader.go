package view

import (
	"context"
	"net/http"
	"strconv"

	"github.com/robocache/robocache/internal/caught"
)

// get returns episode i from the cache, or reads it and keeps it in the cache with the retention keep. The error is ctx's, or the error of
// reading the episode.
func (s *Server) get(ctx context.Context, i int, keep retention) (*entry, error) {
	c := &s.episodes
	c.Lock()
	for at, e := range c.recent {
		if e.number == i {
			if keep == latest {
				c.recent = append(append(c.recent[:at:at], c.recent[at+1:]...), e)
				c.forget()
			}
			c.Unlock()
			return e, nil
		}
	}
	r := c.reading[i]
	if r == nil {
		r = &pendingEpisode{done: make(chan struct{})}
		if c.reading == nil {
			c.reading = map[int]*pendingEpisode{}
		}
		c.reading[i] = r
		// With the server's context, because other requests may wait for the same episode.
		begun := s.start(func() {
			r.err = caught.Do(func() error {
				e, err := s.data.Episode(s.ctx, s.info.Place(i, s.data.Len()))
				if err == nil {
					r.entry, err = newEntry(i, e, s.opt.Predictions[i]...)
				}
				return err
			})
			c.Lock()
			delete(c.reading, i)
			if r.err == nil && r.keep != unkept {
				c.keep(r.entry, r.keep) // in the same critical section, so that the episode is always either pending or in the cache
			}
			c.Unlock()
			close(r.done)
		})
		if !begun {
			delete(c.reading, i)
			c.Unlock()
			return nil, context.Canceled
		}
	}
	r.keep = max(r.keep, keep)
	c.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return r.entry, r.err
}

// entryOf returns a request's episode.
func (s *Server) entryOf(r *http.Request) (*entry, error) {
	i, err := s.numberOf(r)
	if err != nil {
		return nil, err
	}
	as := latest
	if r.URL.Query().Has("ahead") {
		as = soon
	}
	return s.get(r.Context(), i, as)
}

// numberOf returns the dataset's own number of a request's episode. If no episode has it, the error is a *missing; if it is no number,
// a *badRequest.
func (s *Server) numberOf(r *http.Request) (int, error) {
	text := r.PathValue("episode")
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, &badRequest{"episode", text, "a number from 0"}
	}
	if s.info.Place(i, s.data.Len()) < 0 {
		return 0, &missing{"episode " + text}
	}
	return i, nil
}
