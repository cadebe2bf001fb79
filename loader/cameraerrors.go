package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// CameraError says that frames of a camera cannot be decoded, as they are of an encoding that there is no decoder for, or of a video and ffmpeg is
// missing: it is dataset.ErrUnsupported.
type CameraError struct {
	Camera  string
	Episode string // the first that has frames of it, by name
	Err     error  // what was got, and what was wanted
}

func (e *CameraError) Error() string {
	return fmt.Sprintf("loader: camera %s: its first frame, of episode %s, cannot be decoded: %v", e.Camera, e.Episode, e.Err)
}

// Unwrap returns Err.
func (e *CameraError) Unwrap() error { return e.Err }

// MediaError says that no episode has frames of a media stream, and why one that should have them has not. It is dataset.ErrMissing.
type MediaError struct {
	Media, Episode string
	Note           dataset.Note
}

func (e *MediaError) Error() string {
	return fmt.Sprintf("loader: no episode has frames of media stream %s: episode %s: %s", e.Media, e.Episode, e.Note.Reason())
}

// ErrorNotes returns the note.
func (e *MediaError) ErrorNotes() dataset.Notes { return dataset.Notes{e.Note} }

// Unwrap returns dataset.ErrMissing.
func (e *MediaError) Unwrap() error { return dataset.ErrMissing }

// FramesError says that there is no memory for the frames of batches.
type FramesError struct {
	Camera string
	Shape  [5]int // of the camera's frames in a batch: [B,T,H,W,3], of one byte each
	Copies int    // of a batch that there must be room for
	Err    error  // an *ops.MemoryError; of math.MaxInt64 bytes if they are more
}

func (e *FramesError) Error() string {
	return fmt.Sprintf("loader: camera %s: got frames of %d windows x %d targets x %d x %d pixels x 3 bytes, %d times, since batches are decoded ahead: want smaller frames, fewer windows of a batch or a shorter window of the camera: %v",
		e.Camera, e.Shape[0], e.Shape[1], e.Shape[3], e.Shape[2], e.Copies, e.Err) // width x height, as cameras are asked for
}

// Unwrap returns Err.
func (e *FramesError) Unwrap() error { return e.Err }

// shooting takes the cameras out of the plan.
func (c *chosen) shooting(l *Loader) (err error) {
	if c.plan, c.filming, err = split(c.plan, c.opt.Cameras); err != nil {
		return err
	}
	return c.filming.room(l)
}

// room finds how large the frames of a batch are. A *FramesError says that memory cannot hold them; what other memory a device has is known when it
// is asked for.
func (f *filming) room(l *Loader) error {
	copies := framesAhead + 1
	if l.device.Info().Backend == "cpu" {
		copies++ // the batch itself
	}
	left := tensor.Available()
	for i := range f.cameras {
		deltas, err := deltasOf(&f.whole, f.cameras[i].Name)
		if err != nil {
			return err
		}
		shape := [5]int{l.order.Batch, len(deltas), f.cameras[i].Height, f.cameras[i].Width, 3}
		f.shapes = append(f.shapes, shape)
		n := int64(copies)
		for _, d := range shape {
			if hi, lo := bits.Mul64(uint64(n), uint64(d)); hi == 0 && lo <= math.MaxInt64 {
				n = int64(lo)
			} else {
				n = math.MaxInt64
			}
		}
		if n > left {
			what := fmt.Errorf("there are %d", left)
			return &FramesError{f.cameras[i].Name, shape, copies, &ops.MemoryError{Device: "host", What: "frames", Bytes: n, Err: what}}
		}
		left -= n
	}
	return nil
}

// noRoomForFrames says of an error of a device's memory which camera's frames it is about.
func noRoomForFrames(camera string, shape [5]int, err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	return &FramesError{camera, shape, framesAhead + 2, err}
}

// none says why no episode has frames of a camera.
func (f *filming) none(camera int) error {
	if why := f.why[camera]; why.note.Code != "" {
		return &MediaError{f.from(camera), why.episode, why.note}
	}
	return refuse(fmt.Sprintf("Cameras[%d]", camera), fmt.Sprintf("%q, which no episode has", f.from(camera)), mediaOf(f.seen))
}

// mediaOf says which media streams there are.
func mediaOf(seen []string) string {
	if len(seen) == 0 {
		return "a dataset with media streams"
	}
	return "media streams of the dataset: " + listed(seen)
}

// from is a camera's name in the recordings.
func (f *filming) from(camera int) string {
	return cmp.Or(f.streams[camera].From, f.cameras[camera].Name)
}

// tell takes up which media streams an episode has, and why it has no frames of a camera.
func (f *filming) tell(episode string, film *filmed) {
	for _, name := range film.media {
		if !slices.Contains(f.seen, name) {
			f.seen = append(f.seen, name)
		}
	}
	for i, why := range film.why {
		if f.why[i].note.Code == "" {
			f.why[i] = noFrames{episode, why}
		}
	}
	film.media, film.why = nil, nil
}

// tryout decodes the first frame of each camera, of the first episode that has one, in case none can be: see CameraError. It sees which are videos, and how
// large. A frame that is damaged is
// none of its concern.
func (m *filmer) tryout(ctx context.Context, c *chosen) error {
	for i := range m.cameras {
		e := slices.IndexFunc(c.films, func(f *filmed) bool { return f.streams[i].Values != nil })
		number := c.numbers[e]
		err := m.source.guard(number, func() error {
			list, err := m.source.media(ctx, number)
			if err != nil {
				return err
			}
			k := slices.IndexFunc(list, func(o dataset.Media) bool { return o.Name == m.from[i] })
			if k < 0 {
				return nil // which is found out when it is wanted
			}
			_, m.videos[i] = list[k].Source.(dataset.FrameDecoder)
			picture, err := list[k].Decode(ctx, 0)
			if err == nil {
				m.pixels[i] = picture.Dim(0) * picture.Dim(1)
				_, err = coloured(picture)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, dataset.ErrUnsupported):
			return &CameraError{m.cameras[i].Name, c.known[e].name, err}
		}
	}
	return nil
}
