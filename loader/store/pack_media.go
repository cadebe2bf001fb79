package store

import (
	"context"
	"fmt"
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
	return slices.Contains(p.cameras, name) || slices.Contains(p.cameras, AllMedia)
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
	_, decodes := m.Source.(dataset.FrameDecoder)
	_, packets := m.Source.(*video.Frames)
	if !packets && (decodes || slices.Contains(videos, m.Encoding)) {
		return dataset.Note{Code: dataset.CodeVideoNotPacked, Detail: dataset.Detail{Got: m.Encoding}}, nil
	}
	if m.Encoding == "" {
		return dataset.Note{Code: dataset.CodeEncodingUnknown}, nil
	}
	at := slices.IndexFunc(p.media, func(o mediaPacker) bool { return o.Name == m.Name })
	if _, taken := p.at[m.Name]; taken && at < 0 {
		return nameOfStream, nil
	}
	if at < 0 {
		at = len(p.media)
		g := mediaPacker{Media: Media{Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Offsets: make([]int64, len(p.episodes)+1)},
			frames: addColumn(&p.pool, &list[uint8]{}), ends: addColumn(&p.pool, &list[int64]{}), times: addColumn(&p.pool, &list[int64]{})}
		p.media = append(p.media, g)
		if err := g.ends.add(&p.pool, []int64{0}); err != nil {
			return why, err
		}
	}
	g := &p.media[at]
	if why = g.difference(m.Encoding, m.Width, m.Height); why.Code != "" {
		return why, nil
	}
	lost := dataset.Note{Code: dataset.CodeFramesUnread, Detail: dataset.Detail{Of: m.Len()}}
	alone := !packets // decoding needs no lost frame
	for i, at := range m.Times {
		frame, err := m.Frame(ctx, i)
		if packets && (err != nil || video.Begins(m.Encoding, frame)) {
			alone = err == nil
		}
		if err == nil && !alone {
			err = fmt.Errorf("frame %d of %s: no key frame before it with all frames after", i, m.Name)
		}
		switch {
		case err != nil && (p.strict || ctx.Err() != nil):
			return why, err
		case err != nil:
			if lost.Count++; lost.Count == 1 {
				lost.Row, lost.Cause = dataset.At(i), err
			}
			continue
		}
		if err := g.frames.add(&p.pool, frame); err != nil {
			return why, err
		}
		if err := g.ends.add(&p.pool, []int64{int64(g.frames.len())}); err != nil {
			return why, err
		}
		if err := g.times.add(&p.pool, []int64{at}); err != nil {
			return why, err
		}
	}
	if lost.Count > 0 {
		return lost, nil
	}
	return why, nil
}
