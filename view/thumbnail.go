package view

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
)

// thumbnailHeight is the pictures' height in the list, for a screen that has two pixels for each on the page.
const thumbnailHeight = 96

// serveThumbnail sends an episode's small picture: its middle frame, or a sparkline if it has no camera.
func (s *Server) serveThumbnail(w http.ResponseWriter, r *http.Request) error {
	i, err := s.numberOf(r)
	if err != nil {
		return err
	}
	name := thumbnailOf(i)
	shot, err := s.frames.get(r.Context(), name, name, func(ctx context.Context) {
		e, err := s.get(ctx, i, unkept)
		shot := &rendering{name: name, err: err}
		if err == nil {
			shot = s.thumbnail(ctx, e)
		}
		if ctx.Err() == nil {
			s.frames.keep(shot)
		}
	})
	if err != nil {
		return err
	}
	if r.FormValue("run") == s.run {
		w.Header().Set("Cache-Control", "private, max-age=86400, immutable")
	}
	send(w, shot.kind, shot.bytes)
	return nil
}

func thumbnailOf(episode int) pictureKey { return pictureKey{episode, -1, 0, thumbnailHeight} }

func (s *Server) thumbnail(ctx context.Context, e *entry) (made *rendering) {
	name := thumbnailOf(e.number)
	err := caught.Do(func() error {
		for k := range e.Media {
			m, c := &e.Media[k], &e.mediaOrder[k]
			if n := len(c.times); n > 0 && (m.Decodes() || m.Depth != nil) {
				t, err := decode(ctx, m, c.index(n/2))
				if dataset.IsFatal(err) {
					return err
				}
				if err != nil {
					continue
				}
				made = encoded(name, t)
				return nil
			}
		}
		made = &rendering{name: name, kind: "image/svg+xml", bytes: e.sparkline()}
		return nil
	})
	if err != nil {
		made = &rendering{name: name, err: err}
	}
	return made
}

// sparkline draws the first columns in the stream with most samples, each from its least to its greatest value. It prefers streams other than flags.
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
		if e.Streams[i].AllInteger() { // flags are drawn if there is no other stream
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
