package lerobot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	ffmpeg "github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// clip is an episode's frames in a video file that is to be copied from.
type clip struct {
	open     func() (track *mp4.Track, done func(), err error)
	from, to int // frames
	moved    time.Duration
}

// Codecs lists what WriteOptions.Codec may be.
func Codecs() []string { return ffmpeg.Encodings() }

// Cut returns rows from to to-1 of a media stream that is the video of a LeRobot dataset, with their own times, so that a Writer copies its frames; and
// false if it is no such stream, which nobody can copy from.
func Cut(m *dataset.Media, from, to int) (cut dataset.Media, ok bool) {
	source, ok := m.Source.(*frameSource)
	if !ok || from < 0 || from > to || to > len(source.frames) {
		return dataset.Media{}, false
	}
	cut = *m
	cut.Times = m.Times[from:to]
	part := *source
	part.frames, part.all = source.frames[from:to], source.all && to-from == len(source.frames)
	cut.Source = &part
	return cut, true
}

// addVideo takes a video of another LeRobot dataset, whose frames are copied as they are encoded. That needs them to follow each other in their file,
// and not that their times there are those of the rows: writing mends videos that drifted or were joined with a drift. Its statistics are what that
// dataset tells, if it does and they can be true; else its frames are decoded.
func (p *episodePlan) addVideo(ctx context.Context, w *Writer, name string, m *dataset.Media, source *frameSource) error {
	if !source.whole(p.rows) {
		return &WriteError{
			Kind: ErrNotAligned, Got: fmt.Sprintf("%d frames of a video for %d rows, not one behind the other", len(source.frames), p.rows),
			Want: "one for each row, which follow each other, or a codec to encode it anew",
		}
	}
	c := clip{from: int(source.frames[0]), to: int(source.frames[0]) + p.rows, open: source.track}
	track, done, err := c.open()
	if err != nil {
		return &WriteError{Kind: dataset.ErrMissing, Err: err}
	}
	defer done()
	for i := range p.rows {
		ticks, scale := track.Time(c.from + i)
		start, _ := track.Time(c.from)
		off := math.Abs(float64(ticks-start)/float64(scale) - float64(i)/w.opt.FPS)
		c.moved = max(c.moved, time.Duration(off*1e9))
	}
	pixels := ""
	if said := source.set.header.feature(source.of.video); said != nil {
		pixels = said.pixels
	}
	if stats, ok := source.set.toldStats(ctx, source.of); ok && source.all && !(stats.bare && w.quantiles(name)) {
		f := &writeFeature{name: name, dtype: dtypeVideo, codec: m.Encoding, pixels: pixels, names: imageNames, shape: []int{track.Height, track.Width, 3}}
		p.addClip(f, stats, c)
		return nil
	}
	return p.addPixels(name, m.Encoding, pixels, c, p.pictures(ctx, m, p.rows), nil)
}

// whole reports whether there is a frame for each of so many rows, and no other between them.
func (s *frameSource) whole(rows int) bool {
	for i, f := range s.frames {
		if f != s.frames[0]+int32(i) {
			return false
		}
	}
	return len(s.frames) == rows
}

// track opens the file that the frames are in.
func (s *frameSource) track() (*mp4.Track, func(), error) {
	open, err := s.set.videos.Get(s.path)
	if err != nil {
		return nil, nil, err
	}
	return open.File.track, func() { s.set.videos.Give(open) }, nil
}

// encodeVideo encodes the frames of any media stream into a video of its own, which is copied from and removed.
func (p *episodePlan) encodeVideo(ctx context.Context, w *Writer, name string, m *dataset.Media) error {
	path := filepath.Join(w.folder.Path(), fmt.Sprintf("encoding-%d.mp4", len(p.temporary)))
	p.temporary = append(p.temporary, path)
	c := clip{to: p.rows, open: func() (*mp4.Track, func(), error) {
		file, err := mp4.Open(path)
		if err != nil {
			return nil, nil, err
		}
		track, err := file.Video()
		if err != nil {
			file.Close()
			return nil, nil, err
		}
		return track, func() { file.Close() }, nil
	}}
	encode := func(width, height int, pictures iter.Seq2[*tensor.Tensor, error]) error {
		err := ffmpeg.Encoding{Codec: w.opt.Codec, Width: width, Height: height, Rate: w.opt.FPS}.Encode(ctx, path, pictures)
		if full := (*fs.PathError)(nil); errors.As(err, &full) && full.Path == path {
			return w.broken(filepath.Join("videos", name), err)
		}
		if err != nil {
			return err
		}
		track, done, err := c.open()
		if err != nil { // of a disk, then, and not of the pictures
			return w.broken(filepath.Join("videos", name), err)
		}
		defer done()
		if track.Len() != p.rows {
			return &WriteError{Kind: ErrReadBack, Got: fmt.Sprintf("a video of %d frames from ffmpeg", track.Len()), Want: fmt.Sprint(p.rows)}
		}
		return nil
	}
	return p.addPixels(name, w.opt.Codec, "yuv420p", c, p.pictures(ctx, m, p.rows), encode)
}

// pictures are a media stream's frames, each in colour.
func (p *episodePlan) pictures(ctx context.Context, m *dataset.Media, n int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		i := 0
		for t, err := range m.DecodeRange(ctx, 0, n) {
			if err == nil {
				t, err = inColour(t)
			}
			if err != nil {
				t, err = nil, atFrame(i, err)
			}
			if !yield(t, err) || err != nil {
				return
			}
			i++
		}
	}
}

// atFrame says of an error which frame could not be decoded.
func atFrame(i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var bad *WriteError
	if errors.As(err, &bad) {
		return inFrame(i, bad)
	}
	return &WriteError{Kind: dataset.ErrMissing, Got: fmt.Sprintf("no pixels of frame %d", i), Err: err}
}

// inColour returns a picture as red, green and blue: grey becomes all three, and alpha must be opaque.
func inColour(t *tensor.Tensor) (*tensor.Tensor, error) {
	bad := &WriteError{Kind: dataset.ErrUnsupported, Want: "grey or colour of 8 bits: leave the stream out"}
	if t.Rank() != 3 || t.DType() != tensor.U8 {
		bad.Got = "pixels that are " + t.DType().String() + " numbers"
		return nil, bad
	}
	height, width, channels := t.Dim(0), t.Dim(1), t.Dim(2)
	if channels == 3 {
		return t, nil
	}
	from, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	to := make([]uint8, height*width*3)
	for i := range height * width {
		px := from[i*channels:]
		switch {
		case channels == 1:
			to[3*i], to[3*i+1], to[3*i+2] = px[0], px[0], px[0]
		case channels == 4 && px[3] == 255:
			copy(to[3*i:], px[:3])
		default:
			bad.Got = fmt.Sprintf("pixels of %d numbers, not opaque", channels)
			return nil, bad
		}
	}
	return tensor.Of(to, height, width, 3)
}

// addPixels adds a video, with statistics of its pictures. The first says what size they have; encode, if it is not nil, takes them all.
func (p *episodePlan) addPixels(name, codec, format string, c clip, pictures iter.Seq2[*tensor.Tensor, error],
	encode func(width, height int, pictures iter.Seq2[*tensor.Tensor, error]) error) error {
	f := &writeFeature{name: name, dtype: dtypeVideo, codec: codec, pixels: format, names: imageNames}
	stats := featureStats{levels: make([]summary.Levels, 3)}
	sampled, i := sampleFrames(p.rows), 0
	counted := func(yield func(*tensor.Tensor, error) bool) {
		for t, err := range pictures {
			if err == nil && f.shape == nil {
				f.shape = t.Shape()
			}
			if err == nil && len(sampled) > 0 && sampled[0] == i {
				sampled = sampled[1:]
				stats.frames++
				if err = countPixels(t, f.shape, stats.levels); err != nil {
					err = inFrame(i, err)
				}
			}
			i++
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
	err := eachPicture(counted, encode)
	if err == nil && i != p.rows {
		err = &WriteError{Kind: dataset.ErrMissing, Got: fmt.Sprintf("%d pictures", i), Want: fmt.Sprint(p.rows)}
	}
	if err != nil {
		var bad *WriteError
		if errors.As(err, &bad) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return &WriteError{Kind: dataset.ErrMissing, Got: "no video",
			Want: "pictures that " + codec + " takes: another codec, images, or without this camera", Err: err}
	}
	stats.finish()
	p.addClip(f, stats, c)
	return nil
}

func (p *episodePlan) addClip(f *writeFeature, stats featureStats, c clip) {
	p.features, p.data, p.stats = append(p.features, f), append(p.data, parquet.Values{}), append(p.stats, stats)
	p.clips = append(p.clips, c)
}

// quantiles reports whether a feature has them in the episodes so far, so that all must.
func (w *Writer) quantiles(name string) bool {
	i := slices.IndexFunc(w.features, func(f *writeFeature) bool { return f.name == name })
	return i >= 0 && !w.features[i].bare
}

// eachPicture goes through pictures, and has encode take them if it is not nil.
func eachPicture(pictures iter.Seq2[*tensor.Tensor, error], encode func(width, height int, pictures iter.Seq2[*tensor.Tensor, error]) error) error {
	if encode == nil {
		for _, err := range pictures {
			if err != nil {
				return err
			}
		}
		return nil
	}
	next, stop := iter.Pull2(pictures)
	defer stop()
	first, err, ok := next()
	if err != nil || !ok {
		return err
	}
	return encode(first.Dim(1), first.Dim(0), func(yield func(*tensor.Tensor, error) bool) {
		for t, err := first, error(nil); ok; t, err, ok = next() {
			if !yield(t, err) {
				return
			}
		}
	})
}

// clean removes what was made for the episode alone.
func (p *episodePlan) clean() {
	for _, path := range p.temporary {
		os.Remove(path)
	}
}

// videoInfo returns what info.json says of a video beside its shape.
func (f *writeFeature) videoInfo(fps float64) orderjson.Object {
	info := orderjson.Of("video.height", f.shape[0], "video.width", f.shape[1], "video.codec", f.codec)
	if f.pixels != "" {
		info.Add("video.pix_fmt", f.pixels)
	}
	info.Add("video.fps", jsonNumber(fps), "video.channels", f.shape[2], "is_depth_map", false, "has_audio", false)
	return info
}

// jsonNumber is a number without an exponent, as LeRobot's whole fps.
type jsonNumber float64

// MarshalJSON writes the number.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}
