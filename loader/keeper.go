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
