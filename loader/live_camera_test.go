package loader_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// liveFrame is a camera's frame on its way.
type liveFrame struct {
	camera  string
	at      int64
	picture *tensor.Tensor
}

// liveFrames are an episode's frames by time.
func liveFrames(t *testing.T, e *dataset.Episode) (list []liveFrame) {
	t.Helper()
	for k := range e.Media {
		m := &e.Media[k]
		for i, at := range m.Times {
			picture, err := m.Decode(context.Background(), i)
			require.NoError(t, err)
			list = append(list, liveFrame{m.Name, at, picture})
		}
	}
	slices.SortStableFunc(list, func(a, b liveFrame) int { return cmp.Compare(a.at, b.at) })
	return list
}

// A live camera's windows have the frames and masks that a loader draws from the recording: at once for method previous, and for nearest
// when the next frame is there.
func TestLiveCamerasGiveTheFramesOfBatches(t *testing.T) {
	ctx := context.Background()
	m := filmedRecordings(t, -1)[1:2]
	p := cameraPlan()
	p.Snap, p.Shuffle = ops.Within(clocks.Snap), "none"
	p.Streams[len(p.Streams)-1].MaxGap = ops.Within(30 * time.Millisecond)
	batches := load(t, "cpu", m, p, loader.Options{Batch: 1, Cameras: twoCameras})
	live := p
	live.Windows = map[string]align.Window{"front": p.Windows["front"], "wrist": p.Windows["wrist"]}
	live.Streams = []align.Stream{{Name: "front"}, p.Streams[len(p.Streams)-1]}
	chw := ops.FramesOptions{Layout: ops.LayoutCHW}
	l, err := align.NewLive(live, []align.LiveStream{
		{Name: "front", Hz: 10, Camera: &align.LiveCamera{Height: 6, Width: 8, Options: ops.FramesOptions{Layout: ops.LayoutHWC}}},
		{Name: "wrist", Hz: 30, Camera: &align.LiveCamera{Height: 3, Width: 4, DType: tensor.F32, Options: chw}},
	}, 200*time.Millisecond)
	require.NoError(t, err)
	defer l.Close()
	frames, next, invalid := liveFrames(t, m[0]), 0, 0
	last := frames[len(frames)-1].at - 200e6 // no target is after the last frame
	for b, err := range batches.Epoch(ctx) {
		require.NoError(t, err)
		anchor := data[int64](t, b.Anchors)[0]
		if anchor > last {
			break
		}
		for ; next < len(frames) && frames[next].at <= anchor+200e6; next++ {
			require.NoError(t, l.PushFrame(frames[next].camera, frames[next].at, frames[next].picture))
		}
		parts, err := l.Window(ctx, anchor)
		require.NoError(t, err)
		for i, part := range parts {
			c := b.Cameras[i]
			valid := data[uint8](t, part.Valid)
			require.Equal(t, data[uint8](t, c.Valid), valid, "%s at %d", part.Name, anchor)
			require.Equal(t, data[uint8](t, c.Pad), data[uint8](t, part.Pad), "%s at %d", part.Name, anchor)
			want := data[uint8](t, c.Frames)
			if i == 0 {
				require.Equal(t, want, data[uint8](t, part.Frames), "%s at %d", part.Name, anchor)
			} else {
				require.Equal(t, []int{len(valid), 3, 3, 4}, part.Frames.Shape())
				for k, v := range data[float32](t, part.Frames) { // [T,C,H,W]
					n, channel, pixel := k/36, k/12%3, k%12
					require.Equal(t, float32(want[36*n+3*pixel+channel])/255, v)
				}
			}
			for _, v := range valid {
				invalid += 1 - int(v)
			}
		}
	}
	assert.Greater(t, next, len(frames)/2)
	assert.Positive(t, invalid)
}

// A frame that comes late takes its place in time, or is counted if it is too late. Values and frames are not mixed.
func TestLiveFramesThatComeLate(t *testing.T) {
	ctx := context.Background()
	grey := func(v byte) *tensor.Tensor { return tensor.Must(tensor.Of([]byte{v}, 1, 1, 1)) }
	plan := align.Plan{Rate: 10, Windows: map[string]align.Window{"eye": {From: -300 * time.Millisecond}}}
	l, err := align.NewLive(plan, []align.LiveStream{{Name: "eye", Hz: 10, Camera: &align.LiveCamera{Height: 1, Width: 1, StoredHeight: 2, StoredWidth: 2,
		Options: ops.FramesOptions{Layout: ops.LayoutHWC, Crop: ops.CropCentre}}}, {Name: "arm", Hz: 10, Columns: []dataset.Column{{Name: "x"}}}}, time.Second)
	require.NoError(t, err)
	defer l.Close()
	parts, err := l.Window(ctx, 3e8)
	require.NoError(t, err)
	assert.Equal(t, make([]byte, 9), data[uint8](t, parts[0].Frames), "none has arrived")
	assert.Equal(t, []float64{-1, -1, -1}, data[float64](t, parts[0].Values))
	for _, f := range []struct {
		at int64
		v  byte
	}{{1e8, 10}, {3e8, 30}, {2e8, 20}} {
		require.NoError(t, l.PushFrame("eye", f.at, grey(f.v)))
	}
	_, err = l.Window(ctx, 3e8)
	require.NoError(t, err)
	assert.Equal(t, []byte{10, 10, 10, 20, 20, 20, 30, 30, 30}, data[uint8](t, parts[0].Frames))
	assert.Equal(t, []float64{0, 2, 1}, data[float64](t, parts[0].Values))
	require.NoError(t, l.PushFrame("eye", 2e9, grey(40)))
	require.NoError(t, l.PushFrame("eye", 4e8, grey(50)))
	assert.Equal(t, []int{4, 1, 1}, []int{l.Parts()[0].Taken, l.Parts()[0].Unordered, l.Parts()[0].Late})

	for i := int64(21); i < 1000; i++ { // more than there are slots
		require.NoError(t, l.PushFrame("eye", i*1e8, grey(byte(i))))
		_, err = l.Window(ctx, i*1e8)
		require.NoError(t, err)
		if got := data[uint8](t, parts[0].Frames); i > 23 {
			require.Equal(t, []byte{byte(i - 2), byte(i - 1), byte(i)}, []byte{got[0], got[3], got[6]})
		}
	}
	for i := 0; err == nil && i < 10_000; i++ {
		err = l.PushFrame("eye", 1000e8, grey(1))
	}
	assert.ErrorContains(t, err, "LiveStream.Hz leaves room for")
	var stream *align.StreamError
	assert.ErrorAs(t, l.Push("eye", 0, []float64{1}), &stream)
	assert.ErrorAs(t, l.PushFrame("arm", 0, grey(1)), &stream)
	assert.ErrorAs(t, l.PushFrame("eye", 0, nil), &stream)
	assert.ErrorIs(t, l.PushFrame("eye", 0, tensor.Must(tensor.New(tensor.F32, 1, 1, 1))), dataset.ErrUnsupported)
	assert.ErrorIs(t, l.PushFrame("nose", 0, grey(1)), dataset.ErrNotFound)
	plan.Streams = []align.Stream{{Name: "eye", Sampling: align.Sampling{Kind: "linear"}}}
	_, err = align.NewLive(plan, []align.LiveStream{{Name: "eye", Hz: 10, Camera: &align.LiveCamera{Height: 1, Width: 1}}}, 0)
	var option *align.PlanError
	assert.ErrorAs(t, err, &option)
}
