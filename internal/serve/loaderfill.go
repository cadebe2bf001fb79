package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// roomsPerWorker is how many rooms there are for each goroutine that decodes frames. It may have three at a time; see loader.Keeper.
const roomsPerWorker = 4

// filling decodes the frames for a resident loader's cameras, in the order of its batches. It writes them to rooms in shared memory, and
// the client copies them to the GPU. A room is memory for consecutive frames. The number of rooms limits how far it works ahead.
type filling struct {
	*loading // its loader gives the frames to the rooms, and makes no batches
	memory   *Memory
	size     int      // of a room, bytes
	free     chan int // rooms
	stop     context.CancelFunc
	done     chan struct{} // closed when the goroutine has ended; nil if it was not started

	mu      sync.Mutex
	owners  []owner // by room
	rooms   map[*tensor.Tensor]int
	ready   []filled      // for the next reply
	batches int64         // after the state, with all frames given
	left    int           // frames that are not given yet
	wrong   error         // ended the work
	changed chan struct{} // closed when there is something new
}

// owner is the user of a room.
type owner byte

const (
	noOwner owner = iota
	ofLoader
	ofClient // or in ready
)

// filled is frames of a camera for the client to copy.
type filled struct {
	Camera int   `json:"camera"`
	Room   int   `json:"room"`          // -1 if there are only bad frames
	At     int64 `json:"at"`            // in the rooms' memory, bytes
	Place  int64 `json:"place"`         // in the camera's store, bytes
	Bytes  int64 `json:"bytes"`         // of the frames
	Bad    []int `json:"bad,omitempty"` // samples in the camera's places to set to NoPlace
}

// openFilling handles "filling": it opens datasets to decode the frames of the cameras. The reply's file is the memory of the rooms. If the
// frames need more device memory than FrameMemory, the error is a *loader.FramesError.
func openFilling(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var ask loaderRequest
	if err := r.decodeLoader(&ask); err != nil {
		return nil, err
	}
	if ask.Streaming || len(ask.Cameras) == 0 {
		return nil, &loaderError{&dataset.OptionError{Arg: "cameras", Got: "none, or streaming", Want: "cameras of datasets that are kept on a GPU"}}
	}
	l, err := openLoading(ctx, c, &ask)
	if err != nil {
		return nil, err
	}
	f := &filling{loading: l, rooms: map[*tensor.Tensor]int{}, changed: make(chan struct{})}
	if err := f.open(ctx, c.cpu); err != nil {
		return nil, &loaderError{errors.Join(err, f.Close())}
	}
	c.filling = f
	c.closing(f.Close)
	return &Reply{Value: map[string]any{"memory": len(f.memory.Bytes()), "bytes": f.bytes()}, File: f.memory.File()}, nil
}

// open opens the loader, and allocates the rooms.
func (f *filling) open(ctx context.Context, cpu *ops.Device) (err error) {
	o := &f.source.Options
	room := cmp.Or(o.FrameMemory, math.MaxInt64)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Keeper = f
	f.loader, err = f.source.MakeOn(ctx, cpu, f.plan)
	o.Keeper = nil
	if err != nil {
		return err
	}
	for i, c := range f.loader.Report().Cameras {
		shape := f.source.Cameras[i].Stored(c.Wanted)
		if f.left += c.Left; c.Bytes > room {
			err := fmt.Errorf("there are %d for frames", room)
			return &loader.FramesError{Camera: c.Name, Shape: shape, Copies: 1, Err: &ops.MemoryError{Device: "cuda", What: "frames", Bytes: c.Bytes, Err: err}}
		}
		room -= c.Bytes
		shape[0] = loader.KeptTogether
		n, err := tensor.Fits(tensor.U8, shape...)
		if err != nil {
			return err
		}
		f.size = max(f.size, (n+slotPage-1)/slotPage*slotPage)
	}
	count := roomsPerWorker * f.loader.FrameWorkers()
	if f.memory, err = NewMemory("frames for a GPU", int64(count)*int64(f.size)); err != nil {
		return err
	}
	f.owners, f.free = make([]owner, count), make(chan int, count)
	for room := range count {
		f.free <- room
	}
	return nil
}

// bytes returns the size of all frames on the device.
func (f *filling) bytes() (n int64) {
	for _, c := range f.loader.Report().Cameras {
		n += c.Bytes
	}
	return n
}

// Room implements loader.Keeper.
func (f *filling) Room(ctx context.Context, camera, n int) (*tensor.Tensor, error) {
	select {
	case room := <-f.free:
		shape := f.source.Cameras[camera].Stored(n)
		size := 1
		for _, d := range shape {
			size *= d
		}
		t, err := raw.Over(f.memory.Bytes()[room*f.size:][:size], nil, tensor.U8, shape...)
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.owners[room], f.rooms[t] = ofLoader, room
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Keep implements loader.Keeper.
func (f *filling) Keep(k loader.Kept) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := filled{Camera: k.Camera, Room: -1, Bad: k.Bad}
	if k.Room != nil {
		g.Room, g.Bytes = f.rooms[k.Room], int64(k.Room.Len())
		g.At, g.Place = int64(g.Room)*int64(f.size), int64(k.Place*k.Room.Stride(0))
		f.owners[g.Room] = ofClient
		delete(f.rooms, k.Room)
	}
	f.ready = append(f.ready, g)
	f.notify()
}

// notify wakes a request that waits. The caller holds the lock.
func (f *filling) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// set changes the progress.
func (f *filling) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.notify()
}

// start starts the work at the loader's state.
func (f *filling) start() {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done = stop, make(chan struct{})
	go func() {
		defer close(f.done)
		if err := caught.Do(func() error { return f.fill(ctx) }); ctx.Err() == nil {
			f.set(func() { f.wrong = err })
		}
	}()
}

// fill gives the frames of the batches in the rest of an epoch, and then all others.
func (f *filling) fill(ctx context.Context) error {
	for epoch := int64(-1); ; {
		at, err := f.loader.State(ctx)
		if err != nil {
			return err
		}
		now := f.loader.Begin(at).Epoch
		if epoch >= 0 && now != epoch {
			break
		}
		epoch = now
		left, err := f.loader.FillNext(ctx)
		if err != nil {
			return err
		}
		f.set(func() { f.batches, f.left = f.batches+1, left })
		if left == 0 {
			break
		}
	}
	err := f.loader.Fill(ctx)
	if err == nil {
		f.set(func() { f.batches, f.left = math.MaxInt64, 0 })
	}
	return err
}

// pause stops the goroutine.
func (f *filling) pause() {
	if f.done != nil {
		f.stop()
		<-f.done
		f.done = nil
	}
}

// resume continues after a state. Frames that were given are not given again.
func (f *filling) resume(ctx context.Context, s loader.State) error {
	if err := f.loader.Check(s); err != nil {
		return err
	}
	f.pause()
	if err := f.loader.Resume(ctx, s); err != nil {
		return err
	}
	f.mu.Lock()
	clear(f.rooms)
	for room, o := range f.owners {
		if o == ofLoader {
			f.owners[room] = noOwner
			f.free <- room
		}
	}
	f.batches, f.wrong = 0, nil
	f.mu.Unlock()
	f.start()
	return nil
}

type fillRequest struct {
	Do
	Release []int         `json:"release"`         // rooms that are copied
	Batches int64         `json:"batches"`         // waits for frames until this many batches after the state have all; 0 does not wait
	State   *loader.State `json:"state,omitempty"` // continues after this state
}

type fillReply struct {
	Frames  []filled `json:"frames"`
	Batches int64    `json:"batches"` // after the state, with all frames in this reply or an earlier one; math.MaxInt64 at the end
	Left    int      `json:"left"`    // frames that are not given yet
}

// fillFrames handles "fill": it takes released rooms back, and returns frames for the client to copy. It waits if there are none and the
// batches are not complete. After the end, it returns at once.
func fillFrames(ctx context.Context, c *Conn, r *Request, ask fillRequest) (*Reply, error) {
	f := c.filling
	if f == nil {
		return nil, noLoader(r)
	}
	f.mu.Lock()
	for _, room := range ask.Release {
		if room < 0 || room >= len(f.owners) || f.owners[room] != ofClient {
			f.mu.Unlock()
			return nil, &RequestError{Arg: "release", Got: fmt.Sprint(room), Want: "a room that was handed out"}
		}
		f.owners[room] = noOwner
		f.free <- room
	}
	f.mu.Unlock()
	switch {
	case ask.State != nil:
		if err := f.resume(ctx, *ask.State); err != nil {
			return nil, &loaderError{err}
		}
	case f.done == nil:
		f.start()
	}
	for {
		f.mu.Lock()
		out := &fillReply{Frames: slices.Clone(f.ready), Batches: f.batches, Left: f.left}
		f.ready = f.ready[:0]
		err, changed := f.wrong, f.changed
		f.mu.Unlock()
		if len(out.Frames) > 0 || out.Batches >= ask.Batches {
			return &Reply{Value: out}, nil
		}
		if err != nil {
			return nil, &loaderError{f.source.Unreadable(err)}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close stops the work, and closes the loader and the rooms. The client keeps its own mapping of the rooms.
func (f *filling) Close() error {
	f.pause()
	return errors.Join(f.loading.Close(), f.memory.Close())
}
