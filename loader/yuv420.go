package loader

import (
	"context"
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

// stored returns the shape of n stored frames.
func (c *Camera) stored(n int) []int {
	if c.isYUV420() { // the rows of luma, then both chroma planes
		return []int{n, c.StoredHeight / 2 * 3, c.StoredWidth}
	}
	return []int{n, c.StoredHeight, c.StoredWidth, 3}
}

// planesOf returns the planes of stored frames u8 [n,h*3/2,w]: [n,h,w], and twice [n,h/2,w/2].
func planesOf(frames *tensor.Tensor) (planes [3]*tensor.Tensor, err error) {
	n, h, w := frames.Dim(0), frames.Dim(1)/3*2, frames.Dim(2)
	at := 0
	for i := range planes {
		size := ops.FrameI420.PlaneShape(i, h, w)
		if planes[i], err = frames.AsStrided([]int{n, size[0], size[1]}, []int{frames.Stride(0), size[1], 1}, at); err != nil {
			break
		}
		at += size[0] * size[1]
	}
	return planes, err
}

// surfaceOf returns the surface that stored frames are.
func (m *film) surfaceOf(frames *tensor.Tensor) (s ops.FrameSurface, err error) {
	s = m.rule
	if s.Planes[0] = frames; m.isYUV420() {
		s.Planes, err = planesOf(frames)
	}
	return s, err
}

// planeByPlane returns the arguments that resize each plane of 4:2:0 pictures on its own.
func planeByPlane(frames *tensor.Tensor, pictures ops.FrameSurface) (list []ops.FramesArgs, err error) {
	planes, err := planesOf(frames)
	for i := 0; i < len(planes) && err == nil; i++ {
		gray := ops.FrameSurface{Format: ops.FrameGray, Planes: [3]*tensor.Tensor{pictures.Planes[i]}}
		args := ops.FramesArgs{Surfaces: []ops.FrameSurface{gray}}
		args.Dst, err = planes[i].AsStrided(append(planes[i].Shape(), 1), append(planes[i].Strides(), 1), 0)
		list = append(list, args)
	}
	return list, err
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
	return refuse(fmt.Sprintf("Cameras[%d].frames", camera), "yuv420 of "+got, "videos in 4:2:0 with 8 bits, one colour matrix and one range; or rgb")
}

// check420 returns an *OptionError if a picture cannot be kept as 4:2:0, by the rule of the camera's first picture.
func (m *film) check420(camera int, p *video.Planes) error {
	rule := ops.FrameSurface{Format: ops.FrameI420, Matrix: matrixOf(p), Full: p.FullRange}
	switch {
	case p.Layout != video.YUV420 && p.Layout != video.NV12 || p.Bits != 8:
		layout := map[video.Layout]string{video.Gray: "gray", video.YUV422: "4:2:2", video.YUV444: "4:4:4"}[p.Layout]
		return no420(camera, fmt.Sprintf("pictures with %d bits %s", p.Bits, layout))
	case m.rule.Format != ops.FrameI420:
		m.rule = rule
	case m.rule != rule:
		return no420(camera, fmt.Sprintf("matrix %v, full range %t, after %v, %t", rule.Matrix, rule.Full, m.rule.Matrix, m.rule.Full))
	}
	return nil
}

// measure420 finds the camera's colour matrix and range. It also measures on the CPU how much yuv420 frames differ from RGB frames, over a
// video's first group, at most KeptTogether.
func (r *reel) measure420(ctx context.Context, camera int, media *dataset.Media) (err error) {
	clip, isVideo := video.AsClip(media.Source)
	if !isVideo {
		return no420(camera, "images")
	}
	_, n, err := video.GroupOf(ctx, media.Source, media.Len(), 0)
	if err != nil {
		return err
	}
	frames := make([]int, min(n, KeptTogether))
	for i := range frames {
		frames[i] = i
	}
	m, cpu := r.films[camera], r.loader.cpu
	f, err := newFramer(cpu)
	if err != nil {
		return err
	}
	defer f.Close()
	var kept, want, got *tensor.Tensor
	shape := []int{len(frames), m.StoredHeight, m.StoredWidth, 3}
	for to, shape := range map[**tensor.Tensor][]int{&kept: m.stored(len(frames)), &want: shape, &got: shape} {
		if *to, err = tensor.New(tensor.U8, shape...); err != nil {
			return err
		}
	}
	shown := 0
	var bad error
	err = clip.Planes(ctx, frames, "", func(_ int64, p *video.Planes, err error) error {
		if err != nil {
			bad = err
			return nil
		}
		if err = m.check420(camera, p); err != nil {
			return err
		}
		for _, t := range []*tensor.Tensor{kept, want} {
			if err == nil {
				err = f.planes(p, target{frame: rowOf(t, shown)})
			}
		}
		shown++
		return err
	})
	switch {
	case err != nil:
		return err
	case shown == 0:
		return bad
	}
	if err := f.flush(); err != nil {
		return err
	}
	surface, err := m.surfaceOf(first(kept, shown))
	if err != nil {
		return err
	}
	args := ops.FramesArgs{Dst: first(got, shown), Surfaces: []ops.FrameSurface{surface}}
	if err := cpu.Frames(ctx, args, ops.FramesOptions{Layout: ops.LayoutHWC}); err != nil {
		return err
	}
	a, err := tensor.Data[uint8](first(want, shown))
	if err != nil {
		return err
	}
	b, err := tensor.Data[uint8](args.Dst)
	if err != nil {
		return err
	}
	sum, most := 0, 0
	for i := range a {
		d := max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
		sum, most = sum+d, max(most, d)
	}
	mean := float64(sum) / float64(len(a))
	m.report.YUV420Mean, m.report.YUV420Most = &mean, &most
	return nil
}
