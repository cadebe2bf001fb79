package loader_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// numberedVideo opens a copy of lerobot_v3_g1. It returns its second video file, and the plan and options to draw the last episode in
// order.
func numberedVideo(t *testing.T, level loader.FrameLevel) (d dataset.Dataset, path string, p align.Plan, opt loader.Options) {
	t.Helper()
	const front = "observation.images.front"
	dir := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.CopyFS(dir, os.DirFS(sharedData(t, "lerobot_v3_g1"))))
	d, err := dataset.Open(context.Background(), dir, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	p = align.Plan{Rate: 30, Shuffle: "none", Streams: []align.Stream{{Name: "action"}}}
	return d, videosOf(t, dir, front)[1], p, loader.Options{
		Batch: 8, Last: ops.LastShort, Cameras: []loader.Camera{{Name: front, Height: 64, Width: 64}}, Episodes: [][]int{{7}}, Workers: 2, FrameLevel: level,
	}
}

// If a video's file shrinks while batches are drawn, the frames that it has lost are counted and not valid, and the others are right. With
// Strict that is an error of the batch.
func TestAVideoMayShrinkWhileItIsDrawn(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	ctx := context.Background()
	for _, strict := range []bool{false, true} {
		for _, level := range loader.FrameLevels[:thorough.Of(1, 3)] {
			d, path, p, opt := numberedVideo(t, level)
			opt.Strict = strict
			l := streamed(t, "cpu", d, p, opt)
			base, right, black := 0, 0, 0
			var failed error
			for b, err := range l.Epoch(ctx) {
				if failed = err; err != nil {
					break
				}
				frames, valid := data[uint8](t, b.Cameras[0].Frames), data[uint8](t, b.Cameras[0].Valid)
				for row, tick := range data[int64](t, b.Ticks) {
					switch got := spelled(frames[row*64*64*3:]); {
					case tick < 0:
					case valid[row] == 0:
						assert.Zero(t, got)
						black++
					default:
						if right == 0 {
							base = got - int(tick)
							require.NoError(t, os.Chmod(path, 0o600))
							require.NoError(t, os.Truncate(path, shownUpTo(t, path)))
						}
						require.Equal(t, base+int(tick), got)
						right++
					}
				}
			}
			if strict {
				assert.ErrorIs(t, failed, dataset.ErrTruncated, level)
				continue
			}
			require.NoError(t, failed)
			r := l.Report().Cameras[0]
			assert.Equal(t, right+black, l.Report().Windows)
			assert.Positive(t, black)
			assert.Greater(t, right, 8)
			assert.Equal(t, black, r.Bad, "each once")
			assert.Contains(t, r.FirstBad, "mp4")
		}
	}
}

// shownUpTo returns nine tenths of a file's size: the cut is in the last episode.
func shownUpTo(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size() * 9 / 10
}

// Whoever ends while programs decode frames waits for none of them: neither goroutines nor programs stay, and another try draws on.
func TestFramesThatAreGivenUpLeaveNothingBehind(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	before, devices := runtime.NumGoroutine(), len(loader.FrameLevels)
	for _, level := range loader.FrameLevels {
		d, _, p, opt := numberedVideo(t, level)
		l, err := loader.NewStreaming(context.Background(), open(t, "cpu"), d, p, opt)
		require.NoError(t, err)
		for _, wait := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			for err = nil; err == nil; {
				err = l.Next(ctx)
			}
			cancel()
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.NoError(t, l.Next(context.Background()))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if level == loader.FramesOnDevice {
			assert.ErrorIs(t, l.Fill(ctx), context.Canceled)
		}
		require.NoError(t, l.Close())
	}
	for range 1000 { // they may still be ending; the devices stay until the test ends
		if runtime.NumGoroutine() <= before+devices && len(children(t)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before+devices)
	assert.Empty(t, children(t))
}

// children returns the programs that this one has started and that have not ended.
func children(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc/self/task", strconv.Itoa(os.Getpid()), "children"))
	if err != nil {
		return nil // no Linux
	}
	return strings.Fields(string(text))
}
