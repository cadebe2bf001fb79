package loader

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops"
)

// Camera is a media stream whose frames are decoded and resized for a batch. The plan's stream of the same name selects each target's
// frame, as for any stream: by window, edge, gaps, tolerance and method. The method is previous if the plan sets none, or nearest or
// next.
type Camera struct {
	Name   string `json:"name"`   // the name in the batch and the plan; also in the recordings, unless the plan sets From
	Height int    `json:"height"` // the size of the resized frames in pixels: see dataset.Resize
	Width  int    `json:"width"`
}

// CameraReport describes a camera in the batches.
type CameraReport struct {
	Name    string `json:"name"`
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Targets int    `json:"targets"`         // target times in a window
	Frames  int    `json:"frames"`          // frames in the drawn episodes
	Empty   int    `json:"empty"`           // drawn episodes without frames from the camera
	InGaps  int    `json:"windows_in_gaps"` // windows with an anchor in a gap of the frames: see StreamsReport
	// Unlimited is set if neither a MaxGap nor a Tolerance marks frames in gaps as not valid.
	Unlimited bool `json:"-"`
	Bad       int  `json:"bad"` // targets so far without a decodable frame: they are black and not valid
	// FirstBad is the error for the first frame that cannot be decoded, or empty.
	FirstBad string `json:"first_bad"`
}

// CameraError means that a camera's frames cannot be decoded, because there is no decoder for their encoding, or because they are
// in a video and ffmpeg is missing. It matches dataset.ErrUnsupported.
type CameraError struct {
	Camera  string
	Episode string // the name of the first episode with frames
	Err     error  // the decoder's error
}

func (e *CameraError) Error() string {
	return fmt.Sprintf("loader: camera %s: its first frame, of episode %s, cannot be decoded: %v", e.Camera, e.Episode, e.Err)
}

// Unwrap returns Err.
func (e *CameraError) Unwrap() error { return e.Err }

// FramesError means that memory cannot hold the frames of the batches.
type FramesError struct {
	Camera string
	Shape  [5]int // [B,T,H,W,3] bytes: the camera's frames in a batch
	Copies int    // how many copies of these frames memory must hold
	Err    error  // an *ops.MemoryError; its bytes are at most math.MaxInt64
}

func (e *FramesError) Error() string {
	return fmt.Sprintf("loader: camera %s: got frames of %d windows x %d targets x %d x %d pixels x 3 bytes, %d times, since batches are decoded ahead: want smaller frames, fewer windows in a batch or a shorter camera window: %v",
		e.Camera, e.Shape[0], e.Shape[1], e.Shape[3], e.Shape[2], e.Copies, e.Err) // width x height, the usual order
}

// Unwrap returns Err.
func (e *FramesError) Unwrap() error { return e.Err }

// framesAhead is how many batches have their frames decoded in advance.
const framesAhead = 2

// noRoomForFrames returns a camera's *FramesError if err is about memory.
func noRoomForFrames(camera string, shape [5]int, err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	return &FramesError{camera, shape, framesAhead + 2, err}
}
