package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// FrameForms are the values of Camera.Frames.
var FrameForms = []string{"", "rgb", "yuv420"}

// isYUV420 reports whether frames are kept as 4:2:0.
func (c *Camera) isYUV420() bool { return c.Frames == "yuv420" }

// Stored returns the shape of n kept frames: [n,h,w,3], or [n,h*3/2,w] with yuv420: the rows of luma, then both chroma planes.
func (c *Camera) Stored(n int) []int {
	height, width := cmp.Or(c.StoredHeight, c.Height), cmp.Or(c.StoredWidth, c.Width)
	if c.isYUV420() {
		return []int{n, height / 2 * 3, width}
	}
	return []int{n, height, width, 3}
}

// planesOf returns the planes of stored frames u8 [n,h*3/2,w]: [n,h,w], and twice [n,h/2,w/2].
func planesOf(frames *tensor.Tensor) (planes [3]*tensor.Tensor) {
	h, w, at := frames.Dim(1)/3*2, frames.Dim(2), 0
	for i := range planes {
		size := ops.FrameI420.PlaneShape(i, h, w)
		planes[i] = tensor.Must(frames.AsStrided(append([]int{frames.Dim(0)}, size...), []int{frames.Stride(0), size[1], 1}, at))
		at += size[0] * size[1]
	}
	return planes
}

// surfaceOf returns the surface that stored frames are.
func (m *film) surfaceOf(frames *tensor.Tensor) []ops.FrameSurface {
	s := m.rule
	if s.Planes[0] = frames; m.isYUV420() {
		s.Planes = planesOf(frames)
	}
	return []ops.FrameSurface{s}
}

// planeByPlane returns the arguments that resize each plane of 4:2:0 pictures on its own.
func planeByPlane(frames *tensor.Tensor, pictures ops.FrameSurface) (list []ops.FramesArgs) {
	for i, p := range planesOf(frames) {
		list = append(list, ops.FramesArgs{
			Dst:      tensor.Must(p.AsStrided(append(p.Shape(), 1), append(p.Strides(), 1), 0)),
			Surfaces: []ops.FrameSurface{{Format: ops.FrameGray, Planes: [3]*tensor.Tensor{pictures.Planes[i]}}},
		})
	}
	return list
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

// no420 returns the *OptionError for a camera if its pictures cannot be kept as 4:2:0.
func no420(camera int, got string) error {
	const want = "videos in 4:2:0 with 8 bits, one colour matrix and one range; or rgb"
	return refuse(fmt.Sprintf("Cameras[%d].frames", camera), "yuv420 of "+got, want)
}

// check420 returns an *OptionError if a picture cannot be kept as 4:2:0, by the rule of the camera's first picture.
func (m *film) check420(camera int, p *video.Planes) error {
	rule := ops.FrameSurface{Format: ops.FrameI420, Matrix: matrixOf(p), Full: p.FullRange}
	switch {
	case p.Layout != video.YUV420 && p.Layout != video.NV12 || p.Bits != 8:
		layout := []string{"gray", "4:2:0", "4:2:2", "4:4:4", "4:2:0"}[p.Layout]
		return no420(camera, fmt.Sprintf("pictures with %d bits %s", p.Bits, layout))
	case m.rule.Format != ops.FrameI420:
		m.rule = rule
	case m.rule != rule:
		return no420(camera, fmt.Sprintf("matrix %v, full range %t, after %v, %t", rule.Matrix, rule.Full, m.rule.Matrix, m.rule.Full))
	}
	return nil
}

// measure420 finds the camera's colour matrix and range. It also measures on the CPU how much yuv420 frames differ from RGB frames, over a
// video's first frames, at most KeptTogether.
func (r *reel) measure420(ctx context.Context, camera int, media *dataset.Media) error {
	m, cpu := r.films[camera], r.loader.cpu
	f, err := newFramer(cpu)
	if err != nil {
		return err
	}
	defer f.Close()
	var frames []int
	for i := range min(media.Len(), KeptTogether) {
		frames = append(frames, i)
	}
	n := len(frames)
	kept, err := tensor.New(tensor.U8, m.Stored(n)...)
	if err != nil {
		return err
	}
	rgb, err := tensor.New(tensor.U8, 2*n, m.StoredHeight, m.StoredWidth, 3) // by the RGB rule, then by this one
	if err != nil {
		return err
	}
	shown := 0
	var bad error
	err = r.pictures(ctx, f, camera, media, frames, func(_ int, add func(to target) error, err error) error {
		if err != nil {
			bad = err
			return nil
		}
		shown++
		return errors.Join(add(target{frame: rowOf(kept, shown-1)}), add(target{frame: rowOf(rgb, shown-1)}))
	})
	if err = cmp.Or(err, f.flush()); err != nil || shown == 0 {
		return cmp.Or(err, bad)
	}
	other := tensor.Must(rgb.Slice(0, n, n+shown))
	args := ops.FramesArgs{Dst: other, Surfaces: m.surfaceOf(first(kept, shown))}
	if err := cpu.Frames(ctx, args, ops.FramesOptions{Layout: ops.LayoutHWC}); err != nil {
		return err
	}
	all, err := tensor.Data[uint8](rgb)
	sum, most, half := 0, 0, len(all)/2
	for i, x := range all[:other.Len()] {
		y := all[half+i]
		d := int(max(x, y) - min(x, y))
		sum, most = sum+d, max(most, d)
	}
	mean := float64(sum) / float64(other.Len())
	m.report.YUV420Mean, m.report.YUV420Most = &mean, &most
	return err
}
