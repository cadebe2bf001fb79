package dav1d

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// The planes of a LeRobot video equal those from ffmpeg's decoders: libdav1d, and libaom, which shares no code with it.
func TestPlanesOfARecordedVideo(t *testing.T) {
	lib := real(t)
	const path = "../../../shared/data/lerobot_v3_g1/videos/observation.images.wrist/chunk-000/file-000.mp4"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	f, err := mp4.Open(path)
	require.NoError(t, err)
	defer f.Close()
	v, err := f.Video()
	require.NoError(t, err)
	count := thorough.Of(400, v.Len())
	d, err := newDecoder(lib, v.Config)
	require.NoError(t, err)
	var all []byte
	next := int64(0)
	show := func(number int64, p *video.Planes, err error) error {
		require.Equal(t, next, number)
		next++
		all = rows(all, p)
		return err
	}
	for i := range count {
		packet, err := v.ReadFrame(t.Context(), i)
		require.NoError(t, err)
		require.NoError(t, d.Decode(packet, int64(i), show))
	}
	require.NoError(t, d.Flush(show))
	require.NoError(t, d.Close())
	require.EqualValues(t, count, next)
	compared := 0
	for _, decoder := range []string{"libdav1d", "libaom-av1"} {
		args := []string{"-nostdin", "-v", "error", "-c:v", decoder, "-i", path, "-frames:v", strconv.Itoa(count), "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"}
		want, err := exec.Command("ffmpeg", args...).Output()
		if err == nil {
			assert.True(t, bytes.Equal(want, all), decoder)
			compared++
		}
	}
	if compared == 0 {
		t.Skip("ffmpeg is not here with a decoder")
	}
}

// list decodes frames from to to-1.
func (s stream) list(t testing.TB, from, to int) (list [][]uint8) {
	t.Helper()
	for frame, err := range s.frames().DecodeFrames(t.Context(), from, to) {
		require.NoError(t, err)
		b, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		list = append(list, b)
	}
	return list
}

// Random requests give the frames from a sequential decoding.
func TestRandomFrames(t *testing.T) {
	real(t)
	absent(t, false, true)
	for _, name := range []string{"8bit", "odd", "10bit", "422", "gray", "grain"} {
		s := stream(packets(t, name))
		want := s.list(t, 0, len(s))
		random := rand.New(rand.NewPCG(13, 14))
		for range thorough.Of(100, 10000) {
			from := random.IntN(len(s))
			to := from + 1 + random.IntN(min(3, len(s)-from))
			got := s.list(t, from, to)
			require.Len(t, got, to-from)
			for i := range got {
				require.True(t, bytes.Equal(want[from+i], got[i]), "%s: frame %d in %d to %d", name, from+i, from, to)
			}
		}
	}
}

// resident returns the bytes of the process in memory.
func resident(t testing.TB) int64 {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("libdav1d is here, and no /proc: ", err)
	}
	var all, pages int64
	_, err = fmt.Sscan(string(b), &all, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// An open decoder has about 0.5 MB.
func TestDecodersLeaveNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	lib, list := real(t), packets(t, "8bit")
	stop := errors.New("stop")
	once := func(end int) {
		d, err := newDecoder(lib, nil)
		require.NoError(t, err)
		for i, packet := range list {
			switch {
			case end == 1 && i == 2: // the caller ends it
				require.ErrorIs(t, d.Decode(packet, int64(i), func(int64, *video.Planes, error) error { return stop }), stop)
			case end == 2 && i == 2: // damage ends it
				require.Error(t, d.Decode(packets(t, "8bit")[0][:100], int64(i), func(int64, *video.Planes, error) error { return nil }))
			default:
				require.NoError(t, d.Decode(packet, int64(i), func(int64, *video.Planes, error) error { return nil }))
				continue
			}
			break
		}
		require.NoError(t, d.Close())
	}
	for i := range 30 {
		once(i % 3)
	}
	before, goroutines := resident(t), runtime.NumGoroutine()
	for i := range 100 {
		once(i % 3)
	}
	assert.Less(t, resident(t)-before, int64(4<<20), "bytes")
	assert.Equal(t, goroutines, runtime.NumGoroutine())
}
