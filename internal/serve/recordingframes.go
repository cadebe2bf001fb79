package serve

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// nearFrames is the largest step between video frames that are decoded in one run, because a seek costs about as much as decoding that many
// frames.
const nearFrames = 32

type framesRequest struct {
	Do
	Handle  int    `json:"handle"`
	Episode int    `json:"episode"`
	Camera  string `json:"camera"`
	Frames  []int  `json:"frames"`
	// Height and Width are the size of the images; 0 for the original size.
	Height int `json:"height"`
	Width  int `json:"width"`
}

// readFrames handles "frames": it decodes a camera's frames. If the episode has no such camera, the error is a *RequestError.
func readFrames(ctx context.Context, c *Conn, r *Request, q framesRequest) (*Reply, error) {
	if q.Height < 0 || q.Width < 0 || (q.Height == 0) != (q.Width == 0) {
		return nil, &RequestError{Arg: "size", Got: fmt.Sprintf("%dx%d", q.Height, q.Width), Want: "a height and a width above 0"}
	}
	rec, e, err := c.recordings.episode(ctx, q.Handle, q.Episode)
	if err != nil {
		return nil, err
	}
	m := e.MediaStream(q.Camera)
	if m == nil {
		return nil, &RequestError{Arg: "camera", Got: fmt.Sprintf("%q", q.Camera), Want: fmt.Sprintf("one of %q", e.MediaNames())}
	}
	f := film{media: m, height: q.Height, width: q.Width, frames: len(q.Frames), dtype: tensor.U8}
	if len(q.Frames) == 0 {
		f.measure(ctx)
	}
	if err := f.decode(ctx, q.Frames); err != nil {
		if f.memory != nil {
			_ = f.memory.Close() // nothing else refers to it
		}
		return nil, rec.fails(q.Episode, err)
	}
	reply := &Reply{Value: map[string]any{"frames": array{f.dtype.String(), append([]int{len(q.Frames)}, f.shape...), 0}}}
	if f.memory != nil {
		reply.File, reply.Done = f.memory.File(), f.memory.Close
	}
	return reply, nil
}

// film is a list of decoded images from one camera.
type film struct {
	media         *dataset.Media
	height, width int // the size of the images; 0 for the original size
	frames        int // the number of images
	dtype         tensor.DType
	shape         []int // [H,W,C] of each
	memory        *Memory
}

// measure sets the shape and the dtype for a list without frames: those of the camera's first frame, or [H,W,3] u8 if that cannot be
// decoded.
func (f *film) measure(ctx context.Context) {
	f.shape = []int{f.media.Height, f.media.Width, 3}
	if picture, err := f.media.Decode(ctx, 0); err == nil {
		f.shape, f.dtype = slices.Clone(picture.Shape()), picture.DType()
	}
	if f.height > 0 {
		f.shape[0], f.shape[1] = f.height, f.width
	}
}

// decode decodes the frames in a list, and writes each image to the frame's index in the list. Frames near each other are decoded in one
// run. A number outside the camera's frames is a *dataset.RangeError.
func (f *film) decode(ctx context.Context, list []int) error {
	order := make([]int, len(list)) // places in the list, sorted by frame
	for i, n := range list {
		if n < 0 || n >= f.media.Len() {
			return &dataset.RangeError{What: "frame of " + f.media.Name, Got: n, Len: f.media.Len()}
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return list[a] - list[b] })
	near := 1
	if _, video := f.media.Source.(dataset.FrameDecoder); video {
		near = nearFrames
	}
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && list[order[hi]]-list[order[hi-1]] <= near {
			hi++
		}
		if err := f.run(ctx, list, order[lo:hi]); err != nil {
			return err
		}
		lo = hi
	}
	return ctx.Err()
}

// run decodes frames that are near each other. order has indexes in list, sorted by frame number. If the camera ends early, the error is
// its last frame's, or dataset.ErrNotFound.
func (f *film) run(ctx context.Context, list, order []int) error {
	n, last := list[order[0]]-1, dataset.ErrNotFound
	for picture, err := range f.media.DecodeRange(ctx, n+1, list[order[len(order)-1]]+1) {
		if n++; err != nil {
			if last = err; list[order[0]] == n {
				break
			}
			continue
		}
		for len(order) > 0 && list[order[0]] == n {
			if err := f.put(n, order[0], picture); err != nil {
				return err
			}
			order = order[1:]
		}
	}
	if len(order) > 0 && ctx.Err() == nil {
		return fmt.Errorf("frame %d of %s: %w", list[order[0]], f.media.Name, last)
	}
	return ctx.Err()
}

// put writes frame n to index place in the list. The first frame sets the shape and allocates the memory; a frame with another shape is
// an error.
func (f *film) put(n, place int, picture *tensor.Tensor) error {
	if f.height > 0 && (picture.Dim(0) != f.height || picture.Dim(1) != f.width) {
		small, err := tensor.New(tensor.U8, f.height, f.width, picture.Dim(2))
		if err != nil {
			return err
		}
		if err := dataset.Resize(small, picture); err != nil {
			return err
		}
		picture = small
	}
	if f.shape == nil {
		f.shape, f.dtype = slices.Clone(picture.Shape()), picture.DType()
		what := fmt.Sprintf("%d frames %s of %s", f.frames, tensor.FormatShape(f.shape), f.media.Name)
		size, err := tensor.Fits(f.dtype, append([]int{f.frames}, f.shape...)...)
		if err != nil {
			return &ops.MemoryError{Device: "host", What: what, Err: err}
		}
		if f.memory, err = NewMemory(what, int64(size)); err != nil {
			return err
		}
	}
	if !slices.Equal(picture.Shape(), f.shape) {
		return &dataset.FormatError{Format: "dataset", Offset: -1, Kind: dataset.ErrShape, Msg: fmt.Sprintf("frame %d of %s", n, f.media.Name),
			Got: tensor.FormatShape(picture.Shape()), Want: tensor.FormatShape(f.shape) + ", as the frames before, or a size that all are resized to"}
	}
	b, err := raw.Of(picture)
	if err != nil {
		return err
	}
	_, err = f.memory.File().WriteAt(b, int64(place)*int64(len(b)))
	return err
}
