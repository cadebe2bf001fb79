package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
)

// videos are the encodings whose frames need other frames.
var videos = []string{"h264", "h265", "hevc", "av1", "vp8", "vp9", "mpeg4", "mpeg2"}

// addMedia appends an episode's frames, from the selected media streams.
func (p *packer) addMedia(ctx context.Context, e *dataset.Episode, leave func(n dataset.Note, name string, count int)) error {
	for k := range e.Media {
		m := &e.Media[k]
		if !slices.Contains(p.mediaNames, m.Name) {
			p.mediaNames = append(p.mediaNames, m.Name)
		}
		if !p.packs(m.Name) {
			continue
		}
		if e.Steps {
			leave(dataset.Note{Code: dataset.CodeStepTimes}, m.Name, m.Len())
			continue
		}
		why, err := p.frames(ctx, m)
		if err != nil {
			return err
		}
		if why.Code != "" {
			leave(why, m.Name, m.Len())
		}
	}
	return nil
}

// packs reports whether a media stream is selected.
func (p *packer) packs(name string) bool {
	_, resized := p.size(name)
	return resized || slices.Contains(p.cameras, name) || slices.Contains(p.cameras, AllMedia)
}

// size returns the size to which a media stream's frames are resized, and false if they stay encoded.
func (p *packer) size(name string) (s Size, resized bool) {
	if s, resized = p.sizes[name]; resized {
		return s, true
	}
	s, resized = p.sizes[AllMedia]
	return s, resized && !slices.Contains(p.cameras, name)
}

// unpacked returns an episode's media streams that are not selected.
func (p *packer) unpacked(index int, e *dataset.Episode) recorded {
	r := recorded{index: index}
	for _, m := range e.Media {
		if m.Source = nil; !p.packs(m.Name) {
			r.media = append(r.media, m)
		}
	}
	return r
}

// frames appends a media stream's frames. It returns a note if the stream is left out, or if frames are lost.
func (p *packer) frames(ctx context.Context, m *dataset.Media) (why dataset.Note, err error) {
	as := Media{Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Resized: m.Resized}
	at := slices.IndexFunc(p.media, func(o mediaPacker) bool { return o.Name == m.Name })
	frames := encodedFrames(ctx, m)
	if size, resized := p.size(m.Name); resized {
		if m.Resized && (m.Width != size.Width || m.Height != size.Height) {
			return why, refuse("Frames", fmt.Sprintf("%s=%v", m.Name, size), fmt.Sprintf("%dx%d, to which the store's frames were resized", m.Width, m.Height))
		}
		as.Encoding, as.Width, as.Height, as.Resized = "rgb8", size.Width, size.Height, true
		frames = size.frames(ctx, m, p.workers)
		if at < 0 {
			if _, err := size.decode(m.Decode(ctx, 0)); errors.Is(err, dataset.ErrUnsupported) { // so all its frames would be lost
				cause := dataset.Detail{Of: m.Len(), Cause: err}
				return dataset.Note{Code: dataset.CodeFramesUnread, Row: dataset.At(0), Count: m.Len(), Detail: cause}, nil
			}
		}
	} else if why = undecodable(m); why.Code != "" {
		return why, nil
	}
	if _, taken := p.at[m.Name]; taken && at < 0 {
		return nameOfStream, nil
	}
	if at < 0 {
		at = len(p.media)
		as.Offsets = make([]int64, len(p.episodes)+1)
		g := mediaPacker{Media: as, frames: addColumn(&p.pool, &list[uint8]{}), ends: addColumn(&p.pool, &list[int64]{}), times: addColumn(&p.pool, &list[int64]{})}
		p.media = append(p.media, g)
		if err := g.ends.add(&p.pool, []int64{0}); err != nil {
			return why, err
		}
	}
	g := &p.media[at]
	if why = g.difference(as.Encoding, as.Width, as.Height); why.Code != "" {
		return why, nil
	}
	lost := dataset.Note{Code: dataset.CodeFramesUnread, Detail: dataset.Detail{Of: m.Len()}}
	i := -1
	for frame, err := range frames {
		i++
		switch {
		case err != nil && (p.strict || ctx.Err() != nil || dataset.IsFatal(err)):
			return why, err
		case err != nil:
			if lost.Count++; lost.Count == 1 {
				lost.Row, lost.Cause = dataset.At(i), err
			}
			if frame = nil; !as.Resized {
				continue
			}
		}
		if err := g.frames.add(&p.pool, frame); err != nil {
			return why, err
		}
		if err := g.ends.add(&p.pool, []int64{int64(g.frames.len())}); err != nil {
			return why, err
		}
		if err := g.times.add(&p.pool, m.Times[i:i+1]); err != nil {
			return why, err
		}
	}
	if lost.Count > 0 {
		return lost, nil
	}
	return why, nil
}

// undecodable returns a note if a media stream's encoded frames could not be decoded from a store; else its code is empty.
func undecodable(m *dataset.Media) (why dataset.Note) {
	_, decodes := m.Source.(dataset.FrameDecoder)
	_, packets := m.Source.(*video.Frames)
	switch {
	case !packets && (decodes || slices.Contains(videos, m.Encoding)):
		return dataset.Note{Code: dataset.CodeVideoNotPacked, Detail: dataset.Detail{Got: m.Encoding}}
	case m.Encoding == "":
		why.Code = dataset.CodeEncodingUnknown
	}
	return why
}

// encodedFrames yields the encoded frames. A video packet without a key frame before it, and all packets between them, is an error.
func encodedFrames(ctx context.Context, m *dataset.Media) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		_, packets := m.Source.(*video.Frames)
		alone := !packets // decoding needs no lost frame
		for i := range m.Times {
			frame, err := m.Frame(ctx, i)
			if packets && (err != nil || video.Begins(m.Encoding, frame)) {
				alone = err == nil
			}
			if err == nil && !alone {
				err = fmt.Errorf("frame %d of %s: no key frame before it with all frames after", i, m.Name)
			}
			if !yield(frame, err) {
				return
			}
		}
	}
}
