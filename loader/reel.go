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
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// reel prepares the batches' frames in advance. One goroutine draws the next batches' frame indexes, on the CPU. For each batch it adds
// scenes (frames from one episode) as tasks. Workers decode the frames that are not kept yet, each with a framer. When a batch's frames are
// ready, its shot goes to next.
type reel struct {
	loader   *Loader
	films    []*film
	source   episodes
	numbers  *Loader // draws frame indexes
	episodes []int   // the drawn episodes' numbers in the source
	strict   bool
	unfilled bool   // the program fills the store
	keeper   Keeper // may be nil
	workers  []*framer
	copies   *ops.Queue // from pinned memory to the shots
	shots    []*shot
	waitTime atomic.Int64
	left     atomic.Int64 // frames that are not kept yet, plus 1 for each camera with a level other than FramesOnDevice

	mu   sync.Mutex
	open map[int]*openEpisode // by number in the source
	bad  []map[int]bool       // one a camera, by index: frames that cannot be decoded
	runs map[runKey]*run      // in progress

	tasks         *tasks
	free, readied chan *shot
	current       *shot
	isShown       bool               // the last batch has the current shot's frames
	cancel        context.CancelFunc // nil until reading starts
	failed        error              // repeats until Resume
	drawing       sync.WaitGroup
	background    sync.WaitGroup // all other goroutines
}

// openEpisode is an episode that workers read frames from. It is opened once for all of them.
type openEpisode struct {
	once  sync.Once
	media []dataset.Media
	err   error
	used  int // the last batch that read it
}

const (
	openBatches   = 4  // batches for which an unused episode stays open
	decodeStreams = 28 // streams that a GPU's video engines need to be busy
)

// newReel allocates the shots, and checks that each camera's first frame can be decoded.
func newReel(ctx context.Context, l *Loader, c *selection) (err error) {
	r := &reel{
		loader: l, films: l.films, source: c.from, episodes: c.numbers, strict: c.opt.Strict, unfilled: c.opt.Unfilled, keeper: c.opt.Keeper,
		open: map[int]*openEpisode{}, runs: map[runKey]*run{},
	}
	order := l.order
	order.Launch = ops.LaunchDefault
	if r.numbers, err = l.numbersLoader(ctx, c, order); err != nil {
		return err
	}
	l.closers.add(r.numbers)
	if err := r.decodeFirst(ctx, c); err != nil {
		return err
	}
	shots := 1 + framesAhead
	switch {
	case r.unfilled:
		shots = 1
	case l.isUnmade:
		shots++ // the last batch's
	}
	for _, m := range r.films {
		r.bad = append(r.bad, map[int]bool{})
		if r.left.Add(int64(m.count())); m.level != FramesOnDevice {
			r.left.Add(1)
		}
	}
	for i := range shots {
		s, err := l.newShot(i)
		if err != nil {
			return err
		}
		r.shots = append(r.shots, s)
	}
	if r.copies, err = l.device.NewQueue(); err != nil {
		return err
	}
	l.closers.add(r.copies)
	if l.isUnmade {
		r.show(r.shots[0])
	}
	if l.reel = r; r.unfilled {
		return nil
	}
	workers, on := c.opt.Workers, l.framesDevice(c.opt)
	if on.Info().Backend == "cuda" {
		workers = max(workers, decodeStreams)
	}
	for range workers {
		w, err := newFramer(on)
		if err != nil {
			return err
		}
		l.closers.add(w)
		r.workers = append(r.workers, w)
	}
	l.closers.add(r)
	return nil
}

// decodeFirst decodes each camera's first frame, so that a missing decoder is an error at once: see CameraError. A damaged frame is no
// error here. If frames are kept as yuv420, the first frame that can be decoded sets the colour matrix and range.
func (r *reel) decodeFirst(ctx context.Context, c *selection) error {
	for i, m := range r.films {
		if r.unfilled && !m.isYUV420() {
			continue
		}
		var err error
		episode := ""
		for e, f := range c.frames {
			if f.streams[i].Values == nil {
				continue
			}
			sc := scene{camera: i, episode: e}
			episode = c.entries[e].name
			err = r.guarded(&sc, func() error {
				media, err := r.media(ctx, &sc)
				if err != nil {
					return err // reading the frame will report it
				}
				if m.isYUV420() {
					return r.measure420(ctx, i, media)
				}
				picture, err := media.Decode(ctx, 0)
				if err == nil {
					_, err = dataset.RGB(picture)
				}
				return err
			})
			if err == nil || !m.isYUV420() || errors.Is(err, dataset.ErrUnsupported) || dataset.IsFatal(err) || ctx.Err() != nil {
				break
			}
		}
		var option *OptionError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &option):
			return err
		case errors.Is(err, dataset.ErrUnsupported), dataset.IsSystem(err), err != nil && m.isYUV420():
			return &CameraError{m.Name, episode, err}
		}
	}
	clear(r.open)
	c.frames = nil
	return nil
}

// report adds the frames that are left, decoded, and bad.
func (r *reel) report(out *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Cameras = nil
	for i, m := range r.films {
		c := *m.report
		c.Bad = len(r.bad[i])
		out.Cameras = append(out.Cameras, c)
	}
}

// isComplete reports whether all frames are on the device.
func (r *reel) isComplete() bool { return r.unfilled || r.left.Load() == 0 }

// next returns the next batch's shot, by number, when its frames are ready. If nothing is read yet, reading starts at the feed's cursor. An
// error stops the reading.
func (r *reel) next(ctx context.Context, from feed) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	if r.isShown {
		r.advance()
	}
	if r.isComplete() {
		r.stop()
		return 0, nil
	}
	if r.cancel == nil {
		at, err := from.cursor(ctx)
		if err == nil {
			err = r.start(ctx, at)
		}
		if err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	if r.current == nil {
		select {
		case r.current = <-r.readied:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	select {
	case <-r.current.ready:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	r.waitTime.Add(int64(time.Since(begin)))
	if r.failed = r.current.err; r.failed != nil {
		r.stop()
		return 0, r.failed
	}
	return r.current.number, nil
}

// lose marks rows in the next batch that have no window.
func (r *reel) lose(rows []int) {
	if r.current != nil {
		r.current.lose(rows)
	}
}

// advance frees the shot that next returned, when its batch is made.
func (r *reel) advance() {
	if r.current != nil {
		r.free <- r.current
		r.current, r.isShown = nil, false
	}
}

// start starts to prepare batches from a position on, in the background. The work continues after one batch's context ends.
func (r *reel) start(ctx context.Context, at ops.Cursor) error {
	if err := r.numbers.feed.seek(ctx, at); err != nil {
		return err
	}
	r.free, r.readied = make(chan *shot, len(r.shots)), make(chan *shot, len(r.shots))
	for _, s := range r.shots {
		r.free <- s
	}
	ctx = r.begin(ctx)
	r.drawing.Go(func() {
		for batch := 0; ; batch++ {
			select {
			case s := <-r.free:
				s.err, s.ready = nil, make(chan struct{})
				s.Add(1)
				err := caught.Do(func() error { return r.draw(ctx, s, batch) })
				s.end(err)
				r.background.Go(func() {
					s.Wait()
					if s.err == nil {
						s.err = caught.Do(func() error { return r.finish(s) })
					}
					close(s.ready)
				})
				if r.readied <- s; err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// begin starts the workers, and returns the context for their tasks.
func (r *reel) begin(ctx context.Context) context.Context {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.tasks = newTasks()
	for _, w := range r.workers {
		r.background.Go(func() { r.tasks.work(w) })
	}
	return ctx
}

// stop stops the work. The next batch starts it again.
func (r *reel) stop() {
	if r.cancel != nil {
		r.cancel()
		r.drawing.Wait() // it adds tasks
		r.tasks.close()
		r.background.Wait()
		r.cancel, r.current, r.isShown = nil, nil, false
		clear(r.open)
	}
}

// Close stops the work.
func (r *reel) Close() error {
	r.stop()
	return nil
}

// fill decodes all frames that are not kept yet.
func (r *reel) fill(ctx context.Context) error {
	for _, m := range r.films {
		if m.level != FramesOnDevice {
			return &StreamingError{"Fill"}
		}
	}
	r.stop()
	tasks := r.begin(ctx)
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	defer r.stop()
	step := max(len(r.workers), 1)
	for at := 0; at < len(r.episodes); at += step {
		var w waiter
		for i, m := range r.films {
			for e := at; e < min(at+step, len(r.episodes)); e++ {
				sc := scene{camera: i, episode: e, batch: at / step}
				for index := int(m.begins[e]); index < int(m.begins[e+1]); index++ {
					if m.place[index] >= 0 {
						sc.frames = append(sc.frames, index-int(m.begins[e]))
					}
				}
				if len(sc.frames) > 0 {
					r.addScene(tasks, &w, nil, sc)
				}
			}
		}
		r.evict(at / step)
		if w.Wait(); w.err != nil {
			return w.err
		}
	}
	return ctx.Err()
}

// draw draws the next batch's frame indexes, and adds the tasks that decode its frames.
func (r *reel) draw(ctx context.Context, s *shot, batch int) error {
	if err := r.numbers.Next(ctx); err != nil {
		return err
	}
	for i := range s.stages {
		g, m := &s.stages[i], r.films[i]
		indexes, err := tensor.Data[float64](r.numbers.batch.Streams[i].Values)
		if err != nil {
			return err
		}
		g.want(indexes)
		left := g.wants
		if m.level != FramesStreaming {
			r.mu.Lock()
			left = nil
			for _, index := range g.wants {
				if !m.isKept[index] {
					left = append(left, index)
				}
			}
			r.mu.Unlock()
		}
		for len(left) > 0 {
			sc := scene{camera: i, episode: m.episodeOf(left[0]), batch: batch}
			first, end := int(m.begins[sc.episode]), int(m.begins[sc.episode+1])
			n := 0
			for ; n < len(left) && left[n] < end; n++ {
				sc.frames = append(sc.frames, left[n]-first)
			}
			left = left[n:]
			r.addScene(ctx, &s.waiter, g, sc)
		}
	}
	r.evict(batch)
	return nil
}

// evict closes episodes that the last openBatches batches did not use.
func (r *reel) evict(batch int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e, o := range r.open {
		if o.used < batch-openBatches {
			delete(r.open, e)
		}
	}
}

// finish sets the places for a shot's frames, and copies pinned frames to the device.
func (r *reel) finish(s *shot) error {
	copied := false
	for i := range s.stages {
		g := &s.stages[i]
		if g.stack == nil {
			continue
		}
		r.mu.Lock()
		g.choose(r.bad[i])
		r.mu.Unlock()
		if g.film.level != FramesPinned {
			continue
		}
		place := func(k int) int { return int(g.film.place[g.wants[k]]) }
		for k := 0; k < len(g.wants); {
			n := k + 1
			for n < len(g.wants) && place(n) == place(n-1)+1 {
				n++
			}
			from, err := g.film.kept.Slice(0, place(k), place(k)+n-k)
			if err != nil {
				return err
			}
			to, err := g.stack.Slice(0, k, n)
			if err != nil {
				return err
			}
			if err := r.copies.Copy(to, from); err != nil {
				return err
			}
			k, copied = n, true
		}
	}
	if !copied {
		return nil
	}
	return r.copies.Synchronize(context.Background())
}

// nameOf returns a camera's name in an episode, by the episode's number in the source.
func (r *reel) nameOf(m *film, number int) string {
	place, _ := r.source.Place(number)
	return m.plan.from(m.camera, place)
}

// media returns the media stream for a scene. The episode stays open for later batches.
func (r *reel) media(ctx context.Context, sc *scene) (*dataset.Media, error) {
	number := r.episodes[sc.episode]
	r.mu.Lock()
	o := r.open[number]
	if o == nil {
		o = &openEpisode{}
		r.open[number] = o
	}
	o.used = sc.batch
	r.mu.Unlock()
	o.once.Do(func() {
		e, err := r.source.Episode(ctx, number)
		if o.err = err; err == nil {
			o.media = e.Media
		}
	})
	if o.err != nil {
		return nil, o.err
	}
	from := r.nameOf(r.films[sc.camera], number)
	k := slices.IndexFunc(o.media, func(c dataset.Media) bool { return c.Name == from })
	if k < 0 {
		_, number := r.source.Place(number)
		return nil, &dataset.EpisodeError{Episode: number, Err: &dataset.FormatError{
			Format: r.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "media stream", Got: "none", Want: from,
		}}
	}
	if got, want := o.media[k].Len(), int(r.films[sc.camera].begins[sc.episode+1]-r.films[sc.camera].begins[sc.episode]); got != want {
		_, number := r.source.Place(number)
		return nil, &dataset.EpisodeError{Episode: number, Err: &ChangedError{"frames of " + from, fmt.Sprint(got), fmt.Sprint(want)}}
	}
	return &o.media[k], nil
}
