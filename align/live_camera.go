package align

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// LiveCamera makes a LiveStream a camera: see [Live.PushFrame]. Its method is previous, nearest or next, and previous by default.
type LiveCamera struct {
	Height, Width int // pixels of the frames in a window
	// StoredHeight and StoredWidth are the size to which a frame is resized when it arrives; by default Height and Width.
	StoredHeight, StoredWidth int
	DType                     tensor.DType // U8 (the default), F32, F16 or BF16
	// Options make a window's frames from the stored ones, for example Layout, Crop, Mean and Std. Random choices are refused.
	Options ops.FramesOptions
}

// liveCamera is a camera's stack of stored frames. Frame n is in slot n modulo slots. The last slot stays black.
type liveCamera struct {
	height, width, slots int
	pixels               []uint8   // [slots+1,height,width,3]
	numbers              []float64 // of a window's targets
	choice               []int64   // their slots
	plan                 *ops.Plan
}

// cameraStreams returns the plan and the streams with each camera as a stream of frame numbers.
func cameraStreams(plan Plan, streams []LiveStream) (Plan, []LiveStream, error) {
	streams, plan.Streams = slices.Clone(streams), slices.Clone(plan.Streams)
	for k := range streams {
		if streams[k].Camera == nil {
			continue
		}
		streams[k].Columns, streams[k].DType = []dataset.Column{{Name: "frame"}}, tensor.F64
		for i := range plan.Streams {
			s := &plan.Streams[i]
			if s.Source() != streams[k].Name {
				continue
			}
			if s.Kind = cmp.Or(s.Kind, "previous"); !slices.Contains([]string{"previous", "nearest", "next"}, s.Kind) {
				return plan, nil, bad("streams."+s.Name+".method", s.Kind, "previous, nearest or next: there is nothing between two frames")
			}
			s.Normalise, s.DType = "none", tensor.F64
		}
	}
	return plan, streams, nil
}

// newLiveCamera makes the stack, and the part's frames.
func newLiveCamera(d *ops.Device, c *LiveCamera, part *LivePart, slots int) (*liveCamera, error) {
	numbers, err := tensor.Data[float64](part.Values)
	if err != nil {
		return nil, err
	}
	m := &liveCamera{
		height: cmp.Or(c.StoredHeight, c.Height), width: cmp.Or(c.StoredWidth, c.Width), slots: slots, numbers: numbers, choice: make([]int64, len(numbers)),
	}
	shape := []int{len(numbers), c.Height, c.Width, 3}
	if c.Options.Layout == ops.LayoutCHW {
		shape = []int{len(numbers), 3, c.Height, c.Width}
	}
	stack, failed := tensor.New(tensor.U8, slots+1, m.height, m.width, 3)
	if part.Frames, err = tensor.New(cmp.Or(c.DType, tensor.U8), shape...); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	if m.pixels, err = tensor.Data[uint8](stack); err != nil {
		return nil, err
	}
	m.plan, err = d.PlanFrames(ops.FramesArgs{Dst: part.Frames, Select: tensor.Must(tensor.Of(m.choice, len(m.choice))),
		Surfaces: []ops.FrameSurface{{Format: ops.FrameRGB, Planes: [3]*tensor.Tensor{stack}}}}, c.Options)
	return m, err
}

// store resizes a picture [H,W,3] to the slot of frame number.
func (m *liveCamera) store(number int, picture *tensor.Tensor) error {
	size := m.height * m.width * 3
	to, err := tensor.Of(m.pixels[number%m.slots*size:][:size], m.height, m.width, 3)
	if err != nil {
		return err
	}
	return dataset.Resize(to, picture)
}

// run makes the frames of a window.
func (m *liveCamera) run(q *ops.Queue) error {
	for i, number := range m.numbers {
		if m.choice[i] = int64(m.slots); number >= 0 {
			m.choice[i] = int64(number) % int64(m.slots)
		}
	}
	return m.plan.Run(q)
}

// PushFrame adds a camera's frame, a picture u8 [H,W,C] of any size with 1, 3 or 4 channels, as Push adds a sample. Grey is repeated
// three times, and alpha is dropped. The picture is resized at once, as by [dataset.Resize], and is not kept. The errors are those of
// Push and of [dataset.RGB].
func (l *Live) PushFrame(stream string, at int64, picture *tensor.Tensor) error {
	if picture == nil || picture.Rank() != 3 || picture.Len() == 0 {
		return &StreamError{Stream: stream, Got: fmt.Sprint(picture), Want: "a picture u8 [H,W,C]"}
	}
	picture, err := dataset.RGB(picture)
	if err != nil {
		return err
	}
	return l.push(stream, at, func(s *liveStream) ([]float64, error) {
		if s.camera == nil {
			return nil, &StreamError{Stream: stream, Got: "a frame", Want: "values: the stream is no camera"}
		}
		if s.hi == len(s.times) && !s.drop() { // before the oldest frame's slot is used again
			return nil, s.full()
		}
		number := l.parts[s.part].Taken
		return []float64{float64(number)}, s.camera.store(number, picture)
	})
}
