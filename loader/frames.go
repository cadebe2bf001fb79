package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesAhead is how many batches' frames are decoded ahead of the one that is made.
const framesAhead = 2

// filmer decodes the frames of batches ahead of need: one goroutine asks for the numbers of a batch's frames, workers decode and resize them into
// memory that the device copies from.
type filmer struct {
	cameras []Camera
	from    []string // the cameras' names in the recordings
	source  episodes
	numbers *Loader // of the frames
	stored  []int   // the episodes' numbers in the source
	workers int
	strict  bool
	shots   []*shot
	waited  atomic.Int64

	mu   sync.Mutex
	open map[int]*opened // episodes whose frames are read
	bad  []badFrames     // of each camera, of the batches that were made

	videos    []bool      // whether a camera's frames are those of videos
	pixels    []int       // of the first of them, before it is resized
	stretches []int       // of each camera, frames of a stretch of the cache, 0 if its frames are not kept
	cache     *frameCache // nil if nothing is

	free, ready chan *shot
	due         *shot              // of the batch that comes next, if it is here
	cancel      context.CancelFunc // nil while nothing is read
	working     sync.WaitGroup
}

// opened is an episode whose frames are read, once for all that want them.
type opened struct {
	once  sync.Once
	media []dataset.Media
	err   error
	used  int // the batch that wanted it last
}

// shot is what a batch has of the cameras.
type shot struct {
	frames []*tensor.Tensor // [B,T,H,W,3] u8, of each camera
	masks  *Batch           // valid, pad and age, on the host
	err    error

	mu  sync.Mutex
	bad []badFrames // of each camera
}

// badFrames are targets whose frames could not be decoded.
type badFrames struct {
	count int
	place int    // of the first, among the camera's targets of a batch
	first string // what was wrong with it
}

// newFilmer makes room for the frames of batches.
func newFilmer(ctx context.Context, l *Loader, c *chosen) (err error) {
	f := c.filming
	cpu, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	l.held.add(cpu)
	numbers, err := f.numbers(ctx, cpu, l, c)
	if err != nil {
		return err
	}
	m := &filmer{cameras: f.cameras, source: c.from, numbers: numbers, stored: c.numbers, workers: c.opt.Workers, strict: c.opt.Strict,
		bad: make([]badFrames, len(f.cameras)), videos: make([]bool, len(f.cameras)), pixels: make([]int, len(f.cameras)), open: map[int]*opened{}}
	for i, cam := range f.cameras {
		m.from = append(m.from, f.from(i))
		shape := f.shapes[i][:]
		b := BatchCamera{Name: cam.Name}
		for _, o := range []struct {
			to    **tensor.Tensor
			dtype tensor.DType
			shape []int
		}{{&b.Frames, tensor.U8, shape}, {&b.Valid, tensor.U8, shape[:2]}, {&b.Pad, tensor.U8, shape[:2]}, {&b.Age, tensor.I64, shape[:2]}} {
			if o.to == &b.Age && !l.age {
				continue
			}
			if *o.to, err = l.device.Alloc(o.dtype, o.shape...); err != nil {
				return noRoomForFrames(cam.Name, f.shapes[i], err)
			}
			l.hold(*o.to)
		}
		l.batch.Cameras = append(l.batch.Cameras, b)
	}
	for range framesAhead + 1 {
		s := &shot{}
		for i := range f.cameras {
			t, err := l.device.AllocHost(tensor.U8, f.shapes[i][:]...)
			if err != nil {
				return noRoomForFrames(f.cameras[i].Name, f.shapes[i], err)
			}
			l.held.add(t)
			s.frames = append(s.frames, t)
		}
		m.shots = append(m.shots, s)
	}
	l.filmer = m
	l.held.add(m)
	if err = m.tryout(ctx, c); err == nil {
		m.keep(l, c.opt)
	}
	c.films = nil
	return err
}

// next returns what the next batch has of the cameras. If nothing is read yet, it begins where the feed is; an error ends the reading.
func (m *filmer) next(ctx context.Context, from feed) (*shot, error) {
	if m.cancel == nil {
		at, err := from.cursor(ctx)
		if err == nil {
			err = m.start(ctx, at)
		}
		if err != nil {
			return nil, err
		}
	}
	if m.due == nil {
		begin := time.Now()
		select {
		case m.due = <-m.ready:
		case <-ctx.Done():
		}
		m.waited.Add(int64(time.Since(begin)))
		if m.due == nil {
			return nil, ctx.Err()
		}
	}
	if err := m.due.err; err != nil {
		m.stop()
		return nil, err
	}
	return m.due, nil
}

// made is told that the batch is for which next returned a shot, and counts what it has of bad frames.
func (m *filmer) made() {
	m.mu.Lock()
	for i, b := range m.due.bad {
		if m.bad[i].count += b.count; m.bad[i].first == "" {
			m.bad[i].first = b.first
		}
	}
	m.mu.Unlock()
	m.free <- m.due
	m.due = nil
}

// start begins to read. It goes on when the context ends that a batch is asked for with.
func (m *filmer) start(ctx context.Context, at ops.Cursor) error {
	if err := m.numbers.feed.seek(ctx, at); err != nil {
		return err
	}
	m.free, m.ready = make(chan *shot, len(m.shots)), make(chan *shot, len(m.shots))
	for _, s := range m.shots {
		m.free <- s
	}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.working.Go(func() {
		for batch := 0; ; batch++ {
			select {
			case s := <-m.free:
				s.err = caught.Do(func() error { return m.shoot(ctx, s, batch) })
				m.ready <- s
				if s.err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// stop ends the reading; the next batch begins it again.
func (m *filmer) stop() {
	if m.cancel != nil {
		m.cancel()
		m.working.Wait()
		m.cancel, m.due = nil, nil
		clear(m.open)
	}
}

// Close ends the reading.
func (m *filmer) Close() error {
	m.stop()
	return nil
}

// scene are the frames of a camera in an episode that a batch wants.
type scene struct {
	camera, episode int
	wants           map[int][]int // places among the camera's frames of the batch, by the number of the frame
}

// shoot fills in a shot of the next batch.
func (m *filmer) shoot(ctx context.Context, s *shot, batch int) error {
	if err := m.numbers.Next(ctx); err != nil {
		return err
	}
	var err error
	if s.masks, err = m.numbers.batch.Host(ctx); err != nil {
		return err
	}
	episodes, err := tensor.Data[int64](s.masks.Episodes)
	if err != nil {
		return err
	}
	s.bad = make([]badFrames, len(m.cameras))
	var scenes []scene
	for i := range m.cameras {
		numbers, err := tensor.Data[float64](s.masks.Streams[i].Values)
		if err != nil {
			return err
		}
		pixels, err := tensor.Data[uint8](s.frames[i])
		if err != nil {
			return err
		}
		t, size := s.masks.Streams[i].Values.Dim(1), len(pixels)/len(numbers)
		first := len(scenes)
		for k, number := range numbers {
			if number < 0 {
				clear(pixels[k*size : (k+1)*size])
				continue
			}
			e := m.stored[episodes[k/t]]
			at := slices.IndexFunc(scenes[first:], func(s scene) bool { return s.episode == e })
			if at < 0 {
				scenes, at = append(scenes, scene{i, e, map[int][]int{}}), len(scenes)-first
			}
			wants := scenes[first+at].wants
			wants[int(number)] = append(wants[int(number)], k)
		}
	}
	return m.act(ctx, s, scenes, batch)
}

// act decodes the frames of scenes.
func (m *filmer) act(ctx context.Context, s *shot, scenes []scene, batch int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	var mu sync.Mutex // of the error
	var failed error
	tasks := make(chan scene)
	for range min(m.workers, len(scenes)) {
		working.Go(func() {
			for sc := range tasks {
				if err := caught.Do(func() error { return m.source.guard(sc.episode, func() error { return m.take(ctx, s, &sc, batch) }) }); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					cancel()
				}
			}
		})
	}
	for _, sc := range scenes {
		select {
		case tasks <- sc:
		case <-ctx.Done():
		}
	}
	close(tasks)
	working.Wait()
	for e, o := range m.open {
		if o.used < batch-keptOpen {
			delete(m.open, e)
		}
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

const (
	keptOpen = 4  // for how many batches an episode is kept after one that wanted it
	skipped  = 16 // so many frames of a video at most are decoded for the one behind them; else it is begun anew
)

// media returns a camera's frames in an episode.
func (m *filmer) media(ctx context.Context, sc *scene, batch int) (*dataset.Media, error) {
	m.mu.Lock()
	o := m.open[sc.episode]
	if o == nil {
		o = &opened{}
		m.open[sc.episode] = o
	}
	o.used = batch
	m.mu.Unlock()
	o.once.Do(func() { o.media, o.err = m.source.media(ctx, sc.episode) })
	if o.err != nil {
		return nil, o.err
	}
	k := slices.IndexFunc(o.media, func(c dataset.Media) bool { return c.Name == m.from[sc.camera] })
	if k < 0 {
		return nil, &dataset.EpisodeError{Episode: sc.episode, Err: &dataset.FormatError{Format: m.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "media stream", Got: "none", Want: m.from[sc.camera]}}
	}
	return &o.media[k], nil
}

// take decodes the frames of a scene. Those that cannot be decoded are black, and their targets not valid, unless that is an error.
func (m *filmer) take(ctx context.Context, s *shot, sc *scene, batch int) error {
	wanted := slices.Sorted(maps.Keys(sc.wants))
	bad := func(frames []int, err error) error {
		if m.strict || ctx.Err() != nil || errors.Is(err, dataset.ErrClosed) {
			return err
		}
		valid, failed := tensor.Data[uint8](s.masks.Streams[sc.camera].Valid)
		if failed != nil {
			return failed
		}
		pixels, failed := tensor.Data[uint8](s.frames[sc.camera])
		size := len(pixels) / len(valid)
		s.mu.Lock()
		defer s.mu.Unlock()
		b := &s.bad[sc.camera]
		for _, f := range frames {
			for _, k := range sc.wants[f] {
				valid[k] = 0 // each place is of one scene
				clear(pixels[k*size : (k+1)*size])
				if b.count == 0 || k < b.place {
					b.place, b.first = k, err.Error()
				}
				b.count++
			}
		}
		return failed
	}
	var left [][]int // runs that are not kept
	for _, run := range runsOf(wanted, m.videos[sc.camera]) {
		if kept, err := m.recall(ctx, s, sc, run, nil); err != nil {
			return err
		} else if !kept {
			left = append(left, run)
		}
	}
	if len(left) == 0 {
		return nil
	}
	wanted = slices.Concat(left...)
	media, err := m.media(ctx, sc, batch)
	if err != nil {
		return bad(wanted, err)
	}
	_, video := media.Source.(dataset.FrameDecoder)
	usual := video == m.videos[sc.camera]
	if !usual {
		left = runsOf(wanted, video)
	}
	for _, run := range left {
		if usual {
			if kept, err := m.recall(ctx, s, sc, run, media); err != nil {
				return err
			} else if kept {
				continue
			}
		}
		done, err := m.decode(ctx, s, sc, media, run)
		if done < len(run) {
			if err := bad(run[done:], err); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode decodes frames, in order, up to the first that cannot be. It returns how many it did, and what was wrong if these are not all.
func (m *filmer) decode(ctx context.Context, s *shot, sc *scene, media *dataset.Media, frames []int) (done int, err error) {
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
func (m *filmer) place(s *shot, sc *scene, picture *tensor.Tensor, frame int) error {
	pixels, err := tensor.Data[uint8](s.frames[sc.camera])
	if err != nil {
		return err
	}
	size := m.cameras[sc.camera].Height * m.cameras[sc.camera].Width * 3
	places := sc.wants[frame]
	first := pixels[places[0]*size : (places[0]+1)*size]
	if err := m.shrink(first, sc.camera, picture); err != nil {
		return err
	}
	for _, k := range places[1:] {
		copy(pixels[k*size:(k+1)*size], first)
	}
	return nil
}

// lose takes the window from rows: their targets are as those of any row without one.
func (s *shot) lose(rows []int) error {
	for i, frames := range s.frames {
		masks := &s.masks.Streams[i]
		pixels, err := tensor.Data[uint8](frames)
		if err != nil {
			return err
		}
		valid, err := tensor.Data[uint8](masks.Valid)
		if err != nil {
			return err
		}
		pad, err := tensor.Data[uint8](masks.Pad)
		if err != nil {
			return err
		}
		var age []int64
		if masks.Age != nil {
			if age, err = tensor.Data[int64](masks.Age); err != nil {
				return err
			}
		}
		t := masks.Valid.Dim(1)
		size := len(pixels) / len(valid)
		for _, row := range rows {
			clear(pixels[row*t*size : (row+1)*t*size])
			for k := row * t; k < (row+1)*t; k++ {
				valid[k], pad[k] = 0, 1
				if age != nil {
					age[k] = 0
				}
			}
		}
	}
	return nil
}

// give copies a shot to the device, behind what its queue was given, and returns before it is done but for the masks.
func (l *Loader) give(ctx context.Context, s *shot) error {
	for i := range l.batch.Cameras {
		to, from := &l.batch.Cameras[i], &s.masks.Streams[i]
		if err := l.queue.Copy(to.Frames, s.frames[i]); err != nil {
			return err
		}
		for _, c := range [][2]*tensor.Tensor{{to.Valid, from.Valid}, {to.Pad, from.Pad}, {to.Age, from.Age}} {
			if c[0] == nil {
				continue
			}
			if err := l.device.Copy(ctx, c[0], c[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
