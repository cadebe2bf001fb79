package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// cameraReader decodes the batches' frames in advance. One goroutine draws a batch's frame numbers. Workers decode and resize
// the frames into pinned memory, from which they are copied to the device.
type cameraReader struct {
	cameras  []Camera
	from     []string // the cameras' names in the recordings
	source   episodes
	numbers  *Loader // of frame numbers
	episodes []int   // the episodes' numbers in the source
	workers  int
	strict   bool
	shots    []*shot
	waitTime atomic.Int64

	mu   sync.Mutex
	open map[int]*openEpisode // by number
	bad  []badFrames          // one a camera, over all batches

	videos    []bool      // one a camera: its frames are a video's
	pixels    []int       // one a camera: of its first frame, before it is resized
	stretches []int       // one a camera: frames of a stretch; 0 if the camera is not cached
	cache     *frameCache // nil if no camera is cached

	freeShots, readyShots chan *shot
	nextShot              *shot              // of the next batch, if it is ready
	cancel                context.CancelFunc // nil until reading starts
	background            sync.WaitGroup
}

// openEpisode is an episode whose frames are read. It is opened once for all its readers.
type openEpisode struct {
	once  sync.Once
	media []dataset.Media
	err   error
	used  int // the last batch that read it
}

// scene lists the frames that a batch needs from one camera in one episode.
type scene struct {
	camera, episode int
	wants           map[int][]int // indexes among the batch's targets for the camera, by frame number
}

const (
	openBatches = 4  // batches for which an unused episode stays open
	longestSkip = 16 // video frames that are decoded without need to reach the next one; a longer gap restarts the decoder
)

// media returns the media stream of a scene's camera and episode. The episode stays open for later batches.
func (m *cameraReader) media(ctx context.Context, sc *scene, batch int) (*dataset.Media, error) {
	m.mu.Lock()
	o := m.open[sc.episode]
	if o == nil {
		o = &openEpisode{}
		m.open[sc.episode] = o
	}
	o.used = batch
	m.mu.Unlock()
	o.once.Do(func() {
		e, err := m.source.Episode(ctx, sc.episode)
		if o.err = err; err == nil {
			o.media = e.Media
		}
	})
	if o.err != nil {
		return nil, o.err
	}
	k := slices.IndexFunc(o.media, func(c dataset.Media) bool { return c.Name == m.from[sc.camera] })
	if k < 0 {
		_, number := m.source.Place(sc.episode)
		return nil, &dataset.EpisodeError{Episode: number, Err: &dataset.FormatError{Format: m.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "media stream", Got: "none", Want: m.from[sc.camera]}}
	}
	return &o.media[k], nil
}

// decode decodes ascending frames. It calls bad with frames that have an error, and returns bad's first error.
func (m *cameraReader) decode(
	ctx context.Context, s *shot, sc *scene, media *dataset.Media, frames []int, bad func(frames []int, err error) error,
) error {
	at, done := frames[0], 0
	var last error
	for picture, err := range media.DecodeRange(ctx, frames[0], frames[len(frames)-1]+1) {
		last = err
		if at == frames[done] {
			if err == nil {
				err = m.place(s, sc, picture, at)
			}
			if err != nil {
				if err := bad(frames[done:done+1], err); err != nil {
					return err
				}
			}
			done++
		}
		at++
	}
	if done == len(frames) {
		return nil
	}
	if last == nil {
		last = &dataset.FormatError{
			Format: m.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "frames of " + media.Name,
			Got: fmt.Sprint(done), Want: fmt.Sprint(len(frames)),
		}
	}
	return bad(frames[done:], last)
}

// place resizes a decoded picture and writes it to all targets of its frame number. A picture that cannot be resized is an error.
func (m *cameraReader) place(s *shot, sc *scene, picture *tensor.Tensor, frame int) error {
	pixels, err := tensor.Data[uint8](s.frames[sc.camera])
	if err != nil {
		return err
	}
	size := m.cameras[sc.camera].Height * m.cameras[sc.camera].Width * 3
	places := sc.wants[frame]
	first := pixels[places[0]*size : (places[0]+1)*size]
	if err := shrink(first, m.cameras[sc.camera], picture); err != nil {
		return err
	}
	for _, k := range places[1:] {
		copy(pixels[k*size:(k+1)*size], first)
	}
	return nil
}

// decodeFirst decodes each camera's first frame, so that a missing decoder is an error at once: see CameraError. It records which
// cameras are videos, and their frame sizes. A damaged frame is no error here.
func (m *cameraReader) decodeFirst(ctx context.Context, c *selection) error {
	for i := range m.cameras {
		e := slices.IndexFunc(c.frames, func(f *frameStreams) bool { return f.streams[i].Values != nil })
		number := c.numbers[e]
		err := m.source.GuardEpisode(number, func() error {
			e, err := m.source.Episode(ctx, number)
			if err != nil {
				return err
			}
			media := e.MediaStream(m.from[i])
			if media == nil {
				return nil // reading the frame will report it
			}
			_, m.videos[i] = media.Source.(dataset.FrameDecoder)
			picture, err := media.Decode(ctx, 0)
			if err == nil {
				m.pixels[i] = picture.Dim(0) * picture.Dim(1)
				_, err = toRGB(picture)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, dataset.ErrUnsupported), dataset.IsSystem(err):
			return &CameraError{m.cameras[i].Name, c.entries[e].name, err}
		}
	}
	return nil
}

// report implements frameFeed.
func (m *cameraReader) report(r *Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Cameras = slices.Clone(r.Cameras)
	if m.cache != nil {
		r.FrameCache = m.cache.usage()
	}
	for i := range r.Cameras {
		r.Cameras[i].Bad, r.Cameras[i].FirstBad = m.bad[i].count, m.bad[i].first
	}
}

// waits implements frameFeed.
func (m *cameraReader) waits() time.Duration { return time.Duration(m.waitTime.Load()) }
