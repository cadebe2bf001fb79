package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// memory is a dataset whose episodes are made when they are read.
type memory struct {
	list  []func() (*dataset.Episode, error)
	reads atomic.Int64
	info  dataset.Info
}

func (m *memory) Name() string       { return "made" }
func (m *memory) Format() string     { return "memory" }
func (m *memory) Info() dataset.Info { return m.info }
func (m *memory) Len() int           { return len(m.list) }
func (m *memory) Close() error       { return nil }

func (m *memory) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.reads.Add(1)
	return m.list[i]()
}

// stream is a stream at a rate, of columns that are functions of the seconds since its start; gaps are left out, in seconds.
func stream(t testing.TB, name string, start int64, hz, seconds float64, names []string, at func(s float64, column int) float32, gaps ...[2]float64) dataset.Stream {
	var times []int64
	var values []float32
rows:
	for i := 0; float64(i) <= seconds*hz; i++ {
		s := float64(i) / hz
		for _, g := range gaps {
			if s > g[0] && s < g[1] {
				continue rows
			}
		}
		times = append(times, start+int64(math.Round(s*1e9)))
		for k := range names {
			values = append(values, at(s, k))
		}
	}
	v, err := tensor.Of(values, len(times), len(names))
	require.NoError(t, err)
	columns := make([]dataset.Column, len(names))
	for k, n := range names {
		columns[k] = dataset.Column{Name: n, Type: "float"}
	}
	s, err := dataset.NewStream(name, times, v, columns)
	require.NoError(t, err)
	return s
}

// pictures are frames of one colour each, whose red is the frame's number.
type pictures struct{ width, height int }

func (p pictures) ReadFrame(_ context.Context, i int) ([]byte, error) {
	im := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for y := range p.height {
		for x := range p.width {
			im.SetRGBA(x, y, color.RGBA{R: uint8(i), G: uint8(255 * x / p.width), B: uint8(255 * y / p.height), A: 255})
		}
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, im, nil)
	return b.Bytes(), err
}

// helix is a cloud at each time.
type helix struct{}

func (helix) ReadCloud(_ context.Context, i int) (*dataset.Cloud, error) {
	var points []float32
	for k := range 2000 {
		a := float64(k) / 50
		points = append(points, float32(math.Cos(a)), float32(math.Sin(a)), float32(a/20+float64(i)))
	}
	points = append(points, float32(math.NaN()), 0, 0)
	return dataset.NewCloud(points, nil, nil)
}

const epoch = int64(1_700_000_000_000_000_000)

// robot is an episode with something of everything: a pose with a gap of half a second, joints, a camera, clouds.
func robot(t testing.TB, number int) *dataset.Episode {
	e := &dataset.Episode{Name: fmt.Sprintf("run_%d", number), Attributes: dataset.Attributes{Task: fmt.Sprintf("stack %d cups", number+1)}}
	e.Streams = []dataset.Stream{
		stream(t, "odom", epoch, 200, 10, []string{"position.x", "position.y", "position.z"}, func(s float64, k int) float32 {
			return float32([]float64{math.Cos(s), math.Sin(s), s / 10}[k])
		}, [2]float64{4, 4.5}),
		stream(t, "joints", epoch, 50, 10, []string{"shoulder", "elbow"}, func(s float64, k int) float32 { return float32(math.Sin(s * float64(k+1+number))) }),
	}
	times := make([]int64, 100)
	for i := range times {
		times[i] = epoch + int64(i)*100_000_000
	}
	e.Media = []dataset.Media{{Name: "front", Times: times, Encoding: "jpeg", Width: 64, Height: 48, Source: pictures{64, 48}}}
	e.Clouds = []dataset.CloudStream{{Name: "lidar", Times: times[:20], Source: helix{}}}
	return e
}

// robots is a dataset of robot's episodes, of which number 1 is broken.
func robots(t testing.TB, n int) *memory {
	m := &memory{}
	for i := range n {
		m.list = append(m.list, func() (*dataset.Episode, error) {
			if i == 1 {
				return nil, &dataset.FormatError{Format: "memory", Offset: 7, Kind: dataset.ErrCorrupt, Msg: "header", Got: "nothing", Want: "something"}
			}
			return robot(t, i), nil
		})
	}
	return m
}

// serve returns a server that ends with the test.
func serve(t testing.TB, d dataset.Dataset, opt Options) *Server {
	s, err := New(d, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// get sends a request with the server's cookie, without a network.
func get(s *Server, path string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:7380"
	r.AddCookie(&http.Cookie{Name: "robocache-view-7380", Value: s.token})
	s.ServeHTTP(w, r)
	return w.Result()
}

// getJSON asks for JSON, and wants it.
func getJSON[T any](t testing.TB, s *Server, path string) (v T) {
	r := get(s, path)
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", path, b)
	require.NoError(t, json.Unmarshal(b, &v), "%s: %.200s", path, b)
	return v
}

// shared returns the path of shared recordings, and skips the test where they are not.
func shared(t testing.TB, name string) string {
	path := filepath.Join("..", "..", "shared", "data", filepath.FromSlash(name))
	if !exists(path) {
		t.Skip("no shared recordings beside the module")
	}
	return path
}
