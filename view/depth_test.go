package view

import (
	"context"
	"encoding/binary"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// ramp is depth images of 64 x 64 pixels in millimetres: 500 at the left end to 3650 at the right, and none in the lower half.
type ramp struct{}

func (ramp) ReadFrame(context.Context, int) (b []byte, err error) {
	for i := range 64 * 64 {
		v := uint16(500 + 50*(i%64))
		if i >= 64*32 {
			v = 0
		}
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b, nil
}

// roof is two faces with normals that meet at x = 0: one faces -x, the other +x, and both face up.
type roof struct{ colors bool }

func (r roof) ReadCloud(context.Context, int) (*dataset.Cloud, error) {
	columns := []dataset.Column{{Name: "nx"}, {Name: "ny"}, {Name: "nz"}, {Name: "red"}, {Name: "green"}, {Name: "blue"}}
	var points, features []float32
	for i := range 100 * 100 {
		x, y := float32(i%100-50)/50, float32(i/100-50)/50
		side := float32(1)
		if x < 0 {
			side = -1
		}
		points, features = append(points, x, y, -side*x), append(features, side*0.7071, 0, 0.7071)
		if r.colors {
			features = append(features, 255, 0, 0)
		}
	}
	if !r.colors {
		columns = columns[:3]
	}
	return dataset.NewCloud(points, features, columns)
}

func serveEpisode(t *testing.T, e *dataset.Episode) *Server {
	return serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
}

func rampEpisode() *dataset.Episode {
	return &dataset.Episode{Name: "0", Media: []dataset.Media{{Name: "depth", Times: []int64{0, 1e9}, Encoding: "16UC1", Width: 64, Height: 64,
		Source: ramp{}, Depth: &dataset.DepthCamera{Scale: 0.001}}}}
}

// Depth goes as levels without loss, with its range in metres, and has a thumbnail.
func TestDepthIsLevelsWithARangeInMetres(t *testing.T) {
	s := serveEpisode(t, rampEpisode())
	for height, side := range map[string]int{"64": 64, "20": 21} { // every third pixel
		r := get(s, "/api/episodes/0/frame?camera=depth&at=1&height="+height)
		require.Equal(t, http.StatusOK, r.StatusCode)
		assert.JSONEq(t, `{"near":0.5,"far":3.65}`, r.Header.Get("Depth"))
		assert.Equal(t, "image/png", r.Header.Get("Content-Type"))
		img, err := png.Decode(r.Body)
		require.NoError(t, err)
		levels := img.(*image.Gray)
		require.Equal(t, image.Rect(0, 0, side, side), levels.Bounds())
		assert.EqualValues(t, 255, levels.GrayAt(0, 0).Y, "near")
		assert.InDelta(t, 255-215*float64(side/2*(64/side))/63, float64(levels.GrayAt(side/2, 0).Y), 1)
		assert.InDelta(t, 40, levels.GrayAt(side-1, 0).Y, 10)
		assert.Zero(t, levels.GrayAt(0, side-1).Y, "no depth")
	}
	r := get(s, "/api/episodes/0/thumbnail")
	require.Equal(t, http.StatusOK, r.StatusCode)
	assert.Equal(t, "image/png", r.Header.Get("Content-Type"))
	assert.Empty(t, get(serve(t, robots(t, 1), Options{}), "/api/episodes/0/frame?camera=front&at=0").Header.Get("Depth"))
}

// The page colours depth from dark violet, near, to yellow, far, and shows the range. A surface is shaded by its normals.
func TestDepthAndSurfacesInABrowser(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	open := func(e *dataset.Episode) *browsertest.Page {
		viewer := serveEpisode(t, e)
		server := httptest.NewServer(viewer)
		t.Cleanup(server.Close)
		return b.Open(viewer.URL(server.Listener.Addr().String()), 1200, 800)
	}
	p := open(rampEpisode())
	p.Wait(`document.querySelector(".camera .depth")?.textContent === "0.5 m3.65 m"`)
	var pixels [3][3]int
	p.Eval(`(c => [[0, 0], [63, 0], [0, 63]].map(([x, y]) => [...c.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3)))(document.querySelector(".camera canvas"))`, &pixels)
	assert.Equal(t, [3][3]int{{68, 1, 84}, {253, 231, 37}, {}}, pixels)

	for _, colors := range []bool{false, true} {
		p = open(&dataset.Episode{Name: "0", Clouds: []dataset.CloudStream{{Name: "points", Times: []int64{0}, Source: roof{colors}}}})
		p.Wait(`document.querySelectorAll(".choice select")[1]?.value === "surface"`)
		p.Wait(`/10,000/.test(document.querySelector(".space3d .caption").textContent)`)
		p.Settle()
		// Seen from above, the left face is toward the light: brighter than the right one.
		p.Eval(`[...document.querySelectorAll(".choice button")].find(b => b.textContent === "top").click()`, nil)
		p.Settle()
		var sides [2][3]float64
		p.Eval(`(c => [0.45, 0.55].map(at => [...c.getContext("2d").getImageData(c.width * at, c.height / 2, 1, 1).data].slice(0, 3)))(document.querySelector(".space3d canvas"))`, &sides)
		assert.Greater(t, sides[0][0], sides[1][0]+20, "%v", sides)
		if colors {
			assert.Equal(t, []float64{0, 0}, sides[0][1:])
		} else {
			assert.InDelta(t, 192.0/214, sides[0][2]/sides[0][0], 0.02, "clay")
		}
		assert.Empty(t, p.Errors())
	}
}
