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
			l.held.add(t)
			s.frames = append(s.frames, t)
		}
		m.shots = append(m.shots, s)
	}
	l.frames = m
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
				if err := caught.Do(func() error {
					return m.source.GuardEpisode(sc.episode, func() error { return m.take(ctx, s, &sc, batch) })
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
		if o.used < batch-keptOpen {
			delete(m.open, e)
		}
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
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

// noFrame is the number of the frame that a target without one gets.
const noFrame = -1

// numbers makes the loader of frames' numbers, on the CPU: which frame a target gets is what Resample says of them.
func (f *filming) numbers(ctx context.Context, cpu *ops.Device, l *Loader, c *chosen) (*Loader, error) {
	n := &Loader{device: cpu, order: l.order, age: l.age}
	l.held.add(n)
	for i, s := range f.streams {
		p := part{name: s.Name, columns: []dataset.Column{{Name: "frame"}}, packed: tensor.F64, dtype: tensor.F64, width: 1, clock: i, offsets: []int64{0}}
		var err error
		if p.deltas, err = deltasOf(&f.whole, s.Name); err != nil {
			return nil, err
		}
		r := CameraReport{Name: s.Name, Height: f.cameras[i].Height, Width: f.cameras[i].Width, Targets: len(p.deltas)}
		var rows []store.Samples
		for _, film := range c.films {
			s := &film.streams[i]
			if s.Values == nil {
				r.Empty++
			} else {
				rows = append(rows, store.Samples{Values: s.Values, Times: s.Times})
				r.Frames += s.Len()
				if len(rows) == 1 {
					p.normalise, p.offset, p.options = s.Normalise, s.Offset, s.Options
					p.options.Fill = ops.FillWith(noFrame)
				}
			}
			p.offsets = append(p.offsets, int64(r.Frames))
		}
		if r.Frames == 0 {
			return nil, f.none(i)
		}
		if p.values, p.times, err = store.Join(rows, 1, r.Frames, tensor.F64); err != nil {
			return nil, err
		}
		n.parts = append(n.parts, p)
		l.report.Cameras = append(l.report.Cameras, r)
	}
	if err := n.upload(ctx, c, true); err != nil {
		return nil, err
	}
	n.held.add(n.feed)
	return n, n.plan(ctx)
}
