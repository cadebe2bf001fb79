package view

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/tensor"
)

const (
	// ahead is how many frames of a video are decoded together: one by one each would begin at the last key frame.
	ahead = 32
	// keptFrames is how many bytes of pictures are kept.
	keptFrames = 64 << 20
	// quality is that of the pictures, as package image/jpeg counts it.
	quality = 85
	// retry is how long a picture that could not be made is not tried again.
	retry = 2 * time.Second
)

// picture names a picture: frame at a place of a camera, or an episode's thumbnail.
type picture struct {
	episode, camera, place, height int
}

// shot is a picture, or why there is none.
type shot struct {
	name  picture
	kind  string // its media type
	bytes []byte
	err   error
	made  time.Time
}

// frames keeps the pictures that were asked for last.
type frames struct {
	ctx    context.Context      // of what is decoded, which others than one request may wait for
	start  func(do func()) bool // does it in the background
	slots  chan struct{}        // how much is decoded at a time
	small  chan struct{}        // likewise of the list's pictures, so that what is looked at need not wait for these
	mu     sync.Mutex
	recent *list.List // of *shot, the latest in front
	kept   map[picture]*list.Element
	bytes  int
	busy   map[picture]chan struct{} // by the first picture of what is decoded
}

func (f *frames) init(ctx context.Context, start func(do func()) bool) {
	*f = frames{ctx: ctx, start: start, slots: make(chan struct{}, 2), small: make(chan struct{}, 1), recent: list.New(), kept: map[picture]*list.Element{}, busy: map[picture]chan struct{}{}}
}

// find returns a picture that is kept.
func (f *frames) find(name picture) *shot {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.kept[name]
	if at == nil {
		return nil
	}
	s := at.Value.(*shot)
	if s.err != nil && time.Since(s.made) > retry { // such as a store that could not be reached
		f.drop(at)
		return nil
	}
	f.recent.MoveToFront(at)
	return s
}

func (f *frames) keep(s *shot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept[s.name] != nil {
		return
	}
	s.made = time.Now()
	f.kept[s.name] = f.recent.PushFront(s)
	f.bytes += len(s.bytes) + 256
	for f.bytes > keptFrames && f.recent.Len() > ahead {
		f.drop(f.recent.Back())
	}
}

func (f *frames) drop(at *list.Element) {
	s := f.recent.Remove(at).(*shot)
	delete(f.kept, s.name)
	f.bytes -= len(s.bytes) + 256
}

// get returns a picture, which do makes, perhaps with others, if it is not there: once for all who ask for the picture job meanwhile.
func (f *frames) get(ctx context.Context, name, job picture, do func(ctx context.Context)) (*shot, error) {
	for range 3 { // a picture that is made and dropped at once is made again
		if s := f.find(name); s != nil {
			return s, s.err
		}
		select {
		case <-f.begin(job, do):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.ctx.Done():
			return nil, f.ctx.Err()
		}
	}
	if s := f.find(name); s != nil {
		return s, s.err
	}
	return nil, fmt.Errorf("frame %d could not be kept", name.place)
}

// begin begins a job, unless it goes on already. What it returns is closed when it is done.
func (f *frames) begin(job picture, do func(ctx context.Context)) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := f.busy[job]
	if done != nil {
		return done
	}
	done = make(chan struct{})
	f.busy[job] = done
	ended := func() {
		delete(f.busy, job)
		close(done)
	}
	slots := f.slots
	if job.camera < 0 {
		slots = f.small
	}
	begun := f.start(func() {
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			ended()
		}()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			do(f.ctx)
		case <-f.ctx.Done():
		}
	})
	if !begun {
		ended()
	}
	return done
}

// serveFrame sends the frame of a camera at a time, as JPEG or as it was recorded, with where it stands in the header Frame: its number, its time and
// the time of the next, in seconds.
func (s *Server) serveFrame(w http.ResponseWriter, r *http.Request, e *entry) {
	k := slices.IndexFunc(e.Media, func(m dataset.Media) bool { return m.Name == r.FormValue("camera") })
	if k < 0 {
		failWith(w, &missing{"camera " + strconv.Quote(r.FormValue("camera"))})
		return
	}
	at, err := number(r, "at", 0, -1e9, 1e9)
	if err == nil && len(e.mediaOrder[k].times) == 0 {
		err = &missing{"frame of " + e.Media[k].Name}
	}
	height, bad := integer(r, "height", 480, 16, 4320)
	if err == nil {
		err = bad
	}
	if err != nil {
		failWith(w, err)
		return
	}
	c := &e.mediaOrder[k]
	place := c.at(e.start + int64(math.Round(at*1e9)))
	until := math.MaxFloat64
	if place+1 < len(c.times) {
		until = e.seconds(c.times[place+1])
	}
	w.Header().Set("Frame", fmt.Sprintf(`{"frame":%d,"at":%s,"until":%s}`, c.index(place), appendNumber(nil, e.seconds(c.times[place])), appendNumber(nil, until)))
	shot, err := s.frame(r.Context(), e, k, place, height)
	if err != nil {
		failWith(w, err)
		return
	}
	w.Header().Set("Content-Type", shot.kind)
	_, _ = w.Write(shot.bytes) // who has gone needs no answer
}

// frame returns a frame of a camera. Of a video those around it are decoded too, and the next ones when half of these have been seen.
func (s *Server) frame(ctx context.Context, e *entry, camera, place, height int) (*shot, error) {
	m, c := &e.Media[camera], &e.mediaOrder[camera]
	name := picture{e.number, camera, place, height}
	if _, video := m.Source.(dataset.FrameDecoder); !video || c.which != nil {
		return s.frames.get(ctx, name, name, func(ctx context.Context) { s.frames.keep(one(ctx, m, name, c.index(place))) })
	}
	job := func(place int) (picture, func(ctx context.Context)) {
		from := place - place%ahead
		to := min(from+ahead, m.Len())
		return picture{e.number, camera, from, height}, func(ctx context.Context) { s.frames.run(ctx, m, picture{e.number, camera, from, height}, to) }
	}
	first, do := job(place)
	shot, err := s.frames.get(ctx, name, first, do)
	if next := place + ahead/2; err == nil && next < m.Len() && next/ahead > place/ahead {
		if job, do := job(next); s.frames.find(job) == nil {
			s.frames.begin(job, do)
		}
	}
	return shot, err
}

// run decodes frames of a video one after the other. After an error those that are left have it too.
func (f *frames) run(ctx context.Context, m *dataset.Media, name picture, to int) {
	failed := caught.Do(func() error {
		for t, err := range m.DecodeRange(ctx, name.place, to) {
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return err
			}
			f.keep(encoded(name, t))
			name.place++
		}
		return nil
	})
	if ctx.Err() != nil {
		return
	}
	for ; failed != nil && name.place < to; name.place++ {
		f.keep(&shot{name: name, err: failed})
	}
}

// one makes a picture of a frame that is by itself. A JPEG goes as it is unless it is far larger than what was asked for.
func one(ctx context.Context, m *dataset.Media, name picture, i int) (s *shot) {
	err := caught.Do(func() error {
		if m.Encoding == "jpeg" {
			b, err := m.Frame(ctx, i)
			if err != nil {
				return err
			}
			if head, err := jpeg.DecodeConfig(bytes.NewReader(b)); err == nil && head.Height <= 2*name.height {
				s = &shot{name: name, kind: "image/jpeg", bytes: b}
				return nil
			}
		}
		t, err := m.Decode(ctx, i)
		if err == nil {
			s = encoded(name, t)
		}
		return err
	})
	if err != nil {
		s = &shot{name: name, err: err}
	}
	return s
}

// encoded makes a JPEG of a decoded frame, no taller than its name says.
func encoded(name picture, t *tensor.Tensor) *shot {
	b, err := encode(t, name.height)
	return &shot{name: name, kind: "image/jpeg", bytes: b, err: err}
}

func encode(t *tensor.Tensor, height int) ([]byte, error) {
	t, err := grey(t)
	if err != nil {
		return nil, err
	}
	if h, w := t.Dim(0), t.Dim(1); h > height {
		small, err := tensor.New(tensor.U8, height, max(1, (w*height+h/2)/h), t.Dim(2))
		if err != nil {
			return nil, err
		}
		if err := dataset.Resize(small, t); err != nil {
			return nil, err
		}
		t = small
	}
	data, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	h, w, channels := t.Dim(0), t.Dim(1), t.Dim(2)
	var im image.Image
	switch channels {
	case 1:
		im = &image.Gray{Pix: data, Stride: w, Rect: image.Rect(0, 0, w, h)}
	case 4:
		im = &image.NRGBA{Pix: data, Stride: 4 * w, Rect: image.Rect(0, 0, w, h)}
	default:
		rgba := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range h * w {
			copy(rgba.Pix[4*i:], data[3*i:3*i+3])
			rgba.Pix[4*i+3] = 255
		}
		im = rgba
	}
	var out bytes.Buffer
	err = jpeg.Encode(&out, im, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}

// grey makes u8 of depth: the near bright, from the hundredth nearest pixel to the hundredth farthest, and what has no depth black.
func grey(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType() == tensor.U8 {
		return t.Contiguous()
	}
	data, err := tensor.Floats(t)
	if err != nil {
		return nil, err
	}
	var known []float64
	for _, v := range data {
		if v > 0 && !math.IsInf(v, 1) {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	out := make([]uint8, len(data))
	if len(known) > 0 {
		near, far := known[len(known)/100], known[len(known)-1-len(known)/100]
		for i, v := range data {
			if v > 0 && !math.IsInf(v, 1) {
				out[i] = uint8(255 - 215*min(max((v-near)/max(far-near, 1e-9), 0), 1))
			}
		}
	}
	return tensor.Of(out, t.Shape()...)
}
