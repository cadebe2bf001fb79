package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// surfaceOf returns stored frames as a surface for ops.Frames.
func (m *film) surfaceOf(frames *tensor.Tensor) []ops.FrameSurface {
	s := m.rule
	if s.Planes[0] = frames; m.isYUV420() {
		s.Planes = planesOf(frames)
	}
	return []ops.FrameSurface{s}
}

// no420 returns the *OptionError for a camera if its pictures cannot be kept as 4:2:0.
func no420(camera int, got string) error {
	const want = "videos in 4:2:0 with 8 bits, one colour matrix and one range; or rgb"
	return refuse(fmt.Sprintf("Cameras[%d].frames", camera), "yuv420 of "+got, want)
}

// check420 returns an *OptionError if a picture cannot be kept as 4:2:0, for example because its colour matrix is not the first picture's.
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
