package loader_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// pictures are frames with a colour code: red is the episode, green the frame, blue the camera.
type pictures struct {
	episode, blue int
	broken        int // the frame that cannot be decoded, -1 for none
}

// encoded are pictures that were made before, by the colour that they have.
var encoded sync.Map

func (p pictures) ReadFrame(_ context.Context, i int) ([]byte, error) {
	if i == p.broken {
		return []byte("no picture"), nil
	}
	colour := [3]int{p.episode, i, p.blue}
	if b, made := encoded.Load(colour); made {
		return b.([]byte), nil
	}
	img := image.NewNRGBA(image.Rect(0, 0, 8, 6))
	for k := range 48 {
		img.Set(k%8, k/8, color.NRGBA{uint8(p.episode), uint8(i), uint8(p.blue), 255})
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	encoded.Store(colour, b.Bytes())
	return b.Bytes(), err
}

// filmedRecordings have two cameras. One is missing in some episodes, and has a frame out of order.
func filmedRecordings(t *testing.T, broken int) made {
	t.Helper()
	m := recordings(t)
	r := rand.New(rand.NewPCG(3, 4))
	for i, e := range m {
		for c, hz := range []float64{10, 30} {
			if c == 1 && i%3 == 0 {
				continue
			}
			first, last := e.Streams[0].Times, e.Streams[0].Len()-1
			list, err := tensor.Data[int64](first)
			require.NoError(t, err)
			var times []int64
			for at := list[0] + int64(r.IntN(1e8)); at < list[last]; at += int64((1 + 0.2*r.Float64()) / hz * 1e9) {
				times = append(times, at)
			}
			if c == 1 {
				times[2], times[3] = times[3], times[2]
			}
			e.Media = append(e.Media, dataset.Media{Name: []string{"front", "wrist"}[c], Times: times, Encoding: "png", Width: 8, Height: 6, Source: pictures{i, 100 * c, broken}})
		}
	}
	return m
}

var twoCameras = []loader.Camera{{Name: "front", Height: 6, Width: 8}, {Name: "wrist", Height: 3, Width: 4}}

func cameraPlan() align.Plan {
	p := shards()
	p.Unordered = "sort"
	p.Streams = append(p.Streams, align.Stream{Name: "wrist", Sampling: align.Sampling{Kind: "nearest", Tolerance: ops.Within(20 * time.Millisecond)}})
	p.Windows["front"] = align.Window{From: -300 * time.Millisecond}
	p.Windows["wrist"] = align.Window{From: -60 * time.Millisecond, To: 60 * time.Millisecond}
	return p
}

// Each target has the frame that its time and the plan's method select, with the right pad, valid and age.
func TestATargetGetsTheFrameOfItsTime(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	m := filmedRecordings(t, -1)
	for _, backend := range []string{"cpu", "sim"} {
		l := streamed(t, backend, m, cameraPlan(), loader.Options{Batch: 6, Seed: 3, Last: ops.LastShort, Age: true, Cameras: twoCameras, ShardWindows: 40, MixShards: 2})
		seen := 0
		for b, err := range l.Epoch(ctx) {
			require.NoError(t, err)
			b, err = b.Host(ctx)
			require.NoError(t, err)
			if seen++; backend == "sim" && seen > 2 {
				break
			}
			episodes, anchors := data[int64](t, b.Episodes), data[int64](t, b.Anchors)
			for c, cam := range b.Cameras {
				deltas := align.Window{From: -300 * time.Millisecond}.Ticks(50)
				if c == 1 {
					deltas = align.Window{From: -60 * time.Millisecond, To: 60 * time.Millisecond}.Ticks(50)
				}
				require.Equal(t, []int{6, len(deltas), twoCameras[c].Height, twoCameras[c].Width, 3}, cam.Frames.Shape())
				frames, valid, pad, age := data[uint8](t, cam.Frames), data[uint8](t, cam.Valid), data[uint8](t, cam.Pad), data[int64](t, cam.Age)
				size := twoCameras[c].Height * twoCameras[c].Width * 3
				for k := range valid {
					row := k / len(deltas)
					got := frames[k*size : (k+1)*size]
					for p := range size / 3 { // one colour each
						require.Equal(t, got[:3], got[3*p:3*p+3])
					}
					var media *dataset.Media
					at := anchors[row] + deltas[k%len(deltas)]
					if episodes[row] >= 0 {
						media = m[l.EpisodeOf(episodes[row])].MediaStream(cam.Name)
					}
					if media == nil {
						assert.Equal(t, []uint8{0, 0, 0}, got[:3], "no such camera, or no window")
						assert.Zero(t, valid[k])
						continue
					}
					want := -1
					best := int64(1 << 62)
					for i, x := range media.Times {
						d := x - at
						if c == 0 { // previous: the last at or before it, within the snap of a microsecond
							d = at - x
							if d < -1000 {
								continue
							}
						}
						if abs(d) < best {
							best, want = abs(d), i
						}
					}
					lo, hi := media.Times[0], media.Times[0]
					for _, x := range media.Times {
						lo, hi = min(lo, x), max(hi, x)
					}
					padded := at < lo || at > hi
					if want < 0 { // before the first: clamped
						for i, x := range media.Times {
							if x == lo {
								want = i
							}
						}
					}
					assert.Equal(t, []uint8{uint8(l.EpisodeOf(episodes[row])), uint8(want), uint8(100 * c)}, got[:3], "%s at %d", cam.Name, at)
					assert.Equal(t, padded, pad[k] == 1)
					if c == 1 {
						assert.Equal(t, !padded && best <= 20e6, valid[k] == 1)
					} else {
						assert.Equal(t, !padded, valid[k] == 1)
					}
					if !padded && c == 0 && best > 1000 {
						assert.Equal(t, best, age[k])
					}
				}
			}
		}
		r := l.Report().Cameras
		require.Len(t, r, 2)
		assert.Equal(t, []int{0, 3}, []int{r[0].Empty, r[1].Empty})
		assert.Zero(t, r[0].Bad+r[1].Bad)
	}
}

func abs(x int64) int64 { return max(x, -x) }

// Frames have the same order for any number of ranks and workers, on every device, and after a resume.
func TestFramesAreOfTheSameWindows(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	m := filmedRecordings(t, -1)
	opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, Cameras: twoCameras, ShardWindows: 40, MixShards: 3}
	want := map[int64]uint64{}
	digests(t, streamed(t, "cpu", m, cameraPlan(), opt), want, 0, 1, 8)
	require.Len(t, want, 402)
	plain := map[int64]uint64{}
	without := opt
	without.Cameras = nil
	digests(t, streamed(t, "cpu", m, shards(), without), plain, 0, 1, 8)
	assert.NotEqual(t, want[0], plain[0], "the digest is of the frames as well")
	opt.Workers = 16
	got := map[int64]uint64{}
	for rank := range 4 {
		opt.Batch, opt.Rank, opt.Ranks = 3, rank, 4
		digests(t, streamed(t, "cpu", m, cameraPlan(), opt), got, rank, 4, 3)
	}
	same(t, want, got, "4 ranks")

	// A store on the device has the same order, with packed frames and with those of its recordings.
	path := filepath.Join(t.TempDir(), "store.safetensors")
	err := store.Pack(context.Background(), m, path, store.BuildOptions{Media: []string{"front", "wrist"}})
	require.NoError(t, err)
	packed, err := store.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, packed.Close()) })
	for from, s := range map[string]*store.Store{"packed": packed, "of the recordings": inMemory(t, m)} {
		for _, backend := range backends(t) {
			opt.Batch, opt.Rank, opt.Ranks = 8, 0, 1
			l, err := loader.New(context.Background(), open(t, backend), s, cameraPlan(), opt)
			require.NoError(t, err)
			got := map[int64]uint64{}
			digests(t, l, got, 0, 1, 8)
			require.NoError(t, l.Close())
			same(t, want, got, "%s frames on %s", from, backend)
		}
	}

	opt.Batch, opt.Rank, opt.Ranks = 3, 0, 1
	sums, states := kept(t, streamed(t, "cpu", m, cameraPlan(), opt), 3, 30)
	for _, at := range []int{0, 7, 28} {
		l := streamed(t, "cpu", m, cameraPlan(), opt)
		require.NoError(t, l.Next(context.Background())) // elsewhere
		require.NoError(t, l.Resume(context.Background(), states[at]))
		again, _ := kept(t, l, 3, 1)
		assert.Equal(t, sums[at+1], again[0])
	}
}

// A frame that cannot be decoded is counted, and its targets are not valid; with Strict it is an error, and the batch after it is asked for anew.
func TestABadFrameCostsItsTargets(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, 4)
	opt := loader.Options{Batch: 8, Last: ops.LastShort, Cameras: twoCameras[:1], ShardWindows: 40, MixShards: 2}
	p := cameraPlan()
	p.Streams = p.Streams[:3]
	delete(p.Windows, "wrist")
	l := streamed(t, "cpu", m, p, opt)
	black := 0
	for b, err := range l.Epoch(ctx) {
		require.NoError(t, err)
		frames, valid, pad := data[uint8](t, b.Cameras[0].Frames), data[uint8](t, b.Cameras[0].Valid), data[uint8](t, b.Cameras[0].Pad)
		for k := range valid {
			assert.NotEqual(t, uint8(4), frames[k*6*8*3+1])
			if valid[k] == 0 && pad[k] == 0 && data[int64](t, b.Episodes)[k/15] >= 0 {
				black++
			}
		}
	}
	assert.Positive(t, black)
	assert.Positive(t, l.Report().Cameras[0].Bad)

	opt.Strict = true
	strict := streamed(t, "cpu", m, p, opt)
	var failed error
	for _, err := range strict.Epoch(ctx) {
		if err != nil {
			failed = err
		}
	}
	var format *dataset.FormatError
	assert.ErrorAs(t, failed, &format)
	assert.ErrorContains(t, failed, "frame 4 of front")

	ended, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, l.Next(ended), context.Canceled)
	require.NoError(t, l.Next(ctx))
	_, err := l.Capture(nil)
	var streaming *loader.StreamingError
	assert.ErrorAs(t, err, &streaming)
}

// If frames are out of order, their camera is left out, as a stream of numbers is, unless the plan sets another treatment.
func TestACameraOutOfOrderIsLeftOutAndTold(t *testing.T) {
	p := cameraPlan()
	p.Unordered = ""
	m := filmedRecordings(t, -1)
	_, err := loader.NewStreaming(context.Background(), open(t, "cpu"), m, p, loader.Options{Batch: 2, Cameras: twoCameras, Strict: true})
	assert.ErrorContains(t, err, "wrist")
	list := m[1].MediaStream("wrist").Times
	list[2], list[3] = list[3], list[2]
	l := streamed(t, "cpu", m, p, loader.Options{Batch: 2, Cameras: twoCameras})
	r := l.Report()
	assert.Equal(t, 6, r.Cameras[1].Empty, "it is whole in one episode of seven")
	require.Len(t, r.Notes, 3)
	assert.Equal(t, []any{dataset.CodeCameraRefused, "wrist"}, []any{r.Notes[0].Code, r.Notes[0].Got})
}

func TestCamerasThatCannotBeAreRefused(t *testing.T) {
	m := filmedRecordings(t, -1)
	for name, c := range map[string]struct {
		cameras []loader.Camera
		change  func(p *align.Plan)
	}{
		"no size":     {[]loader.Camera{{Name: "front"}}, nil},
		"no name":     {[]loader.Camera{{Height: 1, Width: 1}}, nil},
		"twice":       {[]loader.Camera{twoCameras[0], twoCameras[0]}, nil},
		"not there":   {[]loader.Camera{{Name: "rear", Height: 1, Width: 1}}, nil},
		"between two": {twoCameras, func(p *align.Plan) { p.Streams[3].Kind = "linear" }},
		"alone":       {twoCameras, func(p *align.Plan) { p.Streams = p.Streams[3:] }},
		"no tick": {twoCameras, func(p *align.Plan) {
			p.Windows["front"] = align.Window{From: time.Millisecond, To: 2 * time.Millisecond}
		}},
		"not a camera": {[]loader.Camera{{Name: "state", Height: 1, Width: 1}}, nil},
	} {
		p := cameraPlan()
		switch name {
		case "not there", "not a camera":
			p.Streams, p.Windows = p.Streams[:3], nil
		case "no tick":
			c.cameras = twoCameras
		}
		if c.change != nil {
			c.change(&p)
		}
		_, err := loader.NewStreaming(context.Background(), open(t, "cpu"), m, p, loader.Options{Batch: 2, Cameras: c.cameras})
		var option *loader.OptionError
		assert.True(t, errors.As(err, &option), "%s: %v", name, err)
	}
}
