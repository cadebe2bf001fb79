package loader_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/loader"
)

// strip is a video with the pictures that a function returns.
type strip struct {
	tape
	planes func(i int) *video.Planes
}

func (v strip) Planes(_ context.Context, frames []int, _ string, show video.Show) error {
	for _, i := range frames {
		if err := show(int64(i), v.planes(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// stripRecordings have a front camera with the pictures that a function returns for an episode and a frame.
func stripRecordings(t *testing.T, planes func(episode, i int) *video.Planes) made {
	m, _, _ := videoRecordings(t, -1, 7)
	for k, e := range m {
		front := e.MediaStream("front")
		front.Source = strip{front.Source.(tape), func(i int) *video.Planes { return planes(k, i) }}
	}
	return m
}

// widePicture returns a gray picture of 10 x 2 pixels with five shades of blue, in full range and BT.601. The chroma planes are interleaved
// or not.
func widePicture(pairs bool) *video.Planes {
	p := &video.Planes{Width: 10, Height: 2, Bits: 8, Layout: video.YUV420, Stride: [3]int{10, 5, 5}, Matrix: 2, FullRange: true}
	u, v := []byte{0, 10, 100, 200, 255}, bytes.Repeat([]byte{128}, 5)
	p.Data = [3][]byte{bytes.Repeat([]byte{200}, 20), u, v}
	if pairs {
		p.Layout, p.Stride[1], p.Data = video.NV12, 10, [3][]byte{p.Data[0], nil, nil}
		for i := range u {
			p.Data[1] = append(p.Data[1], u[i], v[i])
		}
	}
	return p
}

// Each plane in a yuv420 frame is resized on its own, then the batch converts it. The blue plane 0, 10, 100, 200, 255 becomes 36, 186, as
// Pillow's BILINEAR: see ops. So B is 200 + 1.772*(U-128), and G 200 - 0.344136*(U-128). In RGB the pixels are clipped before they are
// resized. The report has the mean and the largest difference.
func TestPlanesOfAYUV420FrameAreResizedOnTheirOwn(t *testing.T) {
	ctx := context.Background()
	camera := loader.Camera{Name: "front", Height: 2, Width: 4}
	left, right := []byte{200, 232, 37}, []byte{200, 180, 255}
	row := bytes.Join([][]byte{left, left, right, right}, nil)
	for _, backend := range []string{"cpu", "sim"} {
		for _, pairs := range []bool{false, true} {
			frames := map[string][]byte{}
			for _, camera.Frames = range []string{"rgb", "yuv420"} {
				m := stripRecordings(t, func(int, int) *video.Planes { return widePicture(pairs) })
				l := streamed(t, backend, m, shards(), loader.Options{Batch: 2, Cameras: []loader.Camera{camera}})
				require.NoError(t, l.Next(ctx))
				b, err := l.Batch().Host(ctx)
				require.NoError(t, err)
				frames[camera.Frames] = data[uint8](t, b.Cameras[0].Frames)[:24]
				r := l.Report().Cameras[0]
				if camera.Frames == "rgb" {
					assert.Nil(t, r.YUV420Mean)
					continue
				}
				sum, most := 0, 0
				for i, x := range frames["rgb"] {
					d := max(int(x)-int(frames["yuv420"][i]), int(frames["yuv420"][i])-int(x))
					sum, most = sum+d, max(most, d)
				}
				assert.Equal(t, []float64{float64(sum) / 24, float64(most)}, []float64{*r.YUV420Mean, float64(*r.YUV420Most)})
			}
			assert.Equal(t, append(row, row...), frames["yuv420"])
		}
	}
}

// Pictures that are no 4:2:0 with 8 bits, or that differ in matrix or range from the camera's first one, are an error: when the loader is
// opened, or when the frame is decoded.
func TestPicturesThatAreNotYUV420AreRefused(t *testing.T) {
	ctx := context.Background()
	cameras := []loader.Camera{{Name: "front", Height: 2, Width: 4, Frames: "yuv420"}}
	for got, change := range map[string]func(p *video.Planes, episode int){
		"pictures with 10 bits":      func(p *video.Planes, _ int) { p.Bits = 10 },
		"pictures with 8 bits 4:2:2": func(p *video.Planes, _ int) { p.Layout = video.YUV422 },
		"matrix bt709, full range":   func(p *video.Planes, episode int) { p.Matrix = uint8(min(episode, 1)) },
		"full range false, after":    func(p *video.Planes, episode int) { p.FullRange = episode == 0 },
		"yuv420 stored as 4x3":       nil,
		"yuv420 of images":           nil,
	} {
		m := stripRecordings(t, func(episode, _ int) *video.Planes {
			p := widePicture(false)
			if change(p, episode); p.Bits > 8 {
				p.Stride = [3]int{20, 10, 10}
			}
			return p
		})
		own := cameras
		switch got {
		case "yuv420 stored as 4x3":
			own = []loader.Camera{{Name: "front", Height: 3, Width: 4, Frames: "yuv420"}}
		case "yuv420 of images":
			m = filmedRecordings(t, -1)
		}
		l, err := loader.NewStreaming(ctx, open(t, "cpu"), m, shards(), loader.Options{Batch: 2, Cameras: own})
		if err == nil {
			for err == nil {
				err = l.Next(ctx)
			}
			require.NoError(t, l.Close())
		}
		var option *loader.OptionError
		require.ErrorAs(t, err, &option, got)
		assert.Equal(t, "Cameras[0].frames", option.Arg)
		assert.Contains(t, option.Got, got)
	}
}
