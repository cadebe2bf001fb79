package loader

import (
	"slices"
	"time"
)

// Report returns a description of the drawn episodes and streams.
func (l *Loader) Report() Report {
	if s, streaming := l.feed.(*streamer); streaming { // because the workers add to it
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	r := l.report
	if r.Streaming != nil {
		now := *r.Streaming
		r.Streaming, r.Notes = &now, slices.Clone(r.Notes)
	}
	if l.reel != nil {
		l.reel.report(&r)
	}
	return r
}

// Waits returns the times that the loader has waited for shards and frames. They are zero if it neither streams nor decodes.
func (l *Loader) Waits() Waits {
	var frames time.Duration
	if l.reel != nil {
		frames = time.Duration(l.reel.waitTime.Load())
	}
	s, streaming := l.feed.(*streamer)
	if !streaming {
		return Waits{Frames: frames}
	}
	w := &s.waits
	return Waits{frames, time.Duration(w.shards.Load()), time.Duration(w.slots.Load()), time.Duration(w.reading.Load()), w.bytes.Load(), w.read.Load()}
}
