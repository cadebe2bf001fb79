package view

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // so that dataset.Open knows them
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// stop is a picture of docs/view.md or the README: the recording, the part of the address, the actions before the picture, and the condition after them.
type stop struct {
	name, path, at, do, until string
	width, height             int // 1280 and 700 pixels if they are 0
	dark                      bool
}

const (
	gapFinding = `document.querySelector('.finding[data-kind="gap"] .kind').click()`
	setVoxel   = `(v => { v.value = 0.4; v.dispatchEvent(new Event("change")); })(document.querySelector(".choice input"))`
	intensity  = `(s => { s.value = "scalar_intensity"; s.dispatchEvent(new Event("change")); })(document.querySelectorAll(".choice select")[1])`
	filterLog  = `document.querySelector("#which").value = "vehicle_"; document.querySelector("#which").dispatchEvent(new Event("input"))`
	loopJoint  = `document.querySelector("#loop").click(); document.querySelector("#out").click(); document.querySelector('[data-joint="kLeftElbow"] .legend button')` +
		`.dispatchEvent(new MouseEvent("click", { shiftKey: true, bubbles: true }))`
	fadeOthers = `document.querySelector("#scenes").style.height = "170px"; document.querySelectorAll(".legend button")[5].dispatchEvent(new MouseEvent("mouseenter"))`
	nanFinding = `document.querySelector("#scenes").style.height = "176px"; document.querySelector('.finding[data-kind="nan"] .kind').click()`
	flip       = `document.querySelector('.finding[data-kind="quaternion-flip"] .kind').click(); document.querySelector("#made-on").click()`
	thumbnails = `document.querySelectorAll(".episode img[src]").length > 5`
)

var tour = []stop{
	{name: "findings", path: "tum_rgbd", do: gapFinding, until: `/^9\.0/.test(document.querySelector("#time").textContent)`},
	{name: "joints", path: "g1", at: "#e=2&t=5", until: `document.querySelectorAll(".joint .u-over").length > 3`},
	{name: "loop", path: "g1", at: "#e=2&t=5&from=4&to=7", do: loopJoint, until: `document.querySelectorAll(".joint:not([hidden]) .u-over").length === 1`},
	{name: "cameras", path: "bridge_rlds", at: "#e=4&t=1", do: fadeOthers, until: thumbnails, height: 620},
	{name: "resampled", path: "tum_vi", do: flip, until: `document.querySelector(".stream .u-over")`},
	{name: "voxels", path: "small_gicp_lidar/target.ply", do: setVoxel, until: `/voxels/.test(document.querySelector(".space3d .caption").textContent)`},
	{name: "colours", path: "small_gicp_lidar/target.ply", do: intensity, until: `/points/.test(document.querySelector(".space3d .caption").textContent)`, dark: true},
	{name: "log", path: "flight.ulg", at: "#e=0&t=4.2", do: filterLog, until: `/of/.test(document.querySelector("#which-count").textContent)`},
	{name: "phone", path: "bridge_rlds", at: "#e=7&t=1", until: `document.querySelector(".u-over")`, width: 390, height: 720, dark: true},
	{name: "readme", path: "faulty", at: "#e=5&t=1.2", do: nanFinding, until: thumbnails, width: 1120, height: 660},
	{name: "unreadable", path: "broken", at: "#e=1", until: `document.querySelector("#message button")`, height: 420},
}

// ROBOCACHE_TOUR=1 makes the pictures again, a name such as ROBOCACHE_TOUR=readme one of them. Without it the test looks at one.
func TestTheTourOfTheDocuments(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	shared(t, "tum_rgbd")
	folder, err := filepath.Abs(filepath.Join("..", "docs", "view"))
	require.NoError(t, err)
	b := browsertest.Start(t)
	for i, s := range tour {
		only := os.Getenv("ROBOCACHE_TOUR")
		if only == "" && i > 0 {
			break
		}
		if only != "" && only != "1" && only != s.name {
			continue
		}
		viewer := serve(t, openTour(t, s.path), Options{})
		server := httptest.NewServer(viewer)
		p := b.Open(viewer.URL(server.Listener.Addr().String())+s.at, cmp.Or(s.width, 1280), cmp.Or(s.height, 700))
		p.Dark(s.dark)
		p.Wait(`document.querySelector(".stream .u-over, .space3d, #message button") && document.querySelector("#episode").textContent`)
		p.Wait(`[...document.querySelectorAll(".space3d .caption")].every(c => c.textContent)`)
		if s.do != "" {
			p.Eval(s.do, nil)
		}
		p.Wait(s.until)
		p.Settle()
		picture := reduced(t, p.Screenshot())
		if s.path != "broken" {
			assert.Empty(t, p.Errors(), s.name)
		}
		assert.LessOrEqual(t, len(picture), 120_000, "bytes of %s", s.name)
		assert.Greater(t, len(picture), 9_000, "bytes of %s, which is empty", s.name)
		if only != "" {
			filetest.Write(t, filepath.Join(folder, s.name+".png"), picture)
		}
		server.Close()
	}
}

// openTour opens a recording of the tour. The one called broken has an episode whose file was cut.
func openTour(t *testing.T, path string) dataset.Dataset {
	switch {
	case path == "faulty":
		return openFaulty(t)
	case filepath.Ext(path) == ".ply":
		cloud, err := ply.ReadFile(shared(t, path), dataset.Options{})
		require.NoError(t, err)
		return dataset.Single("ply", path, func(context.Context) (*dataset.Episode, error) {
			return &dataset.Episode{Name: "target", Clouds: []dataset.CloudStream{{Name: "points", Times: []int64{0}, Source: oneCloud{cloud}}}}, nil
		})
	case path == "flight.ulg" || path == "g1":
		return openExample(t, path)
	case path == "broken":
		dir, from := t.TempDir(), shared(t, "lerobot_studio/lerobotv2-image")
		require.NoError(t, os.CopyFS(filepath.Join(dir, "demos"), os.DirFS(from)))
		require.NoError(t, os.Truncate(filepath.Join(dir, "demos", "data", "chunk-000", "episode_000001.parquet"), 2_000))
		t.Chdir(dir) // the page names the file
		path = "demos"
	default:
		path = shared(t, path)
	}
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

type oneCloud struct{ cloud *dataset.Cloud }

func (o oneCloud) ReadCloud(context.Context, int) (*dataset.Cloud, error) { return o.cloud, nil }

// reduced is a picture in 256 colours, which takes a third of the bytes.
func reduced(t *testing.T, b []byte) []byte {
	im, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	box := im.Bounds()
	coarse := func(c color.Color) color.RGBA {
		r, g, b, _ := c.RGBA()
		return color.RGBA{R: uint8(r>>8) | 3, G: uint8(g>>8) | 3, B: uint8(b>>8) | 3, A: 255}
	}
	often := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			often[coarse(im.At(x, y))]++
		}
	}
	palette := cut(often, 256)
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := coarse(im.At(x, y))
			k, ok := nearest[c]
			if !ok {
				k = uint8(palette.Index(c))
				nearest[c] = k
			}
			out.Pix[out.PixOffset(x, y)] = k
		}
	}
	var small bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, out))
	return small.Bytes()
}

// cut chooses colours for a picture, by how often it has each: the box of colours that is longest and fullest is cut in two where half of its pixels
// are, until there are n boxes, of each of which the most frequent colour stays.
func cut(often map[color.RGBA]int, n int) (palette color.Palette) {
	channel := func(c color.RGBA, k int) int { return int([]uint8{c.R, c.G, c.B}[k]) }
	var all []color.RGBA
	for c := range often {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	boxes := [][]color.RGBA{all}
	for len(boxes) < n {
		best, axis, most := -1, 0, 0.0
		for i, box := range boxes {
			pixels := 0
			for _, c := range box {
				pixels += often[c]
			}
			for k := range 3 {
				low, high := 255, 0
				for _, c := range box {
					low, high = min(low, channel(c, k)), max(high, channel(c, k))
				}
				if worth := float64(high-low) * math.Sqrt(float64(pixels)); high > low && worth > most {
					best, axis, most = i, k, worth
				}
			}
		}
		if best < 0 {
			break
		}
		box := boxes[best]
		slices.SortStableFunc(box, func(a, b color.RGBA) int { return channel(a, axis) - channel(b, axis) })
		pixels, half := 0, 0
		for _, c := range box {
			pixels += often[c]
		}
		at := 0
		for ; at < len(box)-2 && half+often[box[at]] < pixels/2; at++ {
			half += often[box[at]]
		}
		boxes[best] = box[:at+1]
		boxes = append(boxes, box[at+1:])
	}
	for _, box := range boxes {
		palette = append(palette, slices.MaxFunc(box, func(a, b color.RGBA) int { return often[a] - often[b] }))
	}
	return palette
}
