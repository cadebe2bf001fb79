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
		if !slices.Contains(p.cameras, m.Name) && !slices.Contains(p.cameras, AllMedia) {
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
		if i == 0 {
			p.foresee(m.Name, g.frames.len()+len(frame)*m.Len())
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

// foresee estimates the memory for all frames, and calls Large if it is much. bytes are those of a media stream up to this episode.
func (p *packer) foresee(name string, bytes int) {
	if p.large == nil || p.path != "" {
		return
	}
	if p.foreseen == nil {
		p.foreseen = map[string]int64{}
	}
	p.foreseen[name] = int64(float64(bytes) * p.ahead)
	all := int64(0)
	for _, n := range p.foreseen {
		all += n
	}
	if all > manyFrames {
		p.large(all)
		p.large = nil
	}
}

// manyFrames is the frame memory, in bytes, for which Large is called.
const manyFrames = 1 << 30
