package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/view"
)

// scans writes files of KITTI with points of a real scan, a thousand in the first file, two thousand in the second, and so on.
func scans(t *testing.T, names ...string) (dir string) {
	path := filepath.Join("..", "..", "..", "shared", "data", "small_gicp_lidar", "target.ply")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings beside the module")
	}
	c, err := ply.ReadFile(path, dataset.Options{})
	require.NoError(t, err)
	points, err := tensor.Data[float32](c.Points)
	require.NoError(t, err)
	intensity, err := tensor.Data[float32](c.Features)
	require.NoError(t, err)
	dir = t.TempDir()
	for k, name := range names {
		var b bytes.Buffer
		for i := range (k + 1) * 1000 {
			at := i * 60 / (k + 1)
			require.NoError(t, binary.Write(&b, binary.LittleEndian, append(points[3*at:3*at+3:3*at+3], intensity[at])))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	return dir
}

func TestAFolderOfCloudsIsOneEpisode(t *testing.T) {
	ctx := context.Background()
	numbered := scans(t, "1.bin", "2.bin", "10.bin")
	require.NoError(t, os.WriteFile(filepath.Join(numbered, "README.txt"), []byte("scans"), 0o644))
	s3test.Shared().PutFolder(t, "clouds", "scans", numbered)
	for _, tt := range []struct {
		path  string
		steps bool
		times []int64
	}{
		{numbered, true, []int64{0, 1e9, 2e9}},
		{"s3://clouds/scans", true, []int64{0, 1e9, 2e9}},
		{scans(t, "LIDAR__1532402927647951.bin", "LIDAR__1532402927697951.bin", "LIDAR__1532402928048847.bin"), false, []int64{1532402927647951000, 1532402927697951000, 1532402928048847000}},
		{scans(t, "1305031459.25.bin", "1305031459.5.bin"), false, []int64{1305031459_250_000_000, 1305031459_500_000_000}},
		{scans(t, "0000000000.bin", "0000000001.bin"), true, []int64{0, 1e9}}, // KITTI's numbers of ten digits are no times
		{filepath.Join(numbered, "2.bin"), false, []int64{0}},
	} {
		d, err := openViewed(ctx, tt.path, dataset.Options{})
		require.NoError(t, err, tt.path)
		e, err := d.Episode(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, tt.steps, e.Steps, tt.path)
		require.Len(t, e.Clouds, 1)
		assert.Equal(t, tt.times, e.Clouds[0].Times, tt.path)
		for i := range tt.times {
			c, err := e.Clouds[0].Cloud(ctx, i)
			require.NoError(t, err)
			if len(tt.times) > 1 {
				assert.Equal(t, (i+1)*1000, c.Len(), "%s, cloud %d", tt.path, i)
			}
			assert.Equal(t, []string{"intensity"}, c.Names())
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(numbered, "1.bin"), []byte("no points"), 0o644))
	_, err := openViewed(ctx, numbered, dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported, "the first is no cloud")
}

// cloudShape is the picture of points: how many pixels they colour, how green, their middle, and how wide they lie.
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
	b := browsertest.Start(t)
	d, err := openViewed(context.Background(), scans(t, "1.bin", "2.bin", "10.bin"), dataset.Options{})
	require.NoError(t, err)
	viewer, err := view.New(d, view.Options{})
	require.NoError(t, err)
	defer viewer.Close()
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

	// The bar has the length of its label.
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
