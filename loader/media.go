package loader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// Media is a packed media stream: the frames of all episodes as they were encoded, one after the other. In a store's file its tensors are
// NAME.frames, NAME.frame_offsets, NAME.times and NAME.offsets, and any program has frame i of episode e by slices of them. In Python:
//
//	t = safetensors.numpy.load_file("store.safetensors")
//	k = t["NAME.offsets"][e] + i
//	begin, end = t["NAME.frame_offsets"][k : k + 2]
//	jpeg = t["NAME.frames"][begin:end].tobytes()
type Media struct {
	Name     string
	Encoding string // of all frames: "jpeg", "png", or one of raw pixels
	// Width and Height are those of all frames, pixels; 0 if a dataset does not say, or if frames that say it themselves are of several sizes.
	Width, Height int
	Frames        *tensor.Tensor // [bytes], u8; nil of a store in several files, as are the next two: its frames are had by Store.Episode
	FrameOffsets  *tensor.Tensor // [S+1], i64: frame k is the bytes FrameOffsets[k] to FrameOffsets[k+1]-1
	Times         *tensor.Tensor // [S], i64 nanoseconds
	Offsets       []int64        // [E+1]: episode e has the frames Offsets[e] to Offsets[e+1]-1

	shards []*Media // as those of a Stream
	begins []int
}

// Len returns S, the frames of all episodes.
func (m *Media) Len() int { return int(m.Offsets[len(m.Offsets)-1]) }

// Bytes returns how many bytes the frames of all episodes have.
func (m *Media) Bytes() int {
	n := 0
	for _, s := range m.parts() {
		n += s.Frames.Len()
	}
	return n
}

// parts are the media stream in the files that have it.
func (m *Media) parts() []*Media {
	if m.shards == nil {
		return []*Media{m}
	}
	return slices.DeleteFunc(slices.Clone(m.shards), func(s *Media) bool { return s == nil })
}

// saved are its tensors.
func (m *Media) saved() []saved {
	var frames, times []*tensor.Tensor
	parts := m.parts()
	for _, s := range parts {
		frames, times = append(frames, s.Frames), append(times, s.Times)
	}
	offsets := saved{m.Name + ".frame_offsets", tensor.I64, []int{m.Len() + 1}, func(w io.Writer) error {
		if err := (&list[int64]{rows: []int64{0}}).writeRows(w); err != nil {
			return err
		}
		begin := int64(0)
		for _, s := range parts {
			ends, err := tensor.Data[int64](s.FrameOffsets)
			if err != nil {
				return err
			}
			ends = slices.Clone(ends[1:])
			for i := range ends {
				ends[i] += begin
			}
			if err := (&list[int64]{rows: ends}).writeRows(w); err != nil {
				return err
			}
			begin += int64(s.Frames.Len())
		}
		return nil
	}}
	return []saved{savedOf(m.Name+".frames", tensor.U8, []int{m.Bytes()}, frames...), offsets, savedOf(m.Name+".times", tensor.I64, []int{m.Len()}, times...),
		savedInts(m.Name+".offsets", m.Offsets)}
}

// MediaStream returns the packed media stream of that name, or nil.
func (s *Store) MediaStream(name string) *Media {
	if i := slices.IndexFunc(s.Media, func(m Media) bool { return m.Name == name }); i >= 0 {
		return &s.Media[i]
	}
	return nil
}

func (m *Media) close() {
	for _, t := range []*tensor.Tensor{m.Frames, m.FrameOffsets, m.Times} {
		t.Close() // which of host memory only says so
	}
}

// check says what of a packed media stream does not go together, or nothing. Where each frame ends is looked at when it is read.
func (m *Media) check(episodes int) string {
	f, o, t := m.Frames, m.FrameOffsets, m.Times
	switch {
	case m.Encoding == "" || m.Width < 0 || m.Height < 0:
		return fmt.Sprintf("encoding %q of %dx%d pixels", m.Encoding, m.Width, m.Height)
	case f.DType() != tensor.U8 || f.Rank() != 1:
		return fmt.Sprintf("frames %v", f)
	case t.DType() != tensor.I64 || t.Rank() != 1:
		return fmt.Sprintf("times %v", t)
	case o.DType() != tensor.I64 || o.Rank() != 1 || o.Dim(0) != t.Dim(0)+1:
		return fmt.Sprintf("frame_offsets %v of times %v", o, t)
	}
	return checkOffsets(m.Offsets, episodes, t.Dim(0))
}

// addMedia gives an episode its frames.
func (s *Store) addMedia(e *dataset.Episode, i int) error {
	for k := range s.Media {
		m := &s.Media[k]
		lo, hi := int(m.Offsets[i]), int(m.Offsets[i+1])
		if lo == hi {
			if e.Notes.LeftOut(m.Name) == nil {
				e.Notes = append(e.Notes, dataset.Note{Code: dataset.CodeNoSamples, Subject: m.Name})
			}
			continue
		}
		from := &packedFrames{s, m, lo}
		if m.shards != nil {
			k := shardAt(m.begins, i)
			from = &packedFrames{s.shards[k], m.shards[k], int(m.shards[k].Offsets[i-m.begins[k]])}
		}
		out := dataset.Media{Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Source: from}
		if video.Decodes(m.Encoding) {
			out.Source = &video.Frames{FrameSource: from, Name: m.Name, Codec: m.Encoding, Count: hi - lo, Packet: from.packet}
		}
		err := from.store.Guard(func() error {
			times, err := tensor.Data[int64](from.media.Times)
			if err == nil {
				out.Times = slices.Clone(times[from.from:][:hi-lo])
			}
			return err
		})
		if err != nil {
			return err
		}
		e.Media = append(e.Media, out)
	}
	return nil
}

// packedFrames are the frames of an episode, from one on.
type packedFrames struct {
	store *Store
	media *Media
	from  int
}

// ReadFrame returns a copy of a frame.
func (p *packedFrames) ReadFrame(_ context.Context, i int) (frame []byte, err error) {
	err = p.store.Guard(func() error {
		offsets, err := tensor.Data[int64](p.media.FrameOffsets)
		if err != nil {
			return err
		}
		frames, err := tensor.Data[uint8](p.media.Frames)
		if err != nil {
			return err
		}
		lo, hi := offsets[p.from+i], offsets[p.from+i+1]
		if lo < 0 || hi < lo || hi > int64(len(frames)) {
			return &dataset.FormatError{Format: "store", Offset: -1, Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("frame %d of %s", i, p.media.Name),
				Got: fmt.Sprintf("bytes %d to %d", lo, hi), Want: fmt.Sprintf("within 0 to %d", len(frames))}
		}
		frame = bytes.Clone(frames[lo:hi])
		return nil
	})
	return frame, err
}

// packet says of a frame of a video how many bytes it has, and whether decoding can begin there.
func (p *packedFrames) packet(ctx context.Context, i int) (size uint32, begins bool, err error) {
	b, err := p.ReadFrame(ctx, i)
	return uint32(min(len(b), math.MaxUint32)), video.Begins(p.media.Encoding, b), err
}

// packingMedia is a packed media stream of which episodes are still to come.
type packingMedia struct {
	Media
	frames *list[uint8]
	ends   *list[int64]
	times  *list[int64]
}

// Notes about a stream or media stream whose name is taken.
var (
	nameOfStream = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a stream of numbers"}}
	nameOfMedia  = dataset.Note{Code: dataset.CodeNameTaken, Detail: dataset.Detail{Got: "a media stream"}}
)

// videos are encodings whose frames are made of others.
var videos = []string{"h264", "h265", "hevc", "av1", "vp8", "vp9", "mpeg4", "mpeg2"}

// addMedia appends the frames of an episode, those that are asked for.
func (p *packer) addMedia(ctx context.Context, e *dataset.Episode, leave func(n dataset.Note, name string, count int)) error {
	for k := range e.Media {
		m := &e.Media[k]
		if !slices.Contains(p.seenMedia, m.Name) {
			p.seenMedia = append(p.seenMedia, m.Name)
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

// frames appends the frames of a media stream, or returns a note about all or some of them.
func (p *packer) frames(ctx context.Context, m *dataset.Media) (why dataset.Note, err error) {
	_, decodes := m.Source.(dataset.FrameDecoder)
	_, packets := m.Source.(*video.Frames)
	if !packets && (decodes || slices.Contains(videos, m.Encoding)) {
		return dataset.Note{Code: dataset.CodeVideoNotPacked, Detail: dataset.Detail{Got: m.Encoding}}, nil
	}
	if m.Encoding == "" {
		return dataset.Note{Code: dataset.CodeEncodingUnknown}, nil
	}
	at := slices.IndexFunc(p.media, func(o packingMedia) bool { return o.Name == m.Name })
	if _, taken := p.at[m.Name]; taken && at < 0 {
		return nameOfStream, nil
	}
	if at < 0 {
		at = len(p.media)
		g := packingMedia{Media: Media{Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Offsets: make([]int64, len(p.episodes)+1)},
			frames: growing(&p.pool, &list[uint8]{}), ends: growing(&p.pool, &list[int64]{}), times: growing(&p.pool, &list[int64]{})}
		p.media = append(p.media, g)
		if err := g.ends.add(&p.pool, []int64{0}); err != nil {
			return why, err
		}
	}
	g := &p.media[at]
	if why = g.other(m.Encoding, m.Width, m.Height); why.Code != "" {
		return why, nil
	}
	lost := dataset.Note{Code: dataset.CodeFramesUnread, Detail: dataset.Detail{Of: m.Len()}}
	alone := !packets // whether frames need none that were lost
	for i, at := range m.Times {
		frame, err := m.Frame(ctx, i)
		if packets && (err != nil || video.Begins(m.Encoding, frame)) {
			alone = err == nil
		}
		if err == nil && !alone {
			err = fmt.Errorf("frame %d of %s: no key frame before it from which on all frames are there", i, m.Name)
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

// manyFrames is how many bytes of frames in memory are worth a word.
const manyFrames = 1 << 30

// foresee tells if frames will take much memory, of which so many bytes of a media stream are of the episodes up to this one.
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

// other says how frames differ from the stream's, or nothing. Those that say their own size, as JPEG and PNG do, may have any; then nobody says it
// for all.
func (m *Media) other(encoding string, width, height int) (n dataset.Note) {
	same := width == m.Width && height == m.Height
	if encoding != m.Encoding || !same && encoding != "jpeg" && encoding != "png" {
		n.Code, n.Got, n.Want = dataset.CodeFrameSize, fmt.Sprintf("%s frames of %dx%d", encoding, width, height), fmt.Sprintf("%s of %dx%d", m.Encoding, m.Width, m.Height)
		return n
	}
	if !same {
		m.Width, m.Height = 0, 0
	}
	return n
}

// packedMedia returns the packed media streams, when no more episodes come. Their tensors are nil unless all is in memory.
func (p *packer) packedMedia() ([]Media, error) {
	var all []Media
	for k := range p.media {
		g := &p.media[k]
		m := g.Media
		if p.path == "" {
			for _, t := range []struct {
				to   **tensor.Tensor
				from column
			}{{&m.Frames, g.frames}, {&m.FrameOffsets, g.ends}, {&m.Times, g.times}} {
				var err error
				if *t.to, err = t.from.tensor(t.from.len()); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, m)
	}
	return all, nil
}
