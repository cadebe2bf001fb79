package loader

import (
	"context"

	"github.com/robocache/robocache/tensor"
)

// Keeper keeps the cameras' frames in the place of the loader, for example in another process. Its methods may be called from any goroutine.
type Keeper interface {
	// Room returns memory u8 for n frames of a camera, which is an index in Options.Cameras, in the shape of [Camera.Stored]. It waits if
	// all memory is in use. n is at most KeptTogether. Each of Options.Workers may have three rooms at a time.
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
const NoPlace = int64(1) << 40
