package mp4

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// collect decodes frames and returns how many there were before the error.
func collect(ctx context.Context, v dataset.FrameDecoder, from, to int) (n int, err error) {
	for _, err := range v.DecodeFrames(ctx, from, to) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// script makes a program that is used as ffmpeg.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	t.Setenv("ROBOCACHE_FFMPEG", path)
	return path
}

func TestWithoutFFmpegTheErrorSaysHowToGiveIt(t *testing.T) {
	v := openVideo(t, "testdata/av1.mp4")
	for _, set := range []string{"PATH", "ROBOCACHE_FFMPEG"} {
		t.Setenv(set, filepath.Join(t.TempDir(), "none"))
		_, err := collect(context.Background(), v, 0, 1)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		for _, word := range []string{"decode av1", "ffmpeg", "PATH", "ROBOCACHE_FFMPEG", "testdata/av1.mp4"} {
			assert.ErrorContains(t, err, word)
		}
	}
	b, err := v.ReadFrame(context.Background(), 0)
	assert.NoError(t, err)
	assert.NotEmpty(t, b)
}

func TestFFmpegsLastWordIsInTheError(t *testing.T) {
	v := openVideo(t, "testdata/h264_back.mp4")
	for text, want := range map[string]string{
		"echo one >&2; echo the reason >&2; exit 3": "ffmpeg: the reason",
		"exit 3": "exit status 3",
		"exit 0": "no picture of it from ffmpeg",
		"echo 'not Matroska but something else of its own'":   "decode frame 2",
		"head -c 100000 /dev/zero":                            "decode frame 2",
		"head -c 100000 /dev/urandom":                         "decode frame 2",
		"cat > /dev/null; head -c 9000 /dev/zero >&2; exit 1": "decode frame 2",
	} {
		script(t, text)
		_, err := collect(context.Background(), v, 2, 5)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, text)
		assert.ErrorContains(t, err, want, text)
	}
	script(t, "echo 'Decoding requested, but no decoder found for: h264' >&2; exit 1")
	_, err := collect(context.Background(), v, 2, 5)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestAFrameThatFFmpegLeavesOutIsAnErrorAndNotAnother(t *testing.T) {
	needFFmpeg(t)
	ctx := context.Background()
	v := openVideo(t, "testdata/h264_back.mp4")
	script(t, `shift; exec ffmpeg "$@"`) // without -nostdin
	n, err := collect(ctx, v, 0, 24)
	require.NoError(t, err)
	require.Equal(t, 24, n)
	script(t, `set -- $(echo "$@" | sed 's/-vf format/-vsync 2 -vf select=not(eq(n\\,5)),format/'); exec ffmpeg "$@"`)
	n, err = collect(ctx, v, 0, 24)
	assert.Equal(t, 5, n)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "decode frame 5")
}

func TestABrokenFrameCostsItsKeyFramesRestOnly(t *testing.T) {
	needFFmpeg(t)
	ctx := context.Background()
	data := filetest.Read(t, "testdata/h264_back.mp4")
	whole := openVideo(t, "testdata/h264_back.mp4")
	for i := 0; i < 8; i += thorough.Of(3, 1) { // frames 8 to 15 are those of the second key frame
		s := whole.samples[8+i]
		broken := slices.Clone(data)
		for k := range s.size {
			broken[s.at+int64(k)] = 0xff
		}
		v, err := open(broken)
		require.NoError(t, err)
		n, err := collect(ctx, v, 0, 24)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, "sample %d", i)
		assert.Less(t, n, 16)
		n, err = collect(ctx, v, 0, 8)
		assert.NoError(t, err)
		assert.Equal(t, 8, n)
		n, err = collect(ctx, v, 16, 24)
		assert.NoError(t, err)
		assert.Equal(t, 8, n)
	}
}

func TestAFrameThatNeedsALostOneIsAnError(t *testing.T) {
	needFFmpeg(t)
	ctx := context.Background()
	v := openVideo(t, "testdata/h264_back.mp4")
	frame := int(slices.Index(v.order, 12))
	lost := *v
	lost.samples = slices.Clone(v.samples)
	lost.samples[12].size = 0
	lost.order, lost.ticks = slices.Delete(slices.Clone(v.order), frame, frame+1), slices.Delete(slices.Clone(v.ticks), frame, frame+1)
	n, err := collect(ctx, &lost, 0, 23)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorContains(t, err, "sample 13")
	assert.GreaterOrEqual(t, n, 8)
	_, err = collect(ctx, &lost, 14, 15)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	n, err = collect(ctx, &lost, 15, 23)
	assert.NoError(t, err)
	assert.Equal(t, 8, n)
}

func TestTheEndOfTheContextEndsFFmpeg(t *testing.T) {
	needFFmpeg(t)
	before := runtime.NumGoroutine()
	v := openVideo(t, "testdata/joined.mp4")
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	for _, err := range v.DecodeFrames(ctx, 0, v.Len()) {
		if n++; n == 3 {
			cancel()
			continue
		}
		if n > 3 {
			assert.ErrorIs(t, err, context.Canceled)
			break
		}
		assert.NoError(t, err)
	}
	assert.Equal(t, 4, n)
	for range v.DecodeFrames(context.Background(), 0, v.Len()) {
		break // a caller who has enough
	}
	script(t, "exec sleep 600")
	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := collect(ctx, v, 0, 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(began), time.Minute)
	for range 100 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines left behind")
}

func TestAPathIsNeverAnOption(t *testing.T) {
	needFFmpeg(t)
	data := filetest.Read(t, "testdata/av1.mp4")
	t.Chdir(t.TempDir())
	for _, name := range []string{"-version", "concat:a|b.mp4", "http:", "50%d.mp4"} {
		filetest.Write(t, name, data)
		n, err := collect(context.Background(), openVideo(t, name), 2, 5)
		assert.NoError(t, err)
		assert.Equal(t, 3, n)
	}
}

func TestARangeThatThereIsNotIsAnError(t *testing.T) {
	v := openVideo(t, "testdata/av1.mp4")
	for _, c := range [][2]int{{-1, 2}, {3, 2}, {0, 25}} { // of the track's 24
		_, err := collect(context.Background(), v, c[0], c[1])
		var r *dataset.RangeError
		assert.ErrorAs(t, err, &r, "%d to %d", c[0], c[1])
	}
	n, err := collect(context.Background(), v, 24, 24)
	assert.NoError(t, err)
	assert.Zero(t, n)
}

func TestEditsInAnotherOrderDecodeInTheirs(t *testing.T) {
	needFFmpeg(t)
	v := openVideo(t, "testdata/h264_back.mp4")
	swapped := *v
	swapped.order = append(slices.Clone(v.order[12:]), v.order[:12]...)
	pixels := func(v *Track) (list [][]uint8) {
		for frame, err := range v.DecodeFrames(context.Background(), 0, 24) {
			require.NoError(t, err)
			b, err := tensor.Data[uint8](frame)
			require.NoError(t, err)
			list = append(list, b)
		}
		return list
	}
	want := pixels(v)
	assert.Equal(t, append(slices.Clone(want[12:]), want[:12]...), pixels(&swapped))
}
