package mp4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// joined writes parts of tracks behind one another, and returns the file, its track, and where each part begins.
func joined(t *testing.T, rate float64, parts ...part) ([]byte, *Track, []int) {
	var out bytes.Buffer
	w, err := NewWriter(&out, rate)
	require.NoError(t, err)
	var first []int
	for _, p := range parts {
		at, err := w.Append(context.Background(), p.track, p.from, p.to)
		require.NoError(t, err)
		first = append(first, at)
	}
	require.NoError(t, w.Close())
	assert.Equal(t, int64(out.Len()), w.Size())
	f, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	v, err := f.Video()
	require.NoError(t, err)
	require.Equal(t, w.Len(), v.Len()+v.Hidden)
	return out.Bytes(), v, first
}

type part struct {
	track    *Track
	from, to int
}

// pictures decodes frames of a track.
func pictures(t *testing.T, v *Track, from, to int) (list [][]byte) {
	for frame, err := range v.DecodeFrames(context.Background(), from, to) {
		require.NoError(t, err)
		b, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		list = append(list, b)
	}
	return list
}

// readable are the videos in testdata that decode to what they were encoded from.
func readable(t *testing.T) (names []string) {
	all, err := filepath.Glob("testdata/*.m*")
	require.NoError(t, err)
	for _, name := range all {
		if !strings.Contains(name, "fragmented") && !strings.Contains(name, "deep") {
			names = append(names, name)
		}
	}
	require.Greater(t, len(names), 10)
	return names
}

func TestFramesAreWrittenAsTheyAreAtTheirNumbers(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
	shown := map[string]bool{}
	for _, name := range readable(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			v := openVideo(t, name)
			n := v.Len()
			file, got, first := joined(t, 30, part{v, 0, n}, part{v, n / 3, n - 1})
			for i := range n {
				want, err := v.ReadFrame(context.Background(), i)
				require.NoError(t, err)
				frame, err := got.ReadFrame(context.Background(), first[0]+i)
				require.NoError(t, err)
				require.Equal(t, want, frame, "frame %d", i)
				require.Equal(t, v.Key(i), got.Key(first[0]+i))
			}
			// Frames that are the same show the same, if the part begins where it can: one video of each codec, and those with other key frames.
			if !shown[v.Codec] || strings.Contains(name, "open") || strings.Contains(name, "refresh") || thorough.Long {
				shown[v.Codec] = true
				assert.Equal(t, pictures(t, v, n/3, n-1), pictures(t, got, first[1], first[1]+n-1-n/3), "what the cut part shows")
			}
			assert.Equal(t, []any{v.Codec, v.Width, v.Height, v.Config}, []any{got.Codec, got.Width, got.Height, got.Config})
			for i := range got.Len() {
				ticks, scale := got.Time(i)
				require.Equal(t, []any{int64(i * 512), uint32(15360)}, []any{ticks, scale})
			}
			again, _, _ := joined(t, 30, part{v, 0, n}, part{v, n / 3, n - 1})
			assert.True(t, bytes.Equal(file, again), "the same frames gave other bytes")
		})
	}
}

// TestJoinedVideosDoNotDriftForFFmpeg joins twelve episodes, of which LeRobot's own way of joining moves the later ones by more than its tolerance.
func TestJoinedVideosDoNotDriftForFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffprobe"); err != nil {
		t.Skip("no program ffmpeg")
	}
	for _, name := range []string{"av1.mp4", "h264_back.mp4", "sound.mov"} {
		for _, rate := range []float64{30, 29.97, 12.5, 1} {
			if rate != 29.97 && name != "av1.mp4" && !thorough.Long {
				continue
			}
			v := openVideo(t, filepath.Join("testdata", name))
			parts := make([]part, 12)
			for i := range parts {
				parts[i] = part{v, 0, v.Len()}
			}
			file, _, _ := joined(t, rate, parts...)
			path := filepath.Join(t.TempDir(), "joined.mp4")
			filetest.Write(t, path, file)
			out, err := exec.Command("ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time:stream=nb_frames,avg_frame_rate", "-of", "csv=p=0", path).CombinedOutput()
			require.NoError(t, err, string(out))
			lines := strings.Fields(strings.ReplaceAll(string(out), ",", " "))
			require.Len(t, lines, 12*v.Len()+2, name)
			for i := range 12 * v.Len() {
				var at float64
				_, err := fmt.Sscan(lines[i], &at)
				require.NoError(t, err)
				require.InDelta(t, float64(i)/rate, at, 2e-6, "%s at %g: frame %d", name, rate, i)
			}
			var n, d float64
			_, err = fmt.Sscanf(lines[len(lines)-2], "%g/%g", &n, &d)
			require.NoError(t, err, lines[len(lines)-2:])
			// A reader that asks for frame round(time*mean rate) must get the right one.
			assert.Less(t, math.Abs(n/d-rate)*float64(12*v.Len())/rate, 0.1, "%s says %g frames a second, want %g", name, n/d, rate)
		}
	}
}

func TestTracksThatDifferAreNotJoined(t *testing.T) {
	ctx := context.Background()
	av1, h264 := openVideo(t, "testdata/av1.mp4"), openVideo(t, "testdata/h264_back.mp4")
	w, err := NewWriter(io.Discard, 30)
	require.NoError(t, err)
	assert.True(t, w.Fits(h264))
	_, err = w.Append(ctx, av1, 0, 3)
	require.NoError(t, err)
	assert.False(t, w.Fits(h264))
	size := w.Size()
	_, err = w.Append(ctx, h264, 0, 3)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got h264 of 64x64 pixels, want av1 of 64x64 pixels")
	for _, bad := range [][2]int{{-1, 2}, {2, 2}, {0, av1.Len() + 1}} {
		_, err = w.Append(ctx, av1, bad[0], bad[1])
		var out *dataset.RangeError
		assert.ErrorAs(t, err, &out)
	}
	assert.Equal(t, size, w.Size(), "a refusal leaves the file as it was")
	require.NoError(t, w.Close())
}

func TestARateThatTablesDoNotHoldIsRefused(t *testing.T) {
	for _, rate := range []float64{0, -1, 1e-4, 1e7, math.NaN(), math.Inf(1)} {
		_, err := NewWriter(io.Discard, rate)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
}

func TestAFileWithoutFramesIsNotWritten(t *testing.T) {
	w, err := NewWriter(io.Discard, 30)
	require.NoError(t, err)
	assert.ErrorIs(t, w.Close(), dataset.ErrMissing)
}

// failing takes so many bytes.
type failing int

func (f *failing) Write(p []byte) (int, error) {
	if n := len(p); int(*f) >= n {
		*f -= failing(n)
		return n, nil
	}
	n := int(*f)
	*f = 0
	return n, errFull
}

var errFull = errors.New("full")

func TestAFailureToWriteVideoStays(t *testing.T) {
	v := openVideo(t, "testdata/av1.mp4")
	whole, _, _ := joined(t, 30, part{v, 0, v.Len()})
	for room := 0; room < len(whole); room += 97 {
		disk := failing(room)
		w, err := NewWriter(&disk, 30)
		if err == nil {
			_, err = w.Append(context.Background(), v, 0, v.Len())
		}
		if err == nil {
			err = w.Close()
		}
		require.ErrorIs(t, err, errFull)
		if w != nil {
			assert.ErrorIs(t, w.Close(), errFull)
		}
	}
}

func TestAppendingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, err := NewWriter(io.Discard, 30)
	require.NoError(t, err)
	v := openVideo(t, "testdata/av1.mp4")
	_, err = w.Append(ctx, v, 0, v.Len())
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, w.Close(), context.Canceled, "half a part is written")
}

// fullAfter takes so many writes, and reports a full disk at one of them.
type fullAfter struct{ n int }

func (f *fullAfter) Write(b []byte) (int, error) {
	if f.n--; f.n == 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// A disk that is full in the midst of a file is an error, at whichever write: also at the header before the frames.
func TestEachFailedWriteOfAMovieIsAnError(t *testing.T) {
	f, err := Open(filepath.Join("testdata", "late.mp4"))
	require.NoError(t, err)
	defer f.Close()
	track, err := f.Video()
	require.NoError(t, err)
	for n := 1; ; n++ {
		disk := &fullAfter{n}
		w, err := NewWriter(disk, 30)
		if err == nil {
			_, err = w.Append(context.Background(), track, 0, track.Len())
			err = errors.Join(err, w.Close())
		}
		if disk.n > 0 {
			require.NoError(t, err)
			require.Greater(t, n, 4)
			break
		}
		assert.ErrorIs(t, err, io.ErrShortWrite, "write %d", n)
	}
}

// A range of frames is closed if a file with them has no others: the first is at the beginning, and none is hidden.
func TestAClosedRangeIsAFileOfItsOwn(t *testing.T) {
	found := map[bool]int{}
	for _, name := range []string{"av1.mp4", "h264_back.mp4", "h264_open-gop.mp4"} {
		v := openVideo(t, filepath.Join("testdata", name))
		n := v.Len()
		for from := range n {
			for _, to := range []int{from + 1, from + 5, n - 1, n} {
				if to <= from || to > n {
					continue
				}
				w, err := NewWriter(io.Discard, 30)
				require.NoError(t, err)
				first, err := w.Append(context.Background(), v, from, to)
				require.NoError(t, err)
				closed := first == 0 && w.Len() == to-from
				found[closed]++
				require.Equal(t, closed, v.IsClosed(from, to), "%s: frames %d to %d", name, from, to)
			}
		}
		assert.False(t, v.IsClosed(0, n+1))
		assert.False(t, v.IsClosed(-1, n))
		assert.False(t, v.IsClosed(2, 2))
	}
	assert.Greater(t, min(found[true], found[false]), 10)
}
