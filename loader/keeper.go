package loader

import (
	"context"

	"github.com/robocache/robocache/tensor"
)

// Keeper keeps the cameras' frames instead of the loader, for example in another process. Its methods may be called from any goroutine.
type Keeper interface {
	// Room returns memory u8 for n frames from a camera, which is an index in Options.Cameras, with the shape from [Camera.Stored]. It waits if
	// all memory is in use. n is at most KeptTogether. Each worker, see [Loader.FrameWorkers], may have three rooms at a time.
	Room(ctx context.Context, camera, n int) (*tensor.Tensor, error)
	// Keep gets a room when its frames are ready.
	Keep(k Kept)
}

// Kept is consecutive frames from a camera, in the order that [Loader.FrameStore] has.
type Kept struct {
	Camera int
	Room   *tensor.Tensor // nil if there are only Bad frames
	Place  int            // the first frame's place
	// Bad lists samples in [Loader.FrameStore]'s places, by index. Their frames cannot be decoded, so the Keeper must set the samples to
	// NoPlace. Their frames may be in a room, with any contents.
	Bad []int
}

// KeptTogether is how many frames a room has at most.
const KeptTogether = 16

// NoPlace is the place for a black frame that is not valid.
const NoPlace = int64(1) << 40

// FrameStore returns a camera's tensors on the device, which Fill fills. frames is u8 [N,h,w,3], or [N,h*3/2,w] for yuv420. places is f64
// [S,1] with i64 bits: each sample's place in frames. They are nil if the level is not FramesOnDevice.
func (l *Loader) FrameStore(camera int) (frames, places *tensor.Tensor) {
	if m := l.films[camera]; m.level == FramesOnDevice {
		return m.kept, m.places.values
	}
	return nil, nil
}

// FillNext passes the next batch's frames to Options.Keeper, each frame once, and moves to the batch after it. It makes no batch. left is
// how many frames the Keeper does not have yet, for all batches together.
func (l *Loader) FillNext(ctx context.Context) (left int, err error) {
	if err := l.usable(); err != nil || l.reel == nil {
		return 0, err
	}
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
