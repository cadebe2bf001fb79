package loader

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// newCameraReader sets the loader's frame feed, and allocates the tensors for the batches' frames. If memory cannot hold them, the error is
// a *FramesError.
func newCameraReader(ctx context.Context, l *Loader, c *selection) (err error) {
	f := c.cameras
	cpu, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	l.closers.add(cpu)
	numbers, err := f.numbers(ctx, cpu, l, c)
	if err != nil {
		return err
	}
	m := &cameraReader{cameras: f.cameras, source: c.from, numbers: numbers, episodes: c.numbers, workers: c.opt.Workers, strict: c.opt.Strict,
		bad: make([]badFrames, len(f.cameras)), videos: make([]bool, len(f.cameras)), pixels: make([]int, len(f.cameras)), open: map[int]*openEpisode{}}
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
			if *o.to, err = l.alloc(o.dtype, o.shape...); err != nil {
				return noRoomForFrames(cam.Name, f.shapes[i], err)
			}
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
			l.closers.add(t)
			s.frames = append(s.frames, t)
		}
		m.shots = append(m.shots, s)
	}
	l.frames = m
	l.closers.add(m)
	if err = m.decodeFirst(ctx, c); err == nil {
		m.chooseStretches(l, c.opt)
	}
	c.frames = nil
	return err
}

// next returns the next batch's frames. If nothing is read yet, reading starts at the feed's cursor. An error stops it.
func (m *cameraReader) next(ctx context.Context, from feed) (*shot, error) {
	if m.cancel == nil {
		at, err := from.cursor(ctx)
		if err == nil {
			err = m.start(ctx, at)
		}
		if err != nil {
			return nil, err
		}
	}
	if m.nextShot == nil {
		begin := time.Now()
		select {
		case m.nextShot = <-m.readyShots:
		case <-ctx.Done():
		}
		m.waitTime.Add(int64(time.Since(begin)))
		if m.nextShot == nil {
			return nil, ctx.Err()
		}
	}
	if err := m.nextShot.err; err != nil {
		m.stop()
		return nil, err
	}
	return m.nextShot, nil
}

// advance follows the batch of the shot that next returned, and counts its bad frames.
func (m *cameraReader) advance() {
	m.mu.Lock()
	for i, b := range m.nextShot.bad {
		if m.bad[i].count += b.count; m.bad[i].first == "" {
			m.bad[i].first = b.first
		}
	}
	m.mu.Unlock()
	m.freeShots <- m.nextShot
	m.nextShot = nil
}

// start starts to read frames at a position, in the background. The reading continues when the context of one batch ends.
func (m *cameraReader) start(ctx context.Context, at ops.Cursor) error {
	if err := m.numbers.feed.seek(ctx, at); err != nil {
		return err
	}
	m.freeShots, m.readyShots = make(chan *shot, len(m.shots)), make(chan *shot, len(m.shots))
	for _, s := range m.shots {
		m.freeShots <- s
	}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.background.Go(func() {
		for batch := 0; ; batch++ {
			select {
			case s := <-m.freeShots:
				s.err = caught.Do(func() error { return m.decodeBatch(ctx, s, batch) })
				m.readyShots <- s
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

// stop stops the reading. The next batch starts it again.
func (m *cameraReader) stop() {
	if m.cancel != nil {
		m.cancel()
		m.background.Wait()
		m.cancel, m.nextShot = nil, nil
		clear(m.open)
	}
}

// Close stops the reading.
func (m *cameraReader) Close() error {
	m.stop()
	return nil
}

// decodeBatch fills a shot with the frames and masks of the next batch.
func (m *cameraReader) decodeBatch(ctx context.Context, s *shot, batch int) error {
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
			e := m.episodes[episodes[k/t]]
			at := slices.IndexFunc(scenes[first:], func(s scene) bool { return s.episode == e })
			if at < 0 {
				scenes, at = append(scenes, scene{i, e, map[int][]int{}}), len(scenes)-first
			}
			wants := scenes[first+at].wants
			wants[int(number)] = append(wants[int(number)], k)
		}
	}
	return m.decodeScenes(ctx, s, scenes, batch)
}

// decodeScenes decodes the frames of scenes with several workers, and returns the first error.
func (m *cameraReader) decodeScenes(ctx context.Context, s *shot, scenes []scene, batch int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var working sync.WaitGroup
	var mu sync.Mutex // guards failed
	var failed error
	tasks := make(chan scene)
	for range min(m.workers, len(scenes)) {
		working.Go(func() {
			for sc := range tasks {
				if err := caught.Do(func() error {
					return m.source.GuardEpisode(sc.episode, func() error { return m.decodeScene(ctx, s, &sc, batch) })
				}); err != nil {
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
		if o.used < batch-openBatches {
			delete(m.open, e)
		}
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// decodeScene decodes a scene's frames. A frame that cannot be decoded is black, and its targets are not valid; with Strict it is
// an error.
func (m *cameraReader) decodeScene(ctx context.Context, s *shot, sc *scene, batch int) error {
	wanted := slices.Sorted(maps.Keys(sc.wants))
	bad := func(frames []int, err error) error {
		if m.strict || ctx.Err() != nil || errors.Is(err, dataset.ErrClosed) || dataset.IsFatal(err) {
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
				valid[k] = 0 // no other scene has this place
				clear(pixels[k*size : (k+1)*size])
				if b.count == 0 || k < b.place {
					b.place, b.first = k, err.Error()
				}
				b.count++
			}
		}
		return failed
	}
	var left [][]int // runs that are not in the cache
	for _, run := range runsOf(wanted, m.videos[sc.camera]) {
		if kept, err := m.readCached(ctx, s, sc, run, nil); err != nil {
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
			if kept, err := m.readCached(ctx, s, sc, run, media); err != nil {
				return err
			} else if kept {
				continue
			}
		}
		if err := m.decode(ctx, s, sc, media, run, bad); err != nil {
			return err
		}
	}
	return nil
}

// noFrame is the frame number for a target without a frame.
const noFrame = -1

// numbers returns a loader on the CPU that draws the same windows as l, with frame numbers as values: Resample selects each target's frame.
func (f *cameraPlan) numbers(ctx context.Context, cpu *ops.Device, l *Loader, c *selection) (*Loader, error) {
	n := &Loader{device: cpu, order: l.order, age: l.age}
	l.closers.add(n)
	for i, s := range f.streams {
		p := part{name: s.Name, columns: []dataset.Column{{Name: "frame"}}, packed: tensor.F64, dtype: tensor.F64, width: 1, clock: i, offsets: []int64{0}}
		var err error
		if p.deltas, err = deltasOf(&f.whole, s.Name); err != nil {
			return nil, err
		}
		r := CameraReport{Name: s.Name, Height: f.cameras[i].Height, Width: f.cameras[i].Width, Targets: len(p.deltas)}
		var rows []store.Samples
		for e, film := range c.frames {
			s := &film.streams[i]
			if s.Values == nil {
				r.Empty++
			} else {
				rows = append(rows, store.Samples{Values: s.Values, Times: s.Times})
				r.Frames += s.Len()
				r.InGaps += inGaps(s, ops.Clock{Start: c.begins[e], Rate: l.order.Rate}, int(c.windows[e+1]-c.windows[e]))
				if len(rows) == 1 {
					p.normalise, p.offset, p.options = s.Normalise, s.Offset, s.Options
					p.options.Fill = ops.FillWith(noFrame)
				}
				widen(&p.options, s)
			}
			p.offsets = append(p.offsets, int64(r.Frames))
		}
		if r.Frames == 0 {
			return nil, f.none(i)
		}
		r.Unlimited = unlimited(&p.options)
		if p.values, p.times, err = store.Join(rows, 1, r.Frames, tensor.F64); err != nil {
			return nil, err
		}
		n.parts = append(n.parts, p)
		l.report.Cameras = append(l.report.Cameras, r)
	}
	if err := n.upload(ctx, c); err != nil {
		return nil, err
	}
	n.closers.add(n.feed)
	return n, n.plan(ctx)
}
