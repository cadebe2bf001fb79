package convert

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"maps"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/video"
)

// MCAP returns the target for MCAP files, one per episode, with a topic for each stream, camera and cloud series, as
// mcap.Writer.Episode writes them. With a plan there is also a topic NAME.valid for each stream. Some videos cannot be copied,
// because their packets need the file header or frames that the plan leaves out. They are written as JPEG images, with a note.
func MCAP(encoding mcap.Encoding) Target { return messages{encoding} }

type messages struct{ encoding mcap.Encoding }

func (m messages) Name() string { return "mcap" }

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
	maps.Insert(kept.Samples, e.Lengths())
	own := *e.Episode
	if e.Aligned != nil {
		with, err := e.Aligned.Episode()
		if err != nil {
			return kept, err
		}
		own.Streams = with.Streams
	}
	own.Media, own.Texts = nil, nil
	for _, t := range e.Texts {
		if _, taken := kept.Samples[t.Name]; taken {
			kept.leave(t.Name, 1, dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Want: "mcap", Unit: "it"}})
		} else {
			own.Texts = append(own.Texts, t)
		}
	}
	held := kept.undecoded(e.Episode)
	for _, m := range e.Media {
		packets, copied, err := packetsOf(&m, e.Times)
		if err != nil {
			return kept, err
		}
		if copied {
			m = packets
		} else if stills := stillsOf(&m); stills != nil {
			defer stills.close()
			stills.held = func(row int, err error) bool { return held(m.Name, row, err) == nil }
			if why := undecoded(ctx, &m); why.Code != "" {
				kept.giveUp(m.Name, why)
				continue
			}
			m.Encoding, m.Source = "jpeg", stills
			kept.Notes.Add(dataset.Note{Code: dataset.CodeFramesJPEG, Subject: m.Name, Detail: dataset.Detail{Got: strconv.Itoa(jpegQuality)}})
		}
		own.Media = append(own.Media, m)
	}
	for {
		err := w.to.Episode(ctx, &own, w.encoding)
		var message *mcap.Error
		switch {
		case !errors.As(err, &message):
			return kept, err
		case !withoutRefused(&own, message, &kept):
			return kept, &RefusedError{err}
		}
	}
}

// twice is the writer's error for a name that a stream and a camera share, because it cannot choose one to leave out.
const twice = "the name twice"

// withoutRefused removes from e the stream, camera, cloud series or texts that the writer's error names, adds a note to kept, and returns
// true. It returns false if the error names none, or if e has nothing else.
func withoutRefused(e *dataset.Episode, bad *mcap.Error, kept *Kept) bool {
	why := dataset.Note{Code: dataset.CodeUnheld, Detail: dataset.Detail{Unit: "MCAP", Got: bad.Got, Want: bad.Want}}
	for i, t := range e.Texts {
		if bad.What == "text "+t.Name {
			e.Texts = slices.Delete(e.Texts, i, i+1)
			kept.leave(t.Name, 1, why)
			return true
		}
	}
	if len(e.Streams)+len(e.Media)+len(e.Clouds) == 1 || bad.Got == twice {
		return false
	}
	name := ""
	refused := func(what, of string) bool {
		if bad.What != what+" "+of {
			return false
		}
		name = of
		return true
	}
	e.Streams = slices.DeleteFunc(slices.Clone(e.Streams), func(s dataset.Stream) bool { return refused("stream", s.Name) })
	e.Media = slices.DeleteFunc(slices.Clone(e.Media), func(m dataset.Media) bool { return refused("media", m.Name) })
	e.Clouds = slices.DeleteFunc(slices.Clone(e.Clouds), func(c dataset.CloudStream) bool { return refused("clouds", c.Name) })
	if _, written := kept.Samples[name]; !written { // of no stream of the episode, or twice
		return false
	}
	e.Streams = slices.DeleteFunc(e.Streams, func(s dataset.Stream) bool { return s.Name == name+".valid" })
	kept.giveUp(name, why)
	return true
}

// packetsOf returns a video with packets that can be copied as messages, and true if each row has the next frame: see lerobot.Packets.
func packetsOf(m *dataset.Media, times []int64) (packets dataset.Media, ok bool, err error) {
	if cut, ok := copied(m, times); ok {
		m = &cut
	}
	return lerobot.Packets(m)
}

// stillsOf returns a source of JPEG frames for a video if its packets cannot be written as messages; nil for all other media.
func stillsOf(m *dataset.Media) *stills {
	if p, picked := m.Source.(*Picked); picked {
		if p.Recorded.IsVideo() {
			return &stills{Picked: p}
		}
		return nil
	}
	if _, packets := m.Source.(*video.Frames); packets || !m.IsVideo() {
		return nil
	}
	p := &Picked{Recorded: m, Frames: make([]int, m.Len())}
	for i := range p.Frames {
		p.Frames[i] = i
	}
	own := *m
	p.Recorded = &own
	return &stills{Picked: p}
}

// stills decodes a video's frames and encodes each as JPEG. A damaged frame shows the frame before it, or else the first good one.
type stills struct {
	*Picked
	held func(row int, err error) bool // counts a damaged frame, and reports whether the limit still holds
	good []byte                        // the last good frame
}

func (s *stills) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.decode(ctx, s.Frames[i])
	if damaged(err) && s.held(i, err) {
		for row := i + 1; s.good == nil && damaged(err) && row < len(s.Frames); row++ {
			t, err = s.decode(ctx, s.Frames[row])
		}
		if s.good != nil {
			return s.good, nil
		}
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = jpeg.Encode(&b, picture(t), &jpeg.Options{Quality: jpegQuality})
	s.good = b.Bytes()
	return s.good, err
}

func (w *messagesWriter) Commit(context.Context) error {
	if err := w.to.Close(); err != nil {
		return err
	}
	return w.File.Commit()
}
