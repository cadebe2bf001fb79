package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Camera is a media stream with frames in a batch. The plan's stream with the same name selects each target's frame, as for any stream: by
// window, edge, gaps, tolerance and method. The method is previous, nearest or next; previous if the plan sets none.
//
// A frame is decoded, converted to RGB, and resized to the stored size once; see [FrameLevel]. Each batch then cuts, flips, jitters and
// normalises its frames by [ops.FramesOptions]. Random choices depend on the seed, the epoch and the window's position in it.
type Camera struct {
	Name string `json:"name"` // the name in the batch and the plan; also in the recordings, unless the plan sets From
	// Names are the camera's names in a mixture's datasets, in their order. If one is missing or empty, Name applies.
	Names  []string `json:"names"`
	Height int      `json:"height"` // H and W: a batch's frames in pixels
	Width  int      `json:"width"`
	// StoredHeight and StoredWidth are the kept frames' size; 0 is Height and Width. If they are larger, Crop cuts the batch's frames from
	// them.
	StoredHeight int    `json:"stored_height"`
	StoredWidth  int    `json:"stored_width"`
	Crop         string `json:"crop"` // centre or random; empty without one
	// Flip is the probability that a frame is mirrored left to right. Brightness, Contrast and Saturation are as in ops.FramesOptions.
	Flip       float64 `json:"flip"`
	Brightness float64 `json:"brightness"`
	Contrast   float64 `json:"contrast"`
	Saturation float64 `json:"saturation"`
	PerFrame   bool    `json:"per_frame"` // makes random choices for each frame, not for each window
	// DType is u8, f32, f16 or bf16; 0 is u8. Layout is HWC or CHW; empty is HWC. Normalise is a name for ops.FramesPreset: without one,
	// floats are 0 to 1.
	DType     tensor.DType `json:"dtype"`
	Layout    string       `json:"layout"`
	Normalise string       `json:"normalise"`
	// Frames is the kept frames' form: rgb, or yuv420, which takes half the memory and gives other colours. Empty is rgb.
	//
	// With yuv420 a decoded picture's luma and both chroma planes are resized separately, and each batch converts them to RGB. The stored
	// size must be even. All pictures must come from videos in 4:2:0 with 8 bits, one colour matrix and one range; else the error is an
	// *OptionError. Decoding takes longer, because pictures go through host memory. See CameraReport.YUV420Mean.
	Frames string `json:"frames"`
}

// Layouts, Crops and FrameForms are the values of Camera.Layout, Camera.Crop and Camera.Frames.
var (
	Layouts    = []string{"HWC", "CHW"}
	Crops      = []string{"", "centre", "random"}
	FrameForms = []string{"", "rgb", "yuv420"}
)

// check sets the defaults, and returns the options for a batch's frames. The error is an *OptionError.
func (c *Camera) check(arg string, seed uint64) (o ops.FramesOptions, err error) {
	if c.Height < 1 || c.Width < 1 || c.Name == "" {
		return o, refuse(arg, fmt.Sprintf("%q, %dx%d", c.Name, c.Height, c.Width), "its own name, and a size from one pixel up")
	}
	crop, layout := slices.Index(Crops, c.Crop), 0
	if c.Layout != "" {
		layout = slices.Index(Layouts, c.Layout)
	}
	if c.DType == 0 {
		c.DType = tensor.U8
	}
	stored := c.StoredHeight != 0 || c.StoredWidth != 0
	if !stored {
		c.StoredHeight, c.StoredWidth = c.Height, c.Width
	}
	resized := c.StoredHeight != c.Height || c.StoredWidth != c.Width
	switch {
	case crop < 0:
		return o, refuse(arg+".crop", c.Crop, "centre, random, or empty")
	case layout < 0:
		return o, refuse(arg+".layout", c.Layout, "HWC or CHW")
	case !slices.Contains(FrameForms, c.Frames):
		return o, refuse(arg+".frames", c.Frames, "rgb or yuv420")
	case c.isYUV420() && (c.StoredHeight|c.StoredWidth)&1 != 0:
		return o, refuse(arg+".frames", fmt.Sprintf("yuv420 stored as %dx%d", c.StoredWidth, c.StoredHeight), "an even stored height and width")
	case c.StoredHeight < c.Height || c.StoredWidth < c.Width || resized && crop == 0:
		got := fmt.Sprintf("%dx%d for frames of %dx%d, crop %q", c.StoredWidth, c.StoredHeight, c.Width, c.Height, c.Crop)
		return o, refuse(arg+".stored", got, "the size of the frames, or a larger one with a crop")
	case c.DType == tensor.U8 && c.Normalise != "":
		return o, refuse(arg+".normalise", c.Normalise+" of u8", "a float dtype, or none")
	}
	if c.Normalise != "" {
		if o, err = ops.FramesPreset(c.Normalise); err != nil {
			return o, refuse(arg+".normalise", c.Normalise, "imagenet, lerobot or symmetric")
		}
	}
	o.Crop, o.FlipX, o.Seed, o.PerFrame = ops.FrameCrop(crop), c.Flip, seed, c.PerFrame
	o.Brightness, o.Contrast, o.Saturation = c.Brightness, c.Contrast, c.Saturation
	if layout == 0 {
		o.Layout = ops.LayoutHWC
	}
	return o, nil
}

// NameIn returns the camera's name in a mixture's dataset: from Names, or else Name.
func (c *Camera) NameIn(dataset int) string {
	if dataset < len(c.Names) && c.Names[dataset] != "" {
		return c.Names[dataset]
	}
	return c.Name
}

// isRandom reports whether frames depend on random choices.
func (c *Camera) isRandom() bool {
	return c.Crop == "random" || c.Flip > 0 || c.Brightness > 0 || c.Contrast > 0 || c.Saturation > 0
}

// shape returns the shape of t frames in each of b windows.
func (c *Camera) shape(b, t int) []int {
	if c.Layout == "CHW" {
		return []int{b, t, 3, c.Height, c.Width}
	}
	return []int{b, t, c.Height, c.Width, 3}
}

// isYUV420 reports whether frames are kept as 4:2:0.
func (c *Camera) isYUV420() bool { return c.Frames == "yuv420" }

// Stored returns the shape of n kept frames: [n,h,w,3], or with yuv420 [n,h*3/2,w], which are the luma rows, then both chroma planes.
func (c *Camera) Stored(n int) []int {
	height, width := cmp.Or(c.StoredHeight, c.Height), cmp.Or(c.StoredWidth, c.Width)
	if c.isYUV420() {
		return []int{n, height / 2 * 3, width}
	}
	return []int{n, height, width, 3}
}

// FrameLevel is the place where a camera's frames are kept. All levels give the same batches.
type FrameLevel string

const (
	// FramesOnDevice keeps each frame on the loader's device, once for all epochs. Its group of frames (a video's frames from one key
	// frame to the next) is decoded when a batch first needs it.
	FramesOnDevice FrameLevel = "device"
	// FramesPinned keeps each frame in host memory. A batch's frames are copied to the device in advance.
	FramesPinned FrameLevel = "pinned"
	// FramesStreaming keeps no frame. A batch's frames are decoded in advance, each group once.
	FramesStreaming FrameLevel = "streaming"
)

// FrameLevels are the levels, the fastest first.
var FrameLevels = []FrameLevel{FramesOnDevice, FramesPinned, FramesStreaming}

// CameraReport describes a camera in the batches.
type CameraReport struct {
	Name    string `json:"name"`
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Targets int    `json:"targets"`         // target times in a window
	Frames  int    `json:"frames"`          // frames in the drawn episodes
	Empty   int    `json:"empty"`           // drawn episodes without frames from the camera
	InGaps  int    `json:"windows_in_gaps"` // windows with an anchor in a gap between frames: see StreamsReport
	// Unlimited is set if neither a MaxGap nor a Tolerance marks frames in gaps as not valid.
	Unlimited bool `json:"-"`

	Level FrameLevel `json:"level"`
	Bytes int64      `json:"bytes"` // memory for the kept frames
	// Need is the memory that the next faster level needs, and Room the memory that it may take. They are 0 on the device.
	Need int64 `json:"need_bytes"`
	Room int64 `json:"room_bytes"`

	Wanted  int `json:"wanted"`  // frames that a window can have
	Left    int `json:"left"`    // wanted frames that are not kept yet; 0 if none are kept
	Decoded int `json:"decoded"` // frames decoded so far
	// Bad counts the frames so far that cannot be decoded, each once. They are black and not valid. FirstBad is the first one's error, or
	// empty.
	Bad      int    `json:"bad"`
	FirstBad string `json:"first_bad"`

	// YUV420Mean and YUV420Most are the mean and the largest difference between yuv420 frames and rgb frames, from 0 to 255 for each colour
	// channel, at the stored size. They are measured once, over a video's first frames. They are nil if frames are kept as rgb.
	YUV420Mean *float64 `json:"yuv420_mean,omitempty"`
	YUV420Most *int     `json:"yuv420_most,omitempty"`
}

// CameraError means that a camera's frames cannot be decoded, because there is no decoder for their encoding, or because they are
// in a video and ffmpeg is missing. It matches dataset.ErrUnsupported, unless a camera with yuv420 frames has only damaged ones.
type CameraError struct {
	Camera  string
	Episode string // the episode's name: the first one with frames
	Err     error  // the decoder's error
}

func (e *CameraError) Error() string {
	return fmt.Sprintf("loader: camera %s: its first frame, of episode %s, cannot be decoded: %v", e.Camera, e.Episode, e.Err)
}

// Unwrap returns Err.
func (e *CameraError) Unwrap() error { return e.Err }

// FramesError means that memory cannot hold a camera's frames.
type FramesError struct {
	Camera string
	Shape  []int // the frames in a batch, or the stored frames
	Copies int   // how many such tensors memory must hold
	Err    error // an *ops.MemoryError; its bytes are at most math.MaxInt64
}

func (e *FramesError) Error() string {
	return fmt.Sprintf("loader: camera %s: got frames %s, %d times, since batches are prepared ahead: want smaller frames, fewer windows in a batch, a shorter camera window or another level: %v",
		e.Camera, tensor.FormatShape(e.Shape), e.Copies, e.Err)
}

// Unwrap returns Err.
func (e *FramesError) Unwrap() error { return e.Err }

// framesAhead is how many batches have their frames prepared in advance.
const framesAhead = 2

// noRoomForFrames returns a camera's *FramesError if err is about memory.
func noRoomForFrames(camera string, shape []int, copies int, err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	return &FramesError{camera, shape, copies, err}
}
