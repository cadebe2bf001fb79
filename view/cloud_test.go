package view

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// scans has the points and intensities from a real scan. Cloud 0 has a thousand, cloud 1 two thousand, and so on.
type scans struct{ points, intensity []float32 }

// readScans reads the shared scan.
func readScans(t *testing.T) scans {
	c, err := ply.ReadFile(shared(t, "small_gicp_lidar/target.ply"), dataset.Options{})
	require.NoError(t, err)
	points, err := tensor.Data[float32](c.Points)
	require.NoError(t, err)
	intensity, err := tensor.Data[float32](c.Features)
	require.NoError(t, err)
	return scans{points, intensity}
}

func (s scans) ReadCloud(_ context.Context, k int) (*dataset.Cloud, error) {
	var points, intensity []float32
	for i := range (k + 1) * 1000 {
		at := i * 60 / (k + 1)
		points, intensity = append(points, s.points[3*at:3*at+3]...), append(intensity, s.intensity[at])
	}
	return dataset.NewCloud(points, intensity, []dataset.Column{{Name: "intensity", Type: "float"}})
}

// cloudShape is a picture with points: how many pixels they colour, how green, their middle, and how wide they lie.
type cloudShape struct{ N, Green, X, Y, Wide float64 }

const readShape = `(() => {
	const c = document.querySelector(".space3d canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
	let n = 0, green = 0, x = 0, y = 0, xx = 0;
	for (let v = 40; v < c.height - 110; v++) for (let u = 0; u < c.width - 60; u++) {
		const [r, g, b, a] = d.subarray(4 * (v * c.width + u));
		if (a === 255 && Math.max(r, g, b) - Math.min(r, g, b) > 60) { n++; green += g; x += u; y += v; xx += u * u; }
	}
	return { n, green: green / n, x: x / n, y: y / n, wide: Math.sqrt(xx / n - (x / n) ** 2) };
})()`

// Clouds follow the cursor; fingers and the mouse turn, move and magnify them; colours have a scale.
func TestAFolderOfCloudsPlaysInABrowser(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	clouds := readScans(t)
	b := browsertest.Start(t)
	e := &dataset.Episode{Name: "0", Steps: true, Clouds: []dataset.CloudStream{{Name: "points", Times: []int64{0, 1e9, 2e9}, Source: clouds}}}
	viewer := serve(t, &memory{list: []func() (*dataset.Episode, error){func() (*dataset.Episode, error) { return e, nil }}}, Options{})
	server := httptest.NewServer(viewer)
	defer server.Close()
	p := b.Open(viewer.URL(server.Listener.Addr().String()), 1200, 800)
	caption := func(text string) {
		t.Helper()
		p.Wait(fmt.Sprintf(`document.querySelector(".space3d .caption")?.textContent === %q`, text))
	}
	read := func() (s cloudShape) { p.Eval(readShape, &s); return s }

	caption("points · cloud 0 · 1,000 points")
	p.Key("ArrowRight")
	caption("points · cloud 1 · 2,000 points")
	p.Eval(`(s => { s.value = "4"; s.dispatchEvent(new Event("change")); })(document.querySelector("#speed"))`, nil)
	p.Key(" ")
	caption("points · cloud 2 · 3,000 points")
	p.Wait(`document.querySelector("#time").textContent === "step 2 / 3 steps"`)

	// Intensity has other colours, and a scale from dark violet to yellow.
	height := read()
	p.Eval(`(s => { s.value = "intensity"; s.dispatchEvent(new Event("change")); })(document.querySelectorAll(".choice select")[1])`, nil)
	p.Wait(fmt.Sprintf(`Math.abs(%s.green - %g) > 5`, readShape, height.Green))
	var ends [2][3]int
	p.Eval(`[48, 152].map(y => [...document.querySelector(".space3d canvas").getContext("2d").getImageData(document.querySelector(".space3d canvas").width - 13, y, 1, 1).data].slice(0, 3))`, &ends)
	assert.Greater(t, ends[0][0], 200)
	assert.Less(t, ends[0][2], 80)
	assert.Less(t, ends[1][1], 60)

	// The bar is as long as its label says.
	var bar struct {
		Text  string
		Width float64
	}
	p.Eval(`import("./colours.js").then(({ ruler }) => {
		const xs = [], c = { beginPath() {}, stroke() {}, lineTo: x => xs.push(x), fillText: text => { c.text = text; } };
		ruler(c, 1000, 500, 33);
		return { text: c.text, width: Math.max(...xs) - Math.min(...xs) };
	})`, &bar)
	assert.Equal(t, "2 m", bar.Text)
	assert.InDelta(t, 66, bar.Width, 1e-6)

	p.Settle()
	box := p.Box(".space3d canvas")
	x, y := box.X+box.Width/2, box.Y+box.Height/2
	p.Wheel(x, y, 500, false)
	small := read()
	shifted := func(x, y, toX, toY float64) { p.Drag(x, y, toX, toY, browsertest.Shift) }
	for _, drag := range []func(x, y, toX, toY float64){shifted, p.RightDrag} {
		before := read()
		drag(x, y, x+60, y-40)
		after := read()
		assert.InDelta(t, before.X+60, after.X, 3)
		assert.InDelta(t, before.Y-40, after.Y, 3)
		drag(x, y, x-60, y+40)
	}
	p.Fingers([2][2]float64{{x - 40, y}, {x - 60, y}}, [2][2]float64{{x + 40, y}, {x + 60, y}})
	assert.InDelta(t, 1.5, read().Wide/small.Wide, 0.1, "as far as the fingers")
	p.Drag(x, y, x+100, y)
	assert.InDelta(t, small.X, read().X, 60, "it turns about its middle")
	p.DoubleClick(x, y)
	all := read()
	assert.Greater(t, all.Wide, small.Wide*1.5, "all again")
	p.Key("Tab") // after a click the focus is not for keys
	p.Eval(`document.querySelector(".space3d canvas").focus()`, nil)
	p.Key("-")
	assert.InDelta(t, 0.8, read().Wide/all.Wide, 0.03, "by a key")
	before := read()
	p.Key("ArrowLeft")
	assert.NotEqual(t, before, read())
	caption("points · cloud 2 · 3,000 points")
	assert.Empty(t, p.Errors())
}
