package view

import (
	"bytes"
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

// tour are the pictures of docs/view.md and the README: what is opened, where, and what is done before the picture is taken.
var tour = []struct{ name, path, at, do, until string }{
	{"findings", "tum_rgbd", "", `document.querySelector('.finding[data-kind="gap"]').click()`, `/^9\.0/.test(document.querySelector("#time").textContent)`},
	{"cameras", "bridge_rlds", "#e=4&t=1", `document.querySelectorAll(".legend button")[5].dispatchEvent(new MouseEvent("mouseenter"))`, `document.querySelectorAll(".episode img[src]").length > 8`},
	{"resampled", "tum_vi", "", `document.querySelector('.finding[data-kind="quaternion-flip"]').click(); document.querySelector("#made-on").click()`, `document.querySelector(".stream .u-over")`},
	{"voxels", "small_gicp_lidar/target.ply", "", `(v => { v.value = 0.4; v.dispatchEvent(new Event("change")); })(document.querySelector(".choice input"))`, `/voxels/.test(document.querySelector(".space3d .caption").textContent)`},
	{"log", "flight.ulg", "#e=0&t=4.2", `document.querySelector("#which").value = "vehicle_"; document.querySelector("#which").dispatchEvent(new Event("input"))`, `/of/.test(document.querySelector("#which-count").textContent)`},
	{"readme", "faulty", "#e=5&t=1.2", `document.querySelector('.finding[data-kind="nan"]').click()`, `document.querySelectorAll(".episode img[src]").length > 8`},
}

// ROBOCACHE_TOUR=1 has it write the pictures anew; else it looks at one.
func TestTheTourOfTheDocuments(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	shared(t, "tum_rgbd")
	b := browsertest.Start(t)
	for i, stop := range tour {
		if os.Getenv("ROBOCACHE_TOUR") == "" && i > 0 {
			break
		}
		d := openTour(t, stop.path)
		viewer := serve(t, d, Options{})
		server := httptest.NewServer(viewer)
		p := b.Open(viewer.URL(server.Listener.Addr().String())+stop.at, 1120, 660)
		p.Wait(`document.querySelector(".stream .u-over, .space3d") && document.querySelector("#side h2")`)
		p.Eval(stop.do, nil)
		p.Wait(stop.until)
		p.Eval(`new Promise(d => setTimeout(d, 700))`, nil)
		picture := reduced(t, p.Screenshot())
		assert.Empty(t, p.Errors(), stop.name)
		assert.Less(t, len(picture), 150_000, "bytes of %s", stop.name)
		assert.Greater(t, len(picture), 15_000, "bytes of %s, which is empty", stop.name)
		if os.Getenv("ROBOCACHE_TOUR") != "" {
			filetest.Write(t, filepath.Join("..", "docs", "view", stop.name+".png"), picture)
		}
		server.Close()
	}
}

func openTour(t *testing.T, path string) dataset.Dataset {
	if path == "faulty" {
		return openFaulty(t)
	}
	if filepath.Ext(path) == ".ply" {
		cloud, err := ply.ReadFile(shared(t, path), dataset.Options{})
		require.NoError(t, err)
		return dataset.Single("ply", path, func(context.Context) (*dataset.Episode, error) {
			return &dataset.Episode{Name: "target", Clouds: []dataset.CloudStream{{Name: "points", Times: []int64{0}, Source: oneCloud{cloud}}}}, nil
		})
	}
	if filepath.Ext(path) == ".ulg" {
		path = filepath.Join("..", "examples", "data", "flight.ulg")
	} else {
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
