package lerobot

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/storage"
)

// clip is where an episode's frames are: in a video file, from a time on.
type clip struct {
	path     string  // of the file that is to be copied
	from, to float64 // seconds in it
}

// copyPlace is which file of a video feature a source was copied to.
type copyPlace struct{ chunk, file int }

// addVideo takes a video of another LeRobot dataset: its file is copied as it is, once, and the episode says from when to when it is shown. So there
// is no loss, and no drift by joining files.
func (p *episodePlan) addVideo(ctx context.Context, fps float64, name string, m *dataset.Media, source *frameSource) error {
	if len(source.frames) != p.rows {
		return &WriteError{
			Kind: dataset.ErrShape, Got: fmt.Sprintf("%d frames of a video for %d times", len(source.frames), p.rows),
			Want: "one each",
		}
	}
	open, err := source.set.videos.Get(source.path)
	if err != nil {
		return &WriteError{Kind: dataset.ErrMissing, Err: err}
	}
	c, late := clipOf(open.File.track, source, fps)
	source.set.videos.Give(open)
	if late != nil {
		return late
	}
	f := &writeFeature{name: name, dtype: dtypeVideo, codec: m.Encoding, names: imageNames}
	stats := featureStats{}
	sampled := sampleFrames(p.rows)
	i := 0
	for t, err := range m.DecodeRange(ctx, 0, p.rows) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &WriteError{Kind: dataset.ErrMissing, Got: fmt.Sprintf("no pixels of frame %d, which its statistics need", i), Err: err}
		}
		if f.shape == nil {
			f.shape = t.Shape()
			stats.levels = make([]summary.Levels, f.shape[2])
		}
		if len(sampled) > 0 && sampled[0] == i {
			sampled = sampled[1:]
			stats.frames++
			if err := countPixels(t, f.shape, stats.levels); err != nil {
				return inFrame(i, err)
			}
		}
		i++
	}
	stats.finish()
	p.features, p.data, p.stats = append(p.features, f), append(p.data, columns.Data{}), append(p.stats, stats)
	p.clips = append(p.clips, c)
	return nil
}

// clipOf finds when an episode's frames are shown. From is the time of the first itself, whatever the dataset said that it was read from: so writing
// mends videos that were joined with a drift. It returns a *WriteError where LeRobot would not find a frame at its row's time: it takes the frame
// whose number is that time by the mean rate of the file, and compares the times.
func clipOf(track *mp4.Track, source *frameSource, fps float64) (clip, *WriteError) {
	seconds := func(frame int) float64 {
		ticks, timescale := track.Time(frame)
		return float64(ticks) / float64(timescale)
	}
	last := track.Len() - 1
	rate := fps
	if last > 0 && seconds(last) > seconds(0) {
		rate = float64(last) / (seconds(last) - seconds(0))
	}
	from := seconds(int(source.frames[0]))
	for i, f := range source.frames {
		shown, row := seconds(int(f)), from+float64(i)/fps
		if off := (shown - row) * 1e9; off > float64(tolerance) || off < -float64(tolerance) {
			return clip{}, &WriteError{
				Kind: ErrNotAligned, Got: fmt.Sprintf("frame %d shown %.0f ns from its row's time", i, off),
				Want: "0.1 ms at most, as LeRobot asks for",
			}
		}
		if taken := math.Round(row * rate); taken != float64(f) {
			return clip{}, &WriteError{
				Kind: ErrNotAligned, Got: fmt.Sprintf("frame %d of the file at %g s, where LeRobot would take frame %.0f", f, shown, taken),
				Want: "a video that begins at 0 and has frames at one rate: encode it anew",
			}
		}
	}
	return clip{path: source.path, from: from, to: from + float64(len(source.frames))/fps}, nil
}

// copyVideo copies the file of a clip, if that was not done for another episode, and returns where to.
func (w *Writer) copyVideo(ctx context.Context, f *writeFeature, source string) (copyPlace, error) {
	if at, ok := f.copied[source]; ok {
		return at, nil
	}
	n := len(f.copied)
	at := copyPlace{n / chunk, n % chunk}
	path := filepath.Join("videos", f.name, fmt.Sprintf("chunk-%03d", at.chunk), fmt.Sprintf("file-%03d.mp4", at.file))
	in, err := storage.Open(ctx, source)
	if err != nil {
		return at, &WriteError{Episode: w.report.Episodes, Feature: f.name, Kind: dataset.ErrMissing, Err: err}
	}
	defer in.Close()
	out, err := w.open(filepath.Join(w.folder.Path(), path))
	if err != nil {
		return at, w.broken(path, err)
	}
	var sum maphash.Hash
	seed := sum.Seed()
	n64, err := io.Copy(io.MultiWriter(out, &sum), columns.WithContext(ctx, storage.Reader(storage.Bound(ctx, in))))
	if closing := out.Close(); err == nil {
		err = closing
	}
	if ctx.Err() != nil {
		return at, ctx.Err()
	}
	if err != nil {
		return at, w.broken(path, err)
	}
	want := sum.Sum64()
	w.proofs = append(w.proofs, written{path, func(ctx context.Context, file *os.File, size int64) error {
		var got maphash.Hash
		got.SetSeed(seed)
		if _, err := io.Copy(&got, columns.WithContext(ctx, file)); err != nil {
			return err
		}
		if size != n64 || got.Sum64() != want {
			return errors.New("not the bytes of the source")
		}
		return nil
	}})
	if f.copied == nil {
		f.copied = map[string]copyPlace{}
	}
	f.copied[source] = at
	return at, nil
}

// videoInfo returns what info.json says of a video beside its shape.
func (f *writeFeature) videoInfo(fps float64) jsonObject {
	return jsonObject{
		{"video.height", f.shape[0]}, {"video.width", f.shape[1]}, {"video.codec", f.codec}, {"video.fps", jsonNumber(fps)},
		{"video.channels", f.shape[2]},
		{"is_depth_map", false},
	}
}

// jsonNumber is a number without an exponent, as LeRobot's whole fps.
type jsonNumber float64

// MarshalJSON writes the number.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}
