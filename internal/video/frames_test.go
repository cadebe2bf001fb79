package video

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// packets are those of a video in memory.
type packets [][]byte

func (p packets) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(p[i]), nil }

func (p packets) frames(codec string) *Frames {
	return &Frames{FrameSource: p, Name: "/video", Codec: codec, Count: len(p), Packet: func(_ context.Context, i int) (uint32, bool, error) {
		return uint32(len(p[i])), Begins(codec, p[i]), nil
	}}
}

// encoded has the videos that encode made, by codec.
var encoded = map[string]packets{}

// encode returns 24 frames with a key frame each 8, encoded by ffmpeg. Frame i is grey of the level 10*i. A test must not write to a packet.
func encode(t *testing.T, codec string) packets {
	t.Helper()
	if encoded[codec] != nil {
		return slices.Clone(encoded[codec])
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	args := map[string][]string{
		"h264": {"-c:v", "libx264", "-bf", "0", "-x264-params", "keyint=8:min-keyint=8:scenecut=0:repeat-headers=1:aud=1", "-f", "h264"},
		"h265": {"-c:v", "libx265", "-x265-params", "log-level=none:bframes=0:keyint=8:min-keyint=8:scenecut=0:repeat-headers=1:aud=1:open-gop=0", "-f", "hevc"},
		"vp9":  {"-c:v", "libvpx-vp9", "-g", "8", "-lag-in-frames", "0", "-f", "ivf"},
		"av1":  {"-c:v", "libaom-av1", "-g", "8", "-cpu-used", "8", "-lag-in-frames", "0", "-f", "ivf"},
	}[codec]
	out := filepath.Join(t.TempDir(), "out")
	args = append([]string{"-loglevel", "error", "-f", "lavfi", "-i", "color=black:size=64x48:rate=24:duration=1,format=gray,geq=lum=10*N,format=yuv420p"}, append(args, out)...)
	if text, err := exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
		t.Skip("ffmpeg is not here with an encoder of ", codec, ": ", string(text))
	}
	b := filetest.Read(t, out)
	var list packets
	if args[len(args)-2] == "ivf" {
		for b = b[32:]; len(b) > 0; {
			size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
			list, b = append(list, b[12:12+size]), b[12+size:]
		}
	} else {
		delimiter := map[string][]byte{"h264": {0, 0, 0, 1, 9}, "h265": {0, 0, 0, 1, 70}}[codec]
		for _, part := range bytes.Split(b, delimiter)[1:] {
			list = append(list, append(bytes.Clone(delimiter), part...))
		}
	}
	require.Len(t, list, 24)
	encoded[codec] = list
	return slices.Clone(list)
}

// ffmpeg skips zeros in AV1, and decodes later pictures from wrong references.
func TestAHoleBeforeAFrameIsAnError(t *testing.T) {
	for _, codec := range []string{"h264", "h265", "av1"} {
		intact := encode(t, codec)
		for hole := 0; hole < 7; hole += thorough.Of(3, 1) {
			v := slices.Clone(intact)
			v[hole] = make([]byte, len(v[hole]))
			_, err := first(v.frames(codec), 7)
			assert.Error(t, err, "%s without packet %d", codec, hole)
		}
	}
}

func level(t *testing.T, frame *tensor.Tensor) int {
	t.Helper()
	require.Equal(t, []int{48, 64, 3}, frame.Shape())
	b, err := tensor.Data[uint8](frame)
	require.NoError(t, err)
	return int(b[3*(64*20+30)])
}

func TestEveryPacketsPictureIsItsOwn(t *testing.T) {
	for _, codec := range []string{"h264", "h265", "vp9", "av1"} {
		t.Run(codec, func(t *testing.T) {
			v := encode(t, codec)
			for i, p := range v {
				require.Equal(t, i%8 == 0, Begins(codec, p), "%s frame %d", codec, i)
			}
			for _, r := range [][2]int{{0, 24}, {9, 20}, {23, 24}, {0, 1}, {7, 8}, {16, 17}}[:thorough.Of(3, 6)] {
				i := r[0]
				for frame, err := range v.frames(codec).DecodeFrames(context.Background(), r[0], r[1]) {
					require.NoError(t, err)
					assert.InDelta(t, 10*i, level(t, frame), 4, "%s frame %d", codec, i)
					i++
				}
				assert.Equal(t, r[1], i)
			}
		})
	}
}

func TestAVideoThatBeginsBetweenKeyFramesLosesThoseBeforeTheFirst(t *testing.T) {
	v := encode(t, "h264")
	late := v[3:]
	_, err := first(late.frames("h264"), 4)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorContains(t, err, "frame 4 of /video (h264): truncated: got no key frame before it")
	frame, err := first(late.frames("h264"), 5)
	require.NoError(t, err)
	assert.InDelta(t, 80, level(t, frame), 4)
	_, err = first(v[1:8].frames("h264"), 4)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "no key frame among its 7")
	changed := v.frames("h264")
	changed.Packet = func(context.Context, int) (uint32, bool, error) { return 7, true, nil }
	_, err = first(changed, 0)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "want 7, as when the recording was opened")
}

func first(f *Frames, i int) (*tensor.Tensor, error) {
	for frame, err := range f.DecodeFrames(context.Background(), i, i+1) {
		return frame, err
	}
	return nil, fmt.Errorf("nothing")
}

func TestAVideoWithoutTheProgramOrARangeIsAnError(t *testing.T) {
	f := packets{{0, 0, 1, 0x67, 1, 0, 0, 1, 0x65, 2}}.frames("h264")
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	_, err := first(f, 0)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "decode frame 0 of /video (h264): not supported: got no program ffmpeg, want it in PATH, or its path in ROBOCACHE_FFMPEG")
	var r *dataset.RangeError
	for _, i := range []int{-1, 1} {
		_, err = first(f, i)
		assert.ErrorAs(t, err, &r)
	}
}

func TestWhereDecodingCanBegin(t *testing.T) {
	for _, c := range []struct {
		codec  string
		packet []byte
		want   bool
	}{
		{"h264", []byte{0, 0, 0, 1, 9, 16, 0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 0}, true},
		{"h264", []byte{0, 0, 1, 0x67, 1, 0, 0, 1, 0x61, 0}, false}, // no IDR
		{"h264", []byte{0, 0, 1, 0x65, 1}, false},                   // no parameters
		{"h264", []byte{0, 0, 1, 0x67, 1}, true},                    // parameters in a packet of their own
		{"h264", []byte{0, 0, 0, 5, 0x65, 1, 2, 3, 4}, false},       // lengths
		{"h264", nil, false},
		{"h264", []byte{0, 0, 1}, false},
		{"h265", []byte{0, 0, 1, 33 << 1, 1, 0, 0, 1, 20 << 1, 1}, true},
		{"hevc", []byte{0, 0, 1, 33 << 1, 1, 0, 0, 1, 21 << 1, 1}, true},
		{"h265", []byte{0, 0, 1, 33 << 1, 1, 0, 0, 1, 1 << 1, 1}, false},
		{"av1", []byte{0x12, 0, 0x0a, 2, 0, 0, 0x32, 1, 0}, true},
		{"av1", []byte{0x12, 0, 0x32, 1, 0}, false},
		{"av1", []byte{0x12, 200}, false},
		{"av1", []byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, false},
		{"vp9", []byte{0x82}, true},
		{"vp9", []byte{0x86}, false},
		{"vp9", []byte{0xb0}, true},
		{"vp9", []byte{0x42}, false},
		{"mpeg4", []byte{0}, false},
	} {
		assert.Equal(t, c.want, Begins(c.codec, c.packet), "%s % x", c.codec, c.packet)
	}
	assert.True(t, Decodes("h264"))
	assert.False(t, Decodes("jpeg"))
}
