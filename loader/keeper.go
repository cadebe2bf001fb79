package loader

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Keeper keeps the cameras' frames in the place of the loader, for example in another process. Its methods may be called from any goroutine.
type Keeper interface {
	// Room returns memory u8 [n,h,w,3] for frames of a camera, which is an index in Options.Cameras, or [n,h*3/2,w] if they are yuv420: the
	// luma, then both chroma planes. It waits if all memory is in use. n is at most KeptTogether. Each of Options.Workers may have three
	// rooms at a time.
	Room(ctx context.Context, camera, n int) (*tensor.Tensor, error)
	// Keep takes a room whose frames are ready.
	Keep(k Kept)
}

// Kept is consecutive frames of a camera, in the order of [Loader.FrameStore].
type Kept struct {
	Camera int
	Room   *tensor.Tensor // nil if there are only Bad frames
	Place  int            // of the first frame
	// Bad are the indexes of samples in [Loader.FrameStore]'s places whose frames cannot be decoded. They must be set to NoPlace. Their frames
	// may be in a room, with any contents.
	Bad []int
}

// KeptTogether is how many frames a room has at most.
const KeptTogether = 16

// NoPlace is the place of a frame that is black and not valid.
const NoPlace = noPlace

// FrameStore returns the tensors on the device that Fill fills for a camera: the frames, with N for n in [Keeper].Room, and the
// frames' places in them, by sample, as the bits of i64 in f64 [S,1]. They are nil if the level is another than FramesOnDevice.
func (l *Loader) FrameStore(camera int) (frames, places *tensor.Tensor) {
	if m := l.films[camera]; m.level == FramesOnDevice {
		return m.kept, m.places.values
	}
	return nil, nil
}

// FillNext gives the frames of the next batch to Options.Keeper, and then moves to the batch after it, which it does not make. It returns how
// many frames are left in all. Frames that were given are not given again.
func (l *Loader) FillNext(ctx context.Context) (left int, err error) {
	if _, err = l.reel.next(ctx, l.feed); err != nil {
		return 0, err
	}
	at, err := l.feed.cursor(ctx)
	if err != nil {
		return 0, err
	}
	_, after := l.order.Next(at)
	if err := l.feed.seek(ctx, after); err != nil {
		return 0, err
	}
	l.reel.advance()
	return int(l.reel.left.Load()), nil
}

// target is the place of a stored frame. done is called when it is there.
type target struct {
	frame *tensor.Tensor // u8 [h,w,3], or [h*3/2,w] for 4:2:0
	done  func()         // may be nil
}

// places are the places of some frames, by their numbers in the episode.
type places interface {
	// of returns a frame's place. skip follows a frame that cannot be decoded.
	of(ctx context.Context, frame int) (target, error)
	skip(frame int)
}

// inStore are places in a tensor.
type inStore func(frame int) *tensor.Tensor

func (p inStore) of(_ context.Context, frame int) (target, error) {
	return target{frame: p(frame)}, nil
}

func (p inStore) skip(int) {}

// rooms are places in a keeper's rooms.
type rooms struct {
	keeper Keeper
	camera int
	frames []int            // ascending
	place  int              // of the first one
	rooms  []*tensor.Tensor // for KeptTogether frames each
	left   []int            // frames that are not ready yet
}

func newRooms(k Keeper, camera int, frames []int, place int) *rooms {
	r := &rooms{keeper: k, camera: camera, frames: frames, place: place}
	for n := len(frames); n > 0; n -= KeptTogether {
		r.left = append(r.left, min(n, KeptTogether))
	}
	r.rooms = make([]*tensor.Tensor, len(r.left))
	return r
}

func (r *rooms) of(ctx context.Context, frame int) (t target, err error) {
	k, _ := slices.BinarySearch(r.frames, frame)
	room := k / KeptTogether
	if r.rooms[room] == nil {
		if r.rooms[room], err = r.keeper.Room(ctx, r.camera, min(KeptTogether, len(r.frames)-room*KeptTogether)); err != nil {
			return t, err
		}
	}
	return target{rowOf(r.rooms[room], k%KeptTogether), func() { r.skip(frame) }}, nil
}

// skip counts a frame as ready, and gives its room to the keeper if it is the last one there.
func (r *rooms) skip(frame int) {
	k, _ := slices.BinarySearch(r.frames, frame)
	room := k / KeptTogether
	if r.left[room]--; r.left[room] == 0 && r.rooms[room] != nil {
		r.keeper.Keep(Kept{Camera: r.camera, Room: r.rooms[room], Place: r.place + room*KeptTogether})
	}
}

// framesDevice returns the device that decodes and resizes frames.
func (l *Loader) framesDevice(opt *Options) *ops.Device {
	if opt.FramesOn != nil {
		return opt.FramesOn
	}
	return l.device
}
