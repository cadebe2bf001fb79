package view

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"net/http"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/tensor"
)

// serveFrame sends a camera's frame at a time as JPEG, or depth as grey levels in a PNG. The header Frame has the frame's number, its time and
// the next frame's time, in seconds. The header Depth has the range of depth, in metres if the recording has the scale.
func (s *Server) serveFrame(w http.ResponseWriter, r *http.Request, e *entry) error {
	k, err := e.camera(r)
	if err != nil {
		return err
	}
	at, err := number(r, "at", 0, -1e9, 1e9)
	if err == nil && len(e.mediaOrder[k].times) == 0 {
		err = &missing{"frame of " + e.Media[k].Name}
	}
	height, bad := integer(r, "height", 480, 16, 4320)
	if err == nil {
		err = bad
	}
	if err != nil {
		return err
	}
	c := &e.mediaOrder[k]
	place, from, until := e.moment(c, at)
	w.Header().Set("Frame", fmt.Sprintf(`{"frame":%d,"at":%s,"until":%s}`, c.index(place), from, until))
	shot, err := s.frame(r.Context(), e, k, place, height)
	if err != nil {
		return err
	}
	if scale := 1.0; shot.far > 0 {
		if d := e.Media[k].Depth; d != nil {
			scale = d.Scale
		}
		w.Header().Set("Depth", fmt.Sprintf(`{"near":%g,"far":%g}`, shot.near*scale, shot.far*scale))
	}
	send(w, shot.kind, shot.bytes)
	return nil
}

// frame returns a camera's encoded frame at a place, scaled to a height. A video is decoded in groups with ahead frames. A
// request for a group's second half starts the next group's decoding.
func (s *Server) frame(ctx context.Context, e *entry, camera, place, height int) (*rendering, error) {
	m, c := &e.Media[camera], &e.mediaOrder[camera]
	name := pictureKey{e.number, camera, place, height}
	if _, video := m.Source.(dataset.FrameDecoder); !video || c.which != nil || m.Depth != nil {
		return s.frames.get(ctx, name, name, func(ctx context.Context) { s.frames.keep(one(ctx, m, name, c.index(place))) })
	}
	job := func(place int) (pictureKey, func(ctx context.Context)) {
		from := place - place%ahead
		to := min(from+ahead, m.Len())
		return pictureKey{e.number, camera, from, height}, func(ctx context.Context) { s.frames.run(ctx, m, pictureKey{e.number, camera, from, height}, to) }
	}
	first, do := job(place)
	shot, err := s.frames.get(ctx, name, first, do)
	if next := place + ahead/2; err == nil && next < m.Len() && next/ahead > place/ahead {
		if job, do := job(next); s.frames.find(job) == nil {
			s.frames.begin(job, do)
		}
	}
	return shot, err
}

// decode decodes a frame, or a depth image.
func decode(ctx context.Context, m *dataset.Media, i int) (*tensor.Tensor, error) {
	if m.Depth != nil {
		return m.DecodeDepth(ctx, i)
	}
	return m.Decode(ctx, i)
}

// run decodes consecutive frames in a video. If the decoding ends early, the last error is the result for the frames that are left.
func (f *pictureCache) run(ctx context.Context, m *dataset.Media, name pictureKey, to int) {
	var last error
	failed := caught.Do(func() error {
		for t, err := range m.DecodeRange(ctx, name.place, to) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if last = err; err != nil {
				f.keep(&rendering{name: name, err: err})
			} else {
				f.keep(encoded(name, t))
			}
			name.place++
		}
		return last
	})
	if ctx.Err() != nil {
		return
	}
	for ; failed != nil && name.place < to; name.place++ {
		f.keep(&rendering{name: name, err: failed})
	}
}

// one returns a single frame's picture. A JPEG is not encoded again unless it is more than twice as high as requested.
func one(ctx context.Context, m *dataset.Media, name pictureKey, i int) (s *rendering) {
	err := caught.Do(func() error {
		if m.Encoding == "jpeg" {
			b, err := m.Frame(ctx, i)
			if err != nil {
				return err
			}
			if head, err := jpeg.DecodeConfig(bytes.NewReader(b)); err == nil && head.Height <= 2*name.height {
				s = &rendering{name: name, kind: "image/jpeg", bytes: b}
				return nil
			}
		}
		t, err := decode(ctx, m, i)
		if err == nil {
			s = encoded(name, t)
		}
		return err
	})
	if err != nil {
		s = &rendering{name: name, err: err}
	}
	return s
}
