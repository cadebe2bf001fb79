package all_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// Cameras of every format have the pixels that Pillow, OpenCV and TensorFlow make of a JPEG: chroma is interpolated.
func TestPythonJpegChroma(t *testing.T) {
	t.Run("RLDS", func(t *testing.T) {
		const folder = "../../../shared/data/bridge_rlds"
		if _, err := os.Stat(folder); err != nil {
			t.Skipf("no shared recordings: %v", err)
		}
		interpolates(t, folder, "observation/image_0")
	})
	t.Run("TUM", func(t *testing.T) {
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
		for i, size := range [][2]int{{5, 1}, {33, 17}} {
			img := image.NewRGBA(image.Rect(0, 0, size[0], size[1]))
			for k := range img.Pix {
				img.Pix[k] = uint8(rng.Uint32())
			}
			var file bytes.Buffer
			require.NoError(t, jpeg.Encode(&file, img, nil))
			filetest.Write(t, filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), file.Bytes())
		}
		filetest.Write(t, filepath.Join(dir, "rgb.txt"), "1.0 0.jpg\n1.1 1.jpg\n")
		interpolates(t, dir, "rgb")
	})
}

// interpolates compares the first frames of a camera with their planes, interpolated by weights of 3/4 and 1/4 each way.
func interpolates(t *testing.T, path, camera string) {
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	e, err := d.Episode(t.Context(), 0)
	require.NoError(t, err)
	m := e.MediaStream(camera)
	for i := range min(3, m.Len()) {
		file, err := m.Frame(t.Context(), i)
		require.NoError(t, err)
		img, err := jpeg.Decode(bytes.NewReader(file))
		require.NoError(t, err)
		planes := img.(*image.YCbCr)
		require.Equal(t, image.YCbCrSubsampleRatio420, planes.SubsampleRatio)
		frame, err := m.Decode(t.Context(), i)
		require.NoError(t, err)
		got, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		w, h := planes.Rect.Dx(), planes.Rect.Dy()
		at := func(plane []byte, x, y int) uint8 {
			sample := func(x, y int) float64 {
				return float64(plane[min(max(y, 0), (h-1)/2)*planes.CStride+min(max(x, 0), (w-1)/2)])
			}
			far := func(x int) int { return x/2 + x%2*2 - 1 }
			return uint8((9*sample(x/2, y/2)+3*sample(far(x), y/2)+3*sample(x/2, far(y))+sample(far(x), far(y)))/16 + 0.5)
		}
		for y := range h {
			for x := range w {
				r, g, b := color.YCbCrToRGB(planes.Y[y*planes.YStride+x], at(planes.Cb, x, y), at(planes.Cr, x, y))
				for c, v := range []uint8{r, g, b} {
					require.InDelta(t, v, got[(y*w+x)*3+c], 2.5, "frame %d, row %d, column %d", i, y, x)
				}
			}
		}
	}
}
