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

// cameraReader decodes the frames of batches ahead of need: one goroutine asks for the numbers of a batch's frames, workers decode and resize them into
// memory that the device copies from.
type cameraReader struct {
	cameras  []Camera
	from     []string // the cameras' names in the recordings
	source   episodes
	numbers  *Loader // of the frames
	episodes []int   // the episodes' numbers in the source
	workers  int
	strict   bool
	shots    []*shot
	waitTime atomic.Int64

	mu   sync.Mutex
	open map[int]*openEpisode // episodes whose frames are read
	bad  []badFrames          // of each camera, of the batches that were made

	videos    []bool      // whether a camera's frames are those of videos
	pixels    []int       // of the first of them, before it is resized
	stretches []int       // of each camera, frames of a stretch of the cache, 0 if its frames are not kept
	cache     *frameCache // nil if nothing is

	freeShots, readyShots chan *shot
	nextShot              *shot              // of the batch that comes next, if it is here
	cancel                context.CancelFunc // nil while nothing is read
	background            sync.WaitGroup
}

// openEpisode is an episode whose frames are read, once for all that want them.
type openEpisode struct {
	once  sync.Once
	media []dataset.Media
	err   error
	used  int // the batch that wanted it last
}

// scene are the frames of a camera in an episode that a batch wants.
type scene struct {
	camera, episode int
	wants           map[int][]int // places among the camera's frames of the batch, by the number of the frame
}

const (
	openBatches = 4  // for how many batches an episode is kept after one that wanted it
	longestSkip = 16 // so many frames of a video at most are decoded for the one behind them; else it is begun anew
)

// media returns a camera's frames in an episode.
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
		return nil, &dataset.EpisodeError{Episode: sc.episode, Err: &dataset.FormatError{Format: m.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "media stream", Got: "none", Want: m.from[sc.camera]}}
	}
	return &o.media[k], nil
}

// decode decodes frames, in order, up to the first that cannot be. It returns how many it did, and what was wrong if these are not all.
func (m *cameraReader) decode(ctx context.Context, s *shot, sc *scene, media *dataset.Media, frames []int) (done int, err error) {
	at := frames[0]
	for picture, err := range media.DecodeRange(ctx, frames[0], frames[len(frames)-1]+1) {
		if err != nil {
			return done, err
		}
		if at == frames[done] {
			if err := m.place(s, sc, picture, at); err != nil {
				return done, err
			}
			done++
		}
		at++
	}
	if done < len(frames) {
		err = &dataset.FormatError{Format: m.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "frames of " + media.Name, Got: fmt.Sprint(done), Want: fmt.Sprint(len(frames))}
	}
	return done, err
}

// place resizes a frame and puts it where it is wanted.
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

// decodeFirst decodes the first frame of each camera, of the first episode that has one, in case none can be: see CameraError. It sees which are videos, and how
// large. A frame that is damaged is
// none of its concern.
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
				return nil // which is found out when it is wanted
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
		case errors.Is(err, dataset.ErrUnsupported):
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
