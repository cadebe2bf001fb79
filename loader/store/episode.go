package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// empty adds the streams without samples to an episode, with a note about each. Streams that other episodes have come first.
func (s *Store) empty(e *dataset.Episode, i int) {
	var list dataset.Notes
	for m := range s.Streams {
		p := &s.Streams[m]
		if p.Offsets[i] < p.Offsets[i+1] {
			continue
		}
		e.Empty = append(e.Empty, dataset.EmptyStream{Name: p.Name, Columns: p.Columns, DType: p.DType()})
		if e.Notes.LeftOut(p.Name) == nil {
			list = append(list, dataset.Note{Code: dataset.CodeNoSamples, Subject: p.Name})
		}
	}
	for _, o := range s.Episodes[i].Empty {
		if e.EmptyStream(o.Name) == nil {
			dtype, _ := tensor.ParseDType(o.DType) // an unknown dtype is 0
			e.Empty = append(e.Empty, dataset.EmptyStream{Name: o.Name, Columns: o.Columns, DType: dtype})
		}
	}
	e.Notes = append(list, e.Notes...)
}

// Episode returns an episode. Its streams are views of the packed tensors. In a store that Build has made, media streams that are not
// packed are those of the recording, which is read again for them. If there is no episode i, the error is a *dataset.RangeError; after
// Close it is dataset.ErrClosed.
func (s *Store) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	e, err := s.packed(i)
	if err != nil || s.recordings == nil || len(s.recorded[i].media) == 0 {
		return e, err
	}
	again, err := s.recordings.Episode(ctx, s.recorded[i].index)
	if err != nil {
		return nil, &dataset.EpisodeError{Episode: s.Episodes[i].Number, Err: err}
	}
	for _, m := range s.recorded[i].media {
		if now := again.MediaStream(m.Name); now != nil { // else the recording has changed
			e.Media = append(e.Media, *now)
		}
	}
	return e, nil
}

// packed returns an episode's packed streams and media streams.
func (s *Store) packed(i int) (*dataset.Episode, error) {
	if i < 0 || i >= len(s.Episodes) {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: len(s.Episodes)}
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := s.holder(i).usable(); err != nil {
		return nil, err
	}
	in := &s.Episodes[i]
	e := &dataset.Episode{Name: in.Name, Frames: in.Frames, Rotation: in.Rotation, Attributes: dataset.Attributes{Task: in.Task, Success: in.Success},
		Dropouts: in.Dropouts, Notes: in.Notes}
	s.empty(e, i)
	for m := range s.Streams {
		p := &s.Streams[m]
		if p.Offsets[i] == p.Offsets[i+1] {
			continue
		}
		times, values, err := p.of(i)
		if err != nil {
			return nil, err
		}
		e.Streams = append(e.Streams, dataset.Stream{Name: p.Name, Times: times, Values: values, Columns: p.Columns})
	}
	return e, s.addMedia(e, i)
}

// addMedia adds the media streams to an episode.
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
		out := dataset.Media{Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Resized: m.Resized, Source: from}
		if video.Decodes(m.Encoding) {
			out.Source = &video.Frames{FrameSource: from, Name: m.Name, Codec: m.Encoding, Count: hi - lo, Packet: from.packet}
		}
		err := from.store.Guard(func() error {
			times, err := elements[int64](from.media.Times, from.from, from.from+hi-lo)
			out.Times = slices.Clone(times)
			return err
		})
		if err != nil {
			return err
		}
		e.Media = append(e.Media, out)
	}
	return nil
}

// Names returns the names of the packed streams, without media streams.
func (s *Store) Names() []string {
	list := make([]string, len(s.Streams))
	for i := range s.Streams {
		list[i] = s.Streams[i].Name
	}
	return list
}

// Read returns an episode, as Episode does, and its entry in Episodes. It reads no recording again: media streams that are not packed have
// their timestamps, but no Source.
func (s *Store) Read(_ context.Context, i int) (*dataset.Episode, *Episode, error) {
	e, err := s.packed(i)
	if err == nil && s.recordings != nil {
		e.Media = append(e.Media, s.recorded[i].media...)
	}
	return e, &s.Episodes[i], err
}

// GuardEpisode is Guard, but only for the file with episode i.
func (s *Store) GuardEpisode(i int, do func() error) error { return s.holder(i).Guard(do) }

// Place returns store 0, because there is one store, and the episode's number in the dataset.
func (s *Store) Place(i int) (store, number int) { return 0, s.Episodes[i].Number }

// packedFrames are an episode's frames. from is the first.
type packedFrames struct {
	store *Store
	media *Media
	from  int
}

// ReadFrame returns a copy of a frame.
func (p *packedFrames) ReadFrame(_ context.Context, i int) (frame []byte, err error) {
	err = p.store.Guard(func() error {
		offsets, err := elements[int64](p.media.FrameOffsets, p.from+i, p.from+i+2)
		if err != nil {
			return err
		}
		lo, hi, n := offsets[0], offsets[1], int64(p.media.Frames.Len())
		if lo < 0 || hi < lo || hi > n {
			return &dataset.FormatError{Format: "store", Offset: -1, Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("frame %d of %s", i, p.media.Name),
				Got: fmt.Sprintf("bytes %d to %d", lo, hi), Want: fmt.Sprintf("within 0 to %d", n)}
		}
		if lo == hi && p.media.Resized {
			return &dataset.FormatError{Format: "store", Offset: -1, Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("frame %d of %s", i, p.media.Name),
				Got: "no pixels", Want: "a frame that could be decoded when it was packed"}
		}
		bytes, err := elements[uint8](p.media.Frames, int(lo), int(hi))
		frame = slices.Clone(bytes)
		return err
	})
	return frame, err
}

// elements returns elements lo to hi-1 of a tensor [N]. The others are not compared with the file's checksums.
func elements[T tensor.Element](t *tensor.Tensor, lo, hi int) ([]T, error) {
	part, err := t.Slice(0, lo, hi)
	if err != nil {
		return nil, err
	}
	return tensor.Data[T](part)
}

// packet returns the size of a video's encoded frame in bytes, and whether decoding can start at it.
func (p *packedFrames) packet(ctx context.Context, i int) (size uint32, begins bool, err error) {
	b, err := p.ReadFrame(ctx, i)
	return uint32(min(len(b), math.MaxUint32)), video.Begins(p.media.Encoding, b), err
}

// InMemory reports whether the packed tensors are in Go's memory. If they are in a mapped file, they become invalid with Close.
func (s *Store) InMemory() bool { return s.file == nil && s.shards == nil }

// ReadRows reads a stream's samples in the n episodes from episode i on, and writes them to the rows from row at on. It reads the
// file itself, not its mapping. to.Times may be nil. It returns how many of the episodes it read: the ones in the same file as
// episode i. It returns 0 if the store is in memory, or if the file has the stream with other columns, another column order or
// another dtype.
func (s *Store) ReadRows(stream string, i, n int, to Samples, at int) int {
	file, all, k := s.holder(i), s.Stream(stream), 0
	for file.file != nil && k < n && s.holder(i+k) == file {
		k++
	}
	if all == nil || all.Offsets[i] == all.Offsets[i+k] {
		return k
	}
	rows := int(all.Offsets[i+k] - all.Offsets[i])
	if s.shards != nil {
		shard := shardAt(s.begins, i)
		if all = all.shards[shard]; all.at != nil {
			return 0 // its columns are in another order in the file
		}
		i -= s.begins[shard]
	}
	if len(all.Columns) != to.Values.Dim(1) || all.DType() != to.Values.DType() {
		return 0
	}
	for name, t := range map[string]*tensor.Tensor{".values": to.Values, ".times": to.Times} {
		if t == nil {
			continue
		}
		part, err := t.Slice(0, at, at+rows)
		if err != nil || file.file.ReadRows(part, stream+name, int(all.Offsets[i])) != nil {
			return 0
		}
	}
	return k
}
