package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/summary"
	ffmpeg "github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// copies reports whether a video's frames for n rows can be copied without decoding. Version 2.1 has an episode in each file, and its
// readers count hidden frames too, for example decord in GR00T, so a frame must not need one from another episode.
func (next *planner) copies(source *footage.Source, n int) bool {
	if !source.Contiguous(n) || next.opt.Version != layout.Version21 {
		return source.Contiguous(n)
	}
	track, done, err := source.Open()
	if err != nil {
		return true // because addVideo returns the error
	}
	defer done()
	first := int(source.Frames[0])
	return track.IsClosed(first, first+n)
}

// addVideo adds a video from another LeRobot dataset by copying its encoded frames. The frames must be adjacent in their file. Their
// times may differ from the row times, so copying repairs videos that drifted or were joined with a drift. Plausible declared
// statistics are kept; otherwise the frames are decoded. Videos with more than 8 bits, such as depth, are not decoded, so they have no
// statistics, and keep their info.
func (p *episodePlan) addVideo(ctx context.Context, next *planner, name string, m *dataset.Media, source *footage.Source) error {
	if !next.copies(source, p.rows) {
		bad := &Error{
			Kind: ErrNotAligned, Got: fmt.Sprintf("%d frames of a video for %d rows, not one behind the other", len(source.Frames), p.rows),
			Want: "one for each row, which follow each other, or a codec to encode it anew",
		}
		if source.Contiguous(p.rows) {
			bad.Got, bad.Want = "frames that need a frame outside the episode", "a key frame first, or a codec to encode it anew"
		}
		return bad
	}
	c := clip{from: int(source.Frames[0]), to: int(source.Frames[0]) + p.rows, open: source.Open}
	track, done, err := c.open()
	if err != nil {
		return &Error{Kind: dataset.ErrMissing, Err: err}
	}
	defer done()
	for i := range p.rows {
		ticks, scale := track.Time(c.from + i)
		start, _ := track.Time(c.from)
		off := math.Abs(float64(ticks-start)/float64(scale) - float64(i)/next.opt.FPS)
		c.moved = max(c.moved, time.Duration(off*1e9))
	}
	from := &source.Origin
	info := from.Dataset.Info(from.Name)
	if track.Bits > 8 {
		p.addClip(&feature{
			name: name, dtype: dtypeVideo, codec: m.Encoding, pixels: info.Pixels, names: imageNames, depth: info.Depth,
			shape: []int{track.Height, track.Width, cmp.Or(info.Channels, 3)}, unmeasured: true,
		}, featureStats{}, c)
		p.left = append(p.left, "statistics of "+name)
		return nil
	}
	if source.Whole {
		if stats, ok := from.Dataset.Stats(ctx, from.Name, from.Episode); ok && !(stats.Bare && next.quantiles(name)) {
			f := &feature{
				name: name, dtype: dtypeVideo, codec: m.Encoding, pixels: info.Pixels, names: imageNames, shape: []int{track.Height, track.Width, 3}, bare: stats.Bare, depth: info.Depth,
			}
			p.addClip(f, featureStats{columns: stats.Channels, frames: stats.Frames, bare: stats.Bare, origin: from}, c)
			return nil
		}
	}
	return p.addPixels(name, m.Encoding, info.Pixels, c, p.pictures(ctx, m, p.rows), nil)
}

// encodeVideo encodes any media stream's frames into a temporary video, which is copied from and then removed.
func (p *episodePlan) encodeVideo(ctx context.Context, next *planner, name string, m *dataset.Media) error {
	path := filepath.Join(next.out.Path(), fmt.Sprintf("encoding-%d.mp4", len(p.temporary)))
	p.temporary = append(p.temporary, path)
	c := clip{to: p.rows, open: func() (*mp4.Track, func(), error) {
		file, err := footage.Open(path)
		if err != nil {
			return nil, nil, err
		}
		return file.Track, func() { file.Close() }, nil
	}}
	encode := func(width, height int, pictures iter.Seq2[*tensor.Tensor, error]) error {
		err := ffmpeg.Encoding{Codec: next.opt.Codec, Width: width, Height: height, Rate: next.opt.FPS}.Encode(ctx, path, pictures)
		if full := (*fs.PathError)(nil); errors.As(err, &full) && full.Path == path {
			return next.out.broken(filepath.Join("videos", name), err)
		}
		if err != nil {
			return err
		}
		track, done, err := c.open()
		if err != nil { // a disk error, not caused by the pictures
			return next.out.broken(filepath.Join("videos", name), err)
		}
		defer done()
		if track.Len() != p.rows {
			return &Error{Kind: ErrReadBack, Got: fmt.Sprintf("a video of %d frames from ffmpeg", track.Len()), Want: fmt.Sprint(p.rows)}
		}
		return nil
	}
	return p.addPixels(name, next.opt.Codec, "yuv420p", c, p.pictures(ctx, m, p.rows), encode)
}

// pictures yields a media stream's frames in colour. A bad frame is replaced as EpisodeOptions.Undecoded describes.
func (p *episodePlan) pictures(ctx context.Context, m *dataset.Media, n int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		i, early, bad := 0, 0, badFrames{p, m.Name, 0}
		var last *tensor.Tensor
		for t, err := range m.DecodeRange(ctx, 0, n) {
			if err == nil {
				t, err = inColour(t)
			}
			if err == nil && last != nil && !slices.Equal(t.Shape(), last.Shape()) {
				err = &Error{Kind: dataset.ErrShape, Got: tensor.FormatShape(t.Shape()), Want: tensor.FormatShape(last.Shape())}
			}
			if err != nil {
				t = last
				switch {
				case !bad.pass(i, err):
					t, err = nil, atFrame(i, err)
				case last == nil:
					early++
					fallthrough
				default:
					err = nil
				}
			}
			i++
			if t == nil && err == nil {
				continue
			}
			for ; early > 0 && err == nil; early-- {
				if !yield(t, nil) {
					return
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
			last = t
		}
	}
}

// addPixels adds a video with statistics from its pictures. The first picture determines the size. If encode is not nil, it encodes all
// pictures.
func (p *episodePlan) addPixels(name, codec, format string, c clip, pictures iter.Seq2[*tensor.Tensor, error],
	encode func(width, height int, pictures iter.Seq2[*tensor.Tensor, error]) error) error {
	f := &feature{name: name, dtype: dtypeVideo, codec: codec, pixels: format, names: imageNames}
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
		err = &Error{Kind: dataset.ErrMissing, Got: fmt.Sprintf("%d pictures", i), Want: fmt.Sprint(p.rows)}
	}
	if err != nil {
		var bad *Error
		if errors.As(err, &bad) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return &Error{Kind: dataset.ErrMissing, Got: "no video",
			Want: "pictures that " + codec + " takes: another codec, images, or without this camera", Err: err}
	}
	stats.finish()
	p.addClip(f, stats, c)
	return nil
}

func (p *episodePlan) addClip(f *feature, stats featureStats, c clip) {
	p.features = append(p.features, plannedFeature{feature: f, stats: stats, clip: c})
}

// eachPicture consumes the pictures and returns their first error. If encode is not nil, it gets the first picture's size and all pictures.
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
