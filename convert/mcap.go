package convert

import (
	"context"
	"errors"

	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/atomicfile"
)

// MCAP is files of messages, one an episode: a topic of each stream, camera and series of clouds, as mcap.Writer.Episode writes them; by a plan a topic
// NAME.valid of each stream too.
func MCAP(encoding mcap.Encoding) Target { return messages{encoding} }

type messages struct{ encoding mcap.Encoding }

func (m messages) Name() string   { return "mcap" }
func (m messages) Traits() Traits { return Traits{Ext: ".mcap"} }
func (m messages) Settings() any {
	return struct {
		Encoding string `json:"encoding"`
	}{m.encoding.String()}
}

func (m messages) Create(_ context.Context, path string, _ Piece) (Writer, error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := mcap.NewWriter(f, mcap.WriterOptions{Library: "robocache"})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &messagesWriter{f, m.encoding, w}, nil
}

type messagesWriter struct {
	*atomicfile.File
	encoding mcap.Encoding
	to       *mcap.Writer
}

func (w *messagesWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	kept := Kept{Samples: map[string]int{}}
	for i := range e.Streams {
		kept.Samples[e.Streams[i].Name] = e.Streams[i].Len()
	}
	for i := range e.Media {
		kept.Samples[e.Media[i].Name] = e.Media[i].Len()
	}
	for i := range e.Clouds {
		kept.Samples[e.Clouds[i].Name] = e.Clouds[i].Len()
	}
	own := *e.Episode
	if e.Aligned != nil {
		with, err := e.Aligned.Episode()
		if err != nil {
			return kept, err
		}
		own.Streams = with.Streams
	}
	err := w.to.Episode(ctx, &own, w.encoding)
	var message *mcap.Error
	if errors.As(err, &message) {
		err = &RefusedError{err}
	}
	return kept, err
}

func (w *messagesWriter) Commit(context.Context) error {
	if err := w.to.Close(); err != nil {
		return err
	}
	return w.File.Commit()
}
