package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// scene is the frames that a batch wants from one camera in one episode.
type scene struct {
	camera, episode int
	batch           int
	frames          []int // ascending numbers in the episode
}

// run is a group in progress: frames that one task decodes.
type run struct {
	frames []int     // numbers in the episode
	users  []*waiter // one for each batch that waits for the frames
}

// runKey identifies a run. from is the number that its group's first frame has.
type runKey struct{ camera, episode, from int }

// taskFrames is how many frames from a video one task decodes for a batch. It decodes more if they are in the same group.
const taskFrames = 8

// addScene adds a task for a scene. At FramesStreaming, the frames go to the stage g.
func (r *reel) addScene(ctx context.Context, w *waiter, g *stage, sc scene) {
	w.Add(1)
	r.tasks.add(func(f *framer) {
		w.end(r.guarded(&sc, func() error {
			media, err := r.media(ctx, &sc)
			if err != nil {
				return r.giveUp(ctx, &sc, sc.frames, err)
			}
			if r.films[sc.camera].level == FramesStreaming {
				return r.addStreamed(ctx, w, g, sc, media)
			}
			return r.addKept(ctx, w, sc, media)
		}))
	})
}

// guarded calls do for a scene's episode, and returns panics as errors.
func (r *reel) guarded(sc *scene, do func() error) error {
	return caught.Do(func() error { return r.source.GuardEpisode(r.episodes[sc.episode], do) })
}

// addStreamed adds the tasks that decode a scene's frames for one batch. If several frames are in one group, one task decodes them.
func (r *reel) addStreamed(ctx context.Context, w *waiter, g *stage, sc scene, media *dataset.Media) error {
	clip, isVideo := video.AsClip(media.Source)
	first := int(r.films[sc.camera].begins[sc.episode])
	for frames := sc.frames; len(frames) > 0; {
		n := 1
		for to := 0; isVideo && n < len(frames) && (n < taskFrames || frames[n] < to); n++ {
			if n+1 < taskFrames {
				continue
			}
			var err error
			if _, to, err = clip.Group(ctx, frames[n]); err != nil {
				return r.lost(ctx, &sc, frames, err)
			}
		}
		list := frames[:n]
		frames = frames[n:]
		w.Add(1)
		r.tasks.add(func(f *framer) {
			w.end(r.guarded(&sc, func() error {
				return r.decode(ctx, f, &sc, media, list, inStore(func(frame int) *tensor.Tensor {
					place, _ := slices.BinarySearch(g.wants, first+frame)
					return rowOf(g.stack, place)
				}))
			}))
		})
	}
	return nil
}

// addKept adds the tasks that decode and keep the groups with a scene's frames.
func (r *reel) addKept(ctx context.Context, w *waiter, sc scene, media *dataset.Media) error {
	for frames := sc.frames; len(frames) > 0; {
		from, to, err := video.GroupOf(ctx, media.Source, media.Len(), frames[0])
		if err != nil {
			return r.giveUp(ctx, &sc, frames, err)
		}
		n := 1
		for n < len(frames) && frames[n] < to {
			n++
		}
		r.addGroup(ctx, w, sc, media, from, to, frames[:n])
		frames = frames[n:]
	}
	return nil
}

// addGroup adds a task that decodes a group, frames from..to-1. It adds none if the wanted frames are kept. If the group's task is already
// in progress, w waits for that one.
func (r *reel) addGroup(ctx context.Context, w *waiter, sc scene, media *dataset.Media, from, to int, wanted []int) {
	m := r.films[sc.camera]
	first := int(m.begins[sc.episode])
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(wanted, func(frame int) bool { return !m.isKept[first+frame] }) {
		return
	}
	w.Add(1)
	key := runKey{sc.camera, sc.episode, from}
	if now := r.runs[key]; now != nil {
		now.users = append(now.users, w)
		return
	}
	now := &run{users: []*waiter{w}}
	for frame := from; frame < to; frame++ {
		if m.place[first+frame] >= 0 && !m.isKept[first+frame] {
			now.frames = append(now.frames, frame)
		}
	}
	r.runs[key] = now
	r.tasks.add(func(f *framer) {
		err := r.guarded(&sc, func() error {
			var to places = inStore(func(frame int) *tensor.Tensor { return rowOf(m.kept, int(m.place[first+frame])) })
			if r.keeper != nil {
				to = newRooms(r.keeper, sc.camera, now.frames, int(m.place[first+now.frames[0]]))
			}
			return r.decode(ctx, f, &sc, media, now.frames, to)
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.runs, key); err == nil {
			err = r.keep(&sc, now.frames)
		}
		for _, w := range now.users {
			w.end(err)
		}
	})
}

// giveUp counts frames as bad, because their episode cannot be read. If the level keeps frames, they are not read again.
func (r *reel) giveUp(ctx context.Context, sc *scene, frames []int, err error) error {
	if err := r.lost(ctx, sc, frames, err); err != nil || r.films[sc.camera].level == FramesStreaming {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keep(sc, frames)
}

// keep marks frames as kept, and reports bad ones to the keeper. The caller holds the lock.
func (r *reel) keep(sc *scene, frames []int) error {
	m := r.films[sc.camera]
	k := Kept{Camera: sc.camera}
	for _, frame := range frames {
		index := int(m.begins[sc.episode]) + frame
		if !m.isKept[index] {
			m.isKept[index] = true
			m.report.Left--
			r.left.Add(-1)
		}
		if r.keeper != nil && r.bad[sc.camera][index] {
			samples, err := m.samplesOf(index)
			if err != nil {
				return err
			}
			k.Bad = append(k.Bad, samples...)
		}
	}
	if k.Bad != nil {
		r.keeper.Keep(k)
	}
	return nil
}

// decode decodes ascending frames from an episode, and writes them to their targets. If a frame cannot be decoded, it counts as bad; with
// Strict it is an error.
func (r *reel) decode(
	ctx context.Context, f *framer, sc *scene, media *dataset.Media, frames []int, to places,
) error {
	defer f.drop()
	left := slices.Clone(frames)
	var ended error // an error that must not be counted
	show := func(frame int, add func(to target) error, err error) error {
		if k, there := slices.BinarySearch(left, frame); there {
			left = slices.Delete(left, k, k+1)
		}
		var place target
		if err == nil {
			if place, ended = to.of(ctx, frame); ended != nil {
				return ended
			}
			err = add(place)
		}
		if err != nil {
			ended = r.lost(ctx, sc, []int{frame}, err)
			to.skip(frame)
		}
		return ended
	}
	err := r.pictures(ctx, f, sc.camera, media, frames, show)
	if ended != nil {
		return ended
	}
	if len(left) > 0 {
		if err == nil {
			err = &dataset.FormatError{
				Format: r.source.Format(), Offset: -1, Kind: dataset.ErrMissing, Msg: "frames of " + media.Name,
				Got: fmt.Sprint(len(frames) - len(left)), Want: fmt.Sprint(len(frames)),
			}
		}
		if err := r.lost(ctx, sc, left, err); err != nil {
			return err
		}
		for _, frame := range left {
			to.skip(frame)
		}
	}
	r.mu.Lock()
	r.films[sc.camera].report.Decoded += len(frames) - len(left)
	r.mu.Unlock()
	return f.flush()
}

// pictures decodes ascending frames, and calls show for each one. add adds the frame's picture to the framer.
func (r *reel) pictures(
	ctx context.Context, f *framer, camera int, media *dataset.Media, frames []int,
	show func(frame int, add func(to target) error, err error) error,
) error {
	m := r.films[camera]
	if clip, ok := video.AsClip(media.Source); ok {
		device := ""
		if f.device.Info().Backend == "cuda" && !m.isYUV420() { // because the host splits chroma planes
			device = f.device.Name()
		}
		return clip.Planes(ctx, frames, device, func(frame int64, p *video.Planes, err error) error {
			if err == nil && m.isYUV420() {
				err = m.check420(camera, p)
			}
			return show(int(frame), func(to target) error { return f.planes(p, to) }, err)
		})
	}
	if m.isYUV420() {
		return no420(camera, "images")
	}
	at := frames[0]
	var last error
	for picture, err := range media.DecodeRange(ctx, frames[0], frames[len(frames)-1]+1) {
		if last = err; at == frames[0] {
			if err := show(at, func(to target) error { return f.picture(picture, to) }, err); err != nil {
				return err
			}
			if frames = frames[1:]; len(frames) == 0 {
				return nil
			}
		}
		at++
	}
	return last
}

// lost counts frames as bad, because they cannot be decoded. It returns the error if the loader must stop: with Strict, for example.
func (r *reel) lost(ctx context.Context, sc *scene, frames []int, err error) error {
	if r.strict || ctx.Err() != nil || errors.Is(err, dataset.ErrClosed) || dataset.IsFatal(err) {
		return err
	}
	m := r.films[sc.camera]
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, frame := range frames {
		index := int(m.begins[sc.episode]) + frame
		if r.bad[sc.camera][index] {
			continue
		}
		r.bad[sc.camera][index] = true
		if m.report.FirstBad == "" {
			m.report.FirstBad = err.Error()
		}
		if m.level != FramesOnDevice {
			continue
		}
		samples, err := m.samplesOf(index)
		if err != nil {
			return err
		}
		for _, k := range samples {
			at, err := m.places.values.Slice(0, k, k+1)
			if err != nil {
				return err
			}
			if err := r.loader.device.Copy(context.Background(), at, badPlace); err != nil {
				return err
			}
		}
	}
	return nil
}

// badPlace is NoPlace as a sample.
var badPlace = tensor.Must(bitsOf(tensor.Must(tensor.Of([]int64{NoPlace}, 1, 1))))

// tasks is the workers' queue. It has no limit, because a task may add others.
type tasks struct {
	mu     sync.Mutex
	more   sync.Cond
	list   []func(f *framer)
	closed bool
}

func newTasks() *tasks {
	t := &tasks{}
	t.more.L = &t.mu
	return t
}

// add adds a task.
func (t *tasks) add(do func(f *framer)) {
	t.mu.Lock()
	t.list = append(t.list, do)
	t.mu.Unlock()
	t.more.Signal()
}

// close ends the workers after the tasks.
func (t *tasks) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.more.Broadcast()
}

// work does tasks until there are none and the queue is closed.
func (t *tasks) work(f *framer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.list) == 0 {
			if t.closed {
				return
			}
			t.more.Wait()
		}
		do := t.list[0]
		t.list = t.list[1:]
		t.mu.Unlock()
		do(f)
		t.mu.Lock()
	}
}
