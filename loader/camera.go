package loader

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops"
)

// Camera is a media stream whose frames a batch has, decoded and resized. Which frame a target gets is said by the plan, as of any stream: its
// window, its edge, gaps and tolerance, and its kind, which is previous unless given, or nearest or next.
type Camera struct {
	Name   string `json:"name"`   // in the batch, in the plan, and in the recordings unless the plan says From
	Height int    `json:"height"` // pixels that its frames are resized to: see dataset.Resize
	Width  int    `json:"width"`
}

// CameraReport is a camera of the batches.
type CameraReport struct {
	Name    string `json:"name"`
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Targets int    `json:"targets"` // of a window
	Frames  int    `json:"frames"`  // of the episodes that windows are drawn from
	Empty   int    `json:"empty"`   // episodes without frames of it
	Bad     int    `json:"bad"`     // targets of the batches that were made whose frames could not be decoded: they are black and not valid
	// FirstBad is what was wrong with the first of them; empty without one.
	FirstBad string `json:"first_bad"`
}

// CameraError says that frames of a camera cannot be decoded, as they are of an encoding that there is no decoder for, or of a video and ffmpeg is
// missing: it is dataset.ErrUnsupported.
type CameraError struct {
	Camera  string
	Episode string // the first that has frames of it, by name
	Err     error  // what was got, and what was wanted
}

func (e *CameraError) Error() string {
	return fmt.Sprintf("loader: camera %s: its first frame, of episode %s, cannot be decoded: %v", e.Camera, e.Episode, e.Err)
}

// Unwrap returns Err.
func (e *CameraError) Unwrap() error { return e.Err }

// FramesError says that there is no memory for the frames of batches.
type FramesError struct {
	Camera string
	Shape  [5]int // of the camera's frames in a batch: [B,T,H,W,3], of one byte each
	Copies int    // of a batch that there must be room for
	Err    error  // an *ops.MemoryError; of math.MaxInt64 bytes if they are more
}

func (e *FramesError) Error() string {
	return fmt.Sprintf("loader: camera %s: got frames of %d windows x %d targets x %d x %d pixels x 3 bytes, %d times, since batches are decoded ahead: want smaller frames, fewer windows of a batch or a shorter window of the camera: %v",
		e.Camera, e.Shape[0], e.Shape[1], e.Shape[3], e.Shape[2], e.Copies, e.Err) // width x height, as cameras are asked for
}

// Unwrap returns Err.
func (e *FramesError) Unwrap() error { return e.Err }

// framesAhead is how many batches' frames are decoded ahead of the one that is made.
const framesAhead = 2

// noRoomForFrames says of an error of a device's memory which camera's frames it is about.
func noRoomForFrames(camera string, shape [5]int, err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	return &FramesError{camera, shape, framesAhead + 2, err}
}
