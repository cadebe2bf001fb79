package view

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// ahead is the number of video frames that are decoded together, because decoding begins at a key frame.
	ahead = 32
	// keptFrames is the cache's size in bytes.
	keptFrames = 64 << 20
	// retry is the time after which a failed picture is decoded again.
	retry = 2 * time.Second
)

// pictureCache keeps the pictures for the last requests, up to keptFrames bytes.
type pictureCache struct {
	ctx    context.Context      // for the decoding, because several requests may wait for it
	start  func(do func()) bool // runs do in the background
	slots  chan struct{}        // limits how many pictures are decoded at a time
	small  chan struct{}        // limits thumbnails, so that the viewed episode does not wait for them
	mu     sync.Mutex
	recent *list.List // of *rendering, the latest in front
	kept   map[pictureKey]*list.Element
	bytes  int
	busy   map[pictureKey]chan struct{} // closed when a decoding ends; by its first picture
}

func (f *pictureCache) init(ctx context.Context, start func(do func()) bool) {
	*f = pictureCache{ctx: ctx, start: start, slots: make(chan struct{}, 2), small: make(chan struct{}, 1), recent: list.New(), kept: map[pictureKey]*list.Element{}, busy: map[pictureKey]chan struct{}{}}
}

// find returns a picture in the cache; nil if it has none.
func (f *pictureCache) find(name pictureKey) *rendering {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.kept[name]
	if at == nil {
		return nil
	}
	s := at.Value.(*rendering)
	if s.err != nil && time.Since(s.made) > retry { // for example when a store was unreachable
		f.drop(at)
		return nil
	}
	f.recent.MoveToFront(at)
	return s
}

func (f *pictureCache) keep(s *rendering) {
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

func (f *pictureCache) drop(at *list.Element) {
	s := f.recent.Remove(at).(*rendering)
	delete(f.kept, s.name)
	f.bytes -= len(s.bytes) + 256
}

// get returns the picture name from the cache. If it is missing, get runs do, which adds it and may add others. Concurrent calls with the
// same job run do once. The error is ctx's or the decoder's.
func (f *pictureCache) get(ctx context.Context, name, job pictureKey, do func(ctx context.Context)) (*rendering, error) {
	for range 3 { // the cache may drop a picture at once
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

// begin starts a job unless it is running, and returns a channel that is closed when the job ends.
func (f *pictureCache) begin(job pictureKey, do func(ctx context.Context)) chan struct{} {
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
