package viz

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/surface"
)

// wall is two triangles: a square of 1 m by 1 m at y = 0, with the red half at smaller z and the blue half at greater z. It
// faces smaller y.
func wall() Mesh {
	s := &surface.Surface{Triangles: [][3]int32{{0, 1, 2}, {3, 5, 4}}}
	for i, p := range [][3]float32{{0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}} {
		s.Points = append(s.Points, p[:]...)
		s.Normals = append(s.Normals, 0, -1, 0)
		s.Colors = append(s.Colors, [2][]uint8{{255, 0, 0}, {0, 0, 255}}[i/3]...)
	}
	return Mesh{Surface: s, Toward: [3]float64{0, -2, 0}, Up: [3]float64{0, -1, 3}}
}

func drawMesh(t *testing.T, m Mesh) image.Image {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteMeshPNG(&b, m, Options{Title: "test", DPI: 72}))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	return img
}

// colored counts an image's red and blue pixels, and returns their mean positions.
func colored(img image.Image) (red, blue int, redAt, blueAt [2]float64) {
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			at := [2]float64{float64(x), float64(y)}
			switch {
			case c.R > 150 && c.G < 80 && c.B < 80:
				red++
				redAt = [2]float64{redAt[0] + at[0], redAt[1] + at[1]}
			case c.B > 150 && c.G < 80 && c.R < 80:
				blue++
				blueAt = [2]float64{blueAt[0] + at[0], blueAt[1] + at[1]}
			}
		}
	}
	return red, blue, [2]float64{redAt[0] / float64(red), redAt[1] / float64(red)}, [2]float64{blueAt[0] / float64(blue), blueAt[1] / float64(blue)}
}

func TestAMeshIsSeenFromItsViewpoint(t *testing.T) {
	red, blue, redAt, blueAt := colored(drawMesh(t, wall()))
	assert.Greater(t, red, 20000)
	assert.InEpsilon(t, red, blue, 0.02)
	assert.Less(t, blueAt[1], redAt[1]-50, "z is up")
	assert.Less(t, redAt[0], blueAt[0]-50, "x is to the right")

	upsideDown := wall()
	upsideDown.Up[2] = -3
	_, _, redAt, blueAt = colored(drawMesh(t, upsideDown))
	assert.Greater(t, blueAt[1], redAt[1]+50)

	behind := wall()
	behind.Toward[1] = 2
	red, blue, _, _ = colored(drawMesh(t, behind))
	assert.Zero(t, red+blue, "what faces away is left out")

	voxels := wall()
	voxels.Up = [3]float64{}
	red, blue, _, _ = colored(drawMesh(t, voxels))
	assert.True(t, red > 5000 && blue > 5000, "the view of voxels is from smaller y")
}

// The nearer of two walls hides the other, in either order.
func TestTheNearerTriangleIsSeen(t *testing.T) {
	for _, near := range []int{0, 1} {
		m := wall()
		far := wall()
		for i := range far.Colors {
			far.Colors[i] = 0
		}
		if near == 0 {
			m, far = far, m
		}
		for i := 1; i < len(far.Points); i += 3 {
			far.Points[i] = float32(2*near - 1)
		}
		for _, tr := range far.Triangles {
			m.Triangles = append(m.Triangles, [3]int32{tr[0] + 6, tr[1] + 6, tr[2] + 6})
		}
		m.Points, m.Normals, m.Colors = append(m.Points, far.Points...), append(m.Normals, far.Normals...), append(m.Colors, far.Colors...)
		red, blue, _, _ := colored(drawMesh(t, m))
		assert.True(t, red > 20000 && blue > 20000, "%d: %d and %d", near, red, blue)
	}
}

func TestAMeshWithoutTrianglesIsAnError(t *testing.T) {
	var b bytes.Buffer
	for _, m := range []Mesh{{}, {Surface: &surface.Surface{Points: []float32{1, 2, 3}}}} {
		assert.ErrorIs(t, WriteMeshPNG(&b, m, Options{}), ErrMissing)
	}
	assert.Zero(t, b.Len())
	flat := wall()
	for i := range flat.Points {
		flat.Points[i] = float32(math.Copysign(0, 1))
	}
	drawMesh(t, flat)
	flat.Points[3] = float32(math.Inf(1))
	assert.ErrorIs(t, WriteMeshPNG(&b, flat, Options{}), ErrOption)
	bare := wall()
	bare.Normals = nil
	assert.ErrorIs(t, WriteMeshPNG(&b, bare, Options{}), ErrShape)
	assert.Zero(t, b.Len())
}
