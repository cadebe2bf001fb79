package loader

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// shot is one batch's frames, prepared in advance. It has a stage for each camera.
type shot struct {
	waiter
	number int
	plans  []*ops.Plan // one a camera
	stages []stage     // one a camera
	ready  chan struct{}
}

// stage is one camera's memory in a shot. If the level is FramesOnDevice, it needs none, because the frames are in film.kept.
type stage struct {
	film     *film
	stack    *tensor.Tensor // the stored frames, B*T at most, on the device; nil if the level is device
	selected *tensor.Tensor // [B*T] i64 on the device
	chosen   *tensor.Tensor // its contents, in host memory
	places   []int64        // the elements in chosen
	wants    []int          // the indexes that the frames in the stack have, ascending
	indexes  []float64      // by target
}

// waiter waits for tasks, and keeps their first error.
type waiter struct {
	sync.WaitGroup
	mu  sync.Mutex
	err error
}

// end counts a task as done.
func (w *waiter) end(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	w.Done()
}

// newShot allocates a shot.
func (l *Loader) newShot(number int) (*shot, error) {
	s := &shot{number: number}
	for _, m := range l.films {
		g := stage{film: m}
		if m.level != FramesOnDevice {
			n := m.selected.Len()
			for _, o := range []struct {
				to    **tensor.Tensor
				alloc func(tensor.DType, ...int) (*tensor.Tensor, error)
				dtype tensor.DType
				shape []int
			}{
				{&g.stack, l.alloc, tensor.U8, m.Stored(n)}, {&g.selected, l.alloc, tensor.I64, []int{n}},
				{&g.chosen, l.device.AllocHost, tensor.I64, []int{n}},
			} {
				t, err := o.alloc(o.dtype, o.shape...)
				if err != nil {
					return nil, noRoomForFrames(m.Name, m.Stored(n), l.frameCopies(), err)
				}
				if *o.to = t; t == g.chosen {
					l.closers.add(t)
				}
			}
			err := zero(l.device, g.stack)
			if err != nil {
				return nil, err
			}
			if g.places, err = tensor.Data[int64](g.chosen); err != nil {
				return nil, err
			}
		}
		if m.kept == nil && m.level == FramesOnDevice || l.isUnmade { // a Keeper has them, or the program makes the frames
			s.stages = append(s.stages, g)
			continue
		}
		stack, selected := m.kept, m.selected
		if g.stack != nil {
			stack, selected = g.stack, g.selected
		}
		plan, err := l.planFrames(m, stack, selected)
		if err != nil {
			return nil, err
		}
		s.plans, s.stages = append(s.plans, plan), append(s.stages, g)
	}
	return s, nil
}

// run enqueues the launches that make the frames.
func (s *shot) run(q *ops.Queue) error {
	for i := range s.stages {
		g := &s.stages[i]
		if g.stack != nil && i < len(s.plans) {
			if err := q.Copy(g.selected, g.chosen); err != nil {
				return err
			}
		}
		if i < len(s.plans) {
			if err := s.plans[i].Run(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// want sets a batch's frame indexes, by target.
func (g *stage) want(indexes []float64) {
	g.indexes = append(g.indexes[:0], indexes...)
	g.wants = g.wants[:0]
	for _, index := range indexes {
		if index >= 0 {
			g.wants = append(g.wants, int(index))
		}
	}
	slices.Sort(g.wants)
	g.wants = slices.Compact(g.wants)
}

// choose sets the targets' places in the stack. bad has the frames that cannot be decoded.
func (g *stage) choose(bad map[int]bool) {
	for k, index := range g.indexes {
		place, there := slices.BinarySearch(g.wants, int(index))
		if g.places[k] = int64(place); !there || bad[int(index)] {
			g.places[k] = NoPlace
		}
	}
}

// lose marks rows in the batch that have no window: their frames are black and not valid.
func (s *shot) lose(rows []int) {
	for i := range s.stages {
		g := &s.stages[i]
		t := len(g.film.places.deltas)
		for _, row := range rows {
			if g.stack != nil {
				for k := range t {
					g.places[row*t+k] = NoPlace
				}
			}
		}
	}
}

// show gives a shot's stored frames to the batch, until the next one. Before the shot has frames, all its memory is given.
func (r *reel) show(s *shot) {
	for i := range s.stages {
		g, to := &s.stages[i], &r.loader.batch.Cameras[i].Stored
		to.Frames, to.Select = g.stack, g.chosen
		if s == r.current {
			to.Frames = tensor.Must(g.stack.Slice(0, 0, len(g.wants)))
		}
		if g.film.isRandom() {
			to.Keys = r.loader.keys
		}
	}
	r.isShown = s == r.current
}
