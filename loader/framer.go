package loader

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framer makes stored frames from decoded pictures, on the loader's device. Pictures with one format are collected in a stack, and one
// launch converts and resizes them. One goroutine at a time uses it.
type framer struct {
	device  *ops.Device
	queue   *ops.Queue
	stacks  map[pictureKind]*stack
	closers closers
}

// stackSize is how many pictures one launch converts.
const stackSize = 4

// pictureKind is the format that all pictures in a stack share.
type pictureKind struct {
	height, width int  // the stored frame's size
	planar        bool // the stored frame is 4:2:0
	format        ops.FrameFormat
	rows, columns int
	starts        [3]int // the planes' first bytes
	pitches       [3]int // bytes from row to row
	matrix        ops.FrameMatrix
	full          bool
	bits          int
	bytes         int
	onHost        bool // the pictures are in host memory
	toHost        bool // the frames go to host memory, from a device
}

// stack is the memory for pictures with one format.
type stack struct {
	pictures *tensor.Tensor // u8 [stackSize,bytes]
	host     *tensor.Tensor // pinned memory for pictures from the host; nil if they are on the device
	frames   *tensor.Tensor // the stored frames
	out      *tensor.Tensor // pinned memory for the frames if their places are in other host memory
	plans    [stackSize][]*ops.Plan
	to       []target
}

func newFramer(device *ops.Device) (*framer, error) {
	q, err := device.NewQueue()
	if err != nil {
		return nil, err
	}
	return &framer{device: device, queue: q, stacks: map[pictureKind]*stack{}, closers: closers{q}}, nil
}

// Close releases the stacks.
func (w *framer) Close() error { return w.closers.close() }

// planes adds a decoded picture. Its stored frame goes to a target.
func (w *framer) planes(p *video.Planes, to target) error {
	k := kindOf(to)
	k.rows, k.columns, k.matrix, k.full, k.bits = p.Height, p.Width, matrixOf(p), p.FullRange, p.Bits
	deep := p.Bits > 8
	switch {
	case p.Layout == video.NV12 && !deep && !k.planar:
		k.format = ops.FrameNV12
	case !deep && (p.Layout == video.YUV420 || p.Layout == video.NV12):
		k.format = ops.FrameI420
	case p.Layout == video.NV12 && p.Shift == 16-p.Bits:
		k.format = ops.FrameP016
	case p.Layout == video.YUV420 && p.Shift == 0:
		k.format = ops.FrameI010
	default:
		picture, err := p.RGB()
		if err != nil {
			return err
		}
		return w.picture(picture, to)
	}
	if !deep {
		k.bits = 0
	}
	if p.Memory != nil {
		k.starts, k.pitches, k.bytes = p.Start, p.Stride, int(p.Memory.Size())
		s, err := w.stack(k, to)
		if err != nil {
			return err
		}
		picture, err := tensor.OnDevice(p.Memory, tensor.U8, k.bytes)
		if err != nil {
			return err
		}
		if err := w.queue.Copy(rowOf(s.pictures, len(s.to)), picture); err != nil {
			return err
		}
		if err := w.queue.Synchronize(context.Background()); err != nil { // because the decoder takes the picture back
			return err
		}
		return w.added(s, to)
	}
	k.onHost = true
	split := p.Layout == video.NV12 && k.format == ops.FrameI420
	for i, size := range k.format.Planes() {
		shape := k.format.PlaneShape(i, k.rows, k.columns)
		k.starts[i], k.pitches[i] = k.bytes, shape[1]*size
		k.bytes += shape[0] * k.pitches[i]
	}
	return w.fill(k, to, func(out []byte) {
		for i := range k.format.Planes() {
			rows := k.format.PlaneShape(i, k.rows, k.columns)[0]
			for y := range rows {
				row := out[k.starts[i]+y*k.pitches[i]:][:k.pitches[i]]
				if i == 0 || !split {
					copy(row, p.Data[i][y*p.Stride[i]:])
					continue
				}
				pairs := p.Data[1][y*p.Stride[1]:]
				for x := range row {
					row[x] = pairs[2*x+i-1]
				}
			}
		}
	})
}

// matrixOf returns a picture's colour matrix.
func matrixOf(p *video.Planes) ops.FrameMatrix {
	switch p.Matrix {
	case yuv.BT709:
		return ops.MatrixBT709
	case yuv.BT2020, yuv.BT2020 + 1:
		return ops.MatrixBT2020
	}
	return ops.MatrixUnspecified
}

// planeByPlane returns the arguments that resize the planes in 4:2:0 pictures separately.
func planeByPlane(frames *tensor.Tensor, pictures ops.FrameSurface) (list []ops.FramesArgs) {
	for i, p := range planesOf(frames) {
		list = append(list, ops.FramesArgs{
			Dst:      tensor.Must(p.AsStrided(append(p.Shape(), 1), append(p.Strides(), 1), 0)),
			Surfaces: []ops.FrameSurface{{Format: ops.FrameGray, Planes: [3]*tensor.Tensor{pictures.Planes[i]}}},
		})
	}
	return list
}

// planesOf returns the planes in stored frames u8 [n,h*3/2,w]: [n,h,w], and twice [n,h/2,w/2].
func planesOf(frames *tensor.Tensor) (planes [3]*tensor.Tensor) {
	h, w, at := frames.Dim(1)/3*2, frames.Dim(2), 0
	for i := range planes {
		size := ops.FrameI420.PlaneShape(i, h, w)
		planes[i] = tensor.Must(frames.AsStrided(append([]int{frames.Dim(0)}, size...), []int{frames.Stride(0), size[1], 1}, at))
		at += size[0] * size[1]
	}
	return planes
}

// kindOf returns the fields that depend on the target alone.
func kindOf(to target) pictureKind {
	return pictureKind{height: to.frame.Dim(0), width: to.frame.Dim(1), planar: to.frame.Rank() == 2}
}

// picture adds a decoded picture u8 [H,W,C].
func (w *framer) picture(p *tensor.Tensor, to target) error {
	p, err := dataset.RGB(p)
	if err != nil {
		return err
	}
	from, err := tensor.Packed[uint8](p)
	if err != nil {
		return err
	}
	k := kindOf(to)
	k.rows, k.columns, k.bytes, k.onHost = p.Dim(0), p.Dim(1), len(from), true
	k.pitches[0] = 3 * k.columns
	return w.fill(k, to, func(out []byte) { copy(out, from) })
}

// fill adds a picture from the host.
func (w *framer) fill(k pictureKind, to target, write func(out []byte)) error {
	s, err := w.stack(k, to)
	if err != nil {
		return err
	}
	memory := s.host
	if memory == nil {
		memory = s.pictures
	}
	out, err := tensor.Data[uint8](rowOf(memory, len(s.to)))
	if err != nil {
		return err
	}
	write(out)
	return w.added(s, to)
}

// added counts a picture in a stack, and converts a full stack.
func (w *framer) added(s *stack, to target) error {
	if s.to = append(s.to, to); len(s.to) < stackSize {
		return nil
	}
	return w.convert(s)
}

// flush converts all pictures, and returns when the frames are at their targets.
func (w *framer) flush() error {
	for _, s := range w.stacks {
		if len(s.to) > 0 {
			if err := w.convert(s); err != nil {
				return err
			}
		}
	}
	return w.queue.Synchronize(context.Background())
}

// drop removes the pictures that are not converted yet.
func (w *framer) drop() {
	for _, s := range w.stacks {
		s.to = s.to[:0]
	}
}

// convert converts the pictures in a stack.
func (w *framer) convert(s *stack) error {
	n := len(s.to)
	if s.host != nil {
		if err := w.queue.Copy(first(s.pictures, n), first(s.host, n)); err != nil {
			return err
		}
	}
	for _, plan := range s.plans[n-1] {
		if err := plan.Run(w.queue); err != nil {
			return err
		}
	}
	hands := false
	for i, to := range s.to {
		from := rowOf(s.frames, i)
		if s.out != nil {
			from = rowOf(s.out, i)
			if err := w.queue.Copy(from, rowOf(s.frames, i)); err != nil {
				return err
			}
		} else if err := w.queue.Copy(to.frame, from); err != nil {
			return err
		}
		hands = hands || to.done != nil
	}
	if s.host != nil || s.out != nil || hands { // because the next pictures are written to the same memory
		if err := w.queue.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	for i, to := range s.to {
		if s.out != nil {
			if err := w.device.Copy(context.Background(), to.frame, rowOf(s.out, i)); err != nil {
				return err
			}
		}
		if to.done != nil {
			to.done()
		}
	}
	s.to = s.to[:0]
	return nil
}

// stack returns the stack for pictures with a format.
func (w *framer) stack(k pictureKind, to target) (*stack, error) {
	k.toHost = to.frame.OnHost() && w.device.Info().Backend != "cpu"
	if s := w.stacks[k]; s != nil {
		return s, nil
	}
	s := &stack{}
	alloc := func(of func(tensor.DType, ...int) (*tensor.Tensor, error), shape ...int) (*tensor.Tensor, error) {
		t, err := of(tensor.U8, shape...)
		if err == nil {
			w.closers.add(t)
		}
		return t, err
	}
	var err error
	if s.pictures, err = alloc(w.device.Alloc, stackSize, k.bytes); err != nil {
		return nil, err
	}
	if err := zero(w.device, s.pictures); err != nil {
		return nil, err
	}
	shape := append([]int{stackSize}, to.frame.Shape()...)
	if s.frames, err = alloc(w.device.Alloc, shape...); err != nil {
		return nil, err
	}
	if k.onHost && !s.pictures.OnHost() {
		if s.host, err = alloc(w.device.AllocHost, stackSize, k.bytes); err != nil {
			return nil, err
		}
	}
	if k.toHost {
		if s.out, err = alloc(w.device.AllocHost, shape...); err != nil {
			return nil, err
		}
	}
	surface := ops.FrameSurface{Format: k.format, Matrix: k.matrix, Full: k.full, Bits: k.bits}
	for n := 1; n <= stackSize; n++ {
		for i, size := range k.format.Planes() {
			shape := append([]int{n}, k.format.PlaneShape(i, k.rows, k.columns)...)
			strides := []int{k.bytes, k.pitches[i], size, 1}[:len(shape)]
			if surface.Planes[i], err = s.pictures.AsStrided(shape, strides, k.starts[i]); err != nil {
				return nil, err
			}
		}
		list := []ops.FramesArgs{{Dst: first(s.frames, n), Surfaces: []ops.FrameSurface{surface}}}
		if k.planar {
			list = planeByPlane(list[0].Dst, surface)
		}
		for _, args := range list {
			plan, err := w.device.PlanFrames(args, ops.FramesOptions{Layout: ops.LayoutHWC})
			if err != nil {
				return nil, err
			}
			w.closers.add(plan)
			s.plans[n-1] = append(s.plans[n-1], plan)
		}
	}
	w.stacks[k] = s
	return s, nil
}

// zero writes zeros to a tensor on a device, because Frames reads a little beyond a frame.
func zero(device *ops.Device, t *tensor.Tensor) error {
	if t.OnHost() { // Go's memory is zero
		return nil
	}
	const first = 1 << 16
	flat, err := t.Reshape(t.Len())
	if err != nil {
		return err
	}
	zeros, err := tensor.New(tensor.U8, min(first, t.Len()))
	if err != nil {
		return err
	}
	for done := 0; done < t.Len() && err == nil; {
		from := zeros
		if done > 0 {
			from = tensor.Must(flat.Slice(0, 0, min(done, t.Len()-done)))
		}
		err = device.Copy(context.Background(), tensor.Must(flat.Slice(0, done, done+from.Len())), from)
		done += from.Len()
	}
	return err
}

// first returns the first n elements of a tensor's first dimension.
func first(t *tensor.Tensor, n int) *tensor.Tensor { return tensor.Must(t.Slice(0, 0, n)) }

// rowOf returns element i of a tensor's first dimension, without that dimension.
func rowOf(t *tensor.Tensor, i int) *tensor.Tensor {
	return tensor.Must(tensor.Must(t.Slice(0, i, i+1)).Reshape(t.Shape()[1:]...))
}

// bitsOf returns i64 numbers as f64 with the same bits. A Fuse copies such bits unchanged.
func bitsOf(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.OnHost() {
		memory, err := raw.Of(t)
		if err != nil {
			return nil, err
		}
		return raw.Over(memory, nil, tensor.F64, t.Shape()...)
	}
	return tensor.OnDevice(borrowed{t}, tensor.F64, t.Shape()...)
}

// borrowed is memory that another tensor owns.
type borrowed struct{ t *tensor.Tensor }

// Addr implements tensor.Buffer.
func (b borrowed) Addr() uint64 {
	at, _ := b.t.Addr()
	return at
}

// Size implements tensor.Buffer.
func (b borrowed) Size() int64 { return int64(b.t.Len() * b.t.DType().Size()) }

// Device implements tensor.Buffer.
func (b borrowed) Device() string { return b.t.Device() }

// Close implements tensor.Buffer. It leaves the memory to its owner.
func (b borrowed) Close() error { return nil }
