package mp4

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// golden returns what ffprobe says of the frames of each file in testdata, and the files' names.
func golden(t testing.TB) (frames map[string][]string, names []string) {
	t.Helper()
	text := filetest.Read(t, "testdata/golden.txt")
	frames = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if frames[name] == nil {
			names = append(names, name)
		}
		frames[name] = append(frames[name], rest)
	}
	require.Len(t, names, 19)
	return frames, names
}

func TestFramesAreWhereAndWhenFFprobeSays(t *testing.T) {
	want, names := golden(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			v := openVideo(t, filepath.Join("testdata", name))
			var got []string
			for i := range v.Len() {
				ticks, scale := v.Time(i)
				s, key := v.samples[v.order[i]], "-"
				if v.Key(i) {
					key = "K"
				}
				got = append(got, fmt.Sprint(ticks, " ", scale, " ", s.at, " ", s.size, " ", key))
			}
			assert.Equal(t, want[name], got)
			assert.Empty(t, v.Notes.Damage())
			assert.Equal(t, []int{64, 64}, []int{v.Width, v.Height})
			assert.NotEmpty(t, v.Config)
		})
	}
}

func TestATrackSaysItsCodec(t *testing.T) {
	for name, codec := range map[string]string{"h264_back.mp4": "h264", "sound.mov": "h264", "hevc_open.mp4": "hevc", "av1.mp4": "av1", "vp9.mp4": "vp9", "mpeg4.mp4": "mpeg4"} {
		assert.Equal(t, codec, openVideo(t, filepath.Join("testdata", name)).Codec, name)
	}
}

func TestFramesThatTheEditListCutsOffAreCounted(t *testing.T) {
	// cut.mp4 begins a frame behind a key frame; negative.mp4 three behind; the others show all.
	for name, hidden := range map[string]int{"h264_back.mp4": 0, "inside.mp4": 12, "cut.mp4": len(openVideo(t, "testdata/cut.mp4").samples) - 15} {
		v := openVideo(t, filepath.Join("testdata", name))
		assert.Equal(t, hidden, v.Hidden, name)
		assert.Equal(t, len(v.samples), v.Hidden+v.Len(), name)
	}
	assert.Positive(t, openVideo(t, "testdata/cut.mp4").Hidden)
}

func TestTimesAreRoundedFromTheExactFraction(t *testing.T) {
	v := openVideo(t, "testdata/sound.mov") // 30000/1001 frames a second
	_, scale := v.Time(0)
	require.Equal(t, uint32(30000), scale)
	for i, ns := range v.Times() {
		assert.Equal(t, (int64(i)*1001*1e9*2+30000)/(2*30000), ns)
	}
	for _, c := range []struct {
		v        int64
		mul, div uint64
		want     int64
		ok       bool
	}{
		{1, 1, 2, 1, true}, {-1, 1, 2, -1, true}, {1, 1, 3, 0, true}, {2, 1, 3, 1, true}, {-2, 1, 3, -1, true},
		{1 << 61, 1e9, 1e9, 1 << 61, true}, {1 << 62, 1, 1, maxTime, false}, {1 << 40, 1e9, 1, maxTime, false}, {-1 << 63, 1e9, 1, -maxTime, false},
	} {
		got, ok := rescale(c.v, c.mul, c.div)
		assert.Equal(t, c.want, got, "%v", c)
		assert.Equal(t, c.ok, ok, "%v", c)
	}
}

func TestNearestIsTheNearestFrame(t *testing.T) {
	v := openVideo(t, "testdata/late.mp4") // 0.5 s and then each 1/30 s
	for _, c := range []struct {
		ns    int64
		frame int
		off   int64
	}{
		{0, 0, 5e8}, {5e8, 0, 0}, {516666666, 0, -16666666}, {516666667, 1, 16666666}, {533333333, 1, 0}, {533333334, 1, -1}, {1e12, 23, 500e6 + 766666667 - 1e12},
	} {
		frame, off := v.Nearest(c.ns)
		assert.Equal(t, []int64{int64(c.frame), c.off}, []int64{int64(frame), off}, "%d", c.ns)
	}
	frame, off := new(Track).Nearest(1)
	assert.Equal(t, []int64{-1, 0}, []int64{int64(frame), off})
}

func TestAFrameIsTheBytesOfTheFile(t *testing.T) {
	data := filetest.Read(t, "testdata/joined.mp4")
	f, err := NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	v, err := f.Video()
	require.NoError(t, err)
	for i := 30; i < 40; i++ {
		s := v.samples[v.order[i]]
		b, err := v.ReadFrame(context.Background(), i)
		require.NoError(t, err)
		assert.Equal(t, data[s.at:s.at+int64(s.size)], b)
	}
	var r *dataset.RangeError
	_, err = v.ReadFrame(context.Background(), -1)
	assert.ErrorAs(t, err, &r)
	_, err = v.ReadFrame(context.Background(), 72)
	assert.ErrorAs(t, err, &r)
	stopped, stop := context.WithCancel(context.Background())
	stop()
	_, err = v.ReadFrame(stopped, 0)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAClosedFileSaysSo(t *testing.T) {
	f, err := Open("testdata/av1.mp4")
	require.NoError(t, err)
	v, err := f.Video()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.NoError(t, f.Close())
	_, err = v.ReadFrame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestAFragmentedFileIsRefusedByName(t *testing.T) {
	_, err := Open("testdata/fragmented.mp4")
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "fragmented")
}

// deep has the bits a channel where they are not 8.
var deep = map[string]int{"deep_h264.mp4": 10, "deep_hevc.mp4": 12, "deep_av1.mp4": 10, "deep_vp9.mp4": 12}

func TestATrackHasItsBitsAChannel(t *testing.T) {
	_, names := golden(t)
	for _, name := range names {
		bits := 8
		if b, ok := deep[name]; ok {
			bits = b
		}
		if name == "mpeg4.mp4" {
			bits = 0
		}
		assert.Equal(t, bits, openVideo(t, filepath.Join("testdata", name)).Bits, name)
	}
	for n := range 40 { // what is cut off says nothing
		for _, kind := range []string{"avcC", "hvcC", "av1C", "vpcC"} {
			assert.LessOrEqual(t, bitsOf(kind, bytes.Repeat([]byte{1}, n)), 9)
		}
	}
}

func TestOtherTracksAreListed(t *testing.T) {
	v := openVideo(t, "testdata/sound.mov")
	require.Len(t, v.Notes, 1)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeOtherTrack, Subject: "track 1", Count: 1, Detail: dataset.Detail{Got: "soun"}}}, v.Notes)
}

// plainly decodes a file with 64x64 pixels in 4:2:0 by ffmpeg alone, to RGB by the project's colour rule.
func plainly(t *testing.T, path string) []byte {
	t.Helper()
	p, format, size := video.Planes{Width: 64, Height: 64, Bits: 8, Layout: video.YUV420, Matrix: 2, Stride: [3]int{64, 32, 32}}, "yuv420p", 64*64
	if bits, ok := deep[filepath.Base(path)]; ok {
		p.Bits, p.Stride, format, size = bits, [3]int{128, 64, 64}, fmt.Sprintf("yuv420p%dle", bits), 2*64*64
	}
	out, err := exec.Command("ffmpeg", "-nostdin", "-loglevel", "error", "-i", path, "-map", "0:v:0", "-vsync", "0", "-f", "rawvideo", "-pix_fmt", format, "-").Output()
	require.NoError(t, err)
	var all []byte
	for ; len(out) > 0; out = out[size/2:] {
		p.Data[0], out = out[:size], out[size:]
		p.Data[1], p.Data[2] = out[:size/4], out[size/4:size/2]
		frame, err := p.RGB()
		require.NoError(t, err)
		rgb, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		all = append(all, rgb...)
	}
	return all
}

func TestDecodedFramesAreThoseOfFFmpeg(t *testing.T) {
	needFFmpeg(t)
	ctx := context.Background()
	_, names := golden(t)
	repeated := []string{"h264_front.mp4", "late.mp4", "no_edit.mp4"} // other times and places, which other tests check, for h264_back.mp4's kind of frames
	for _, name := range names {
		if !thorough.Long && slices.Contains(repeated, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			v, want := openVideo(t, path), plainly(t, path)
			size := len(want) / v.Len()
			require.Equal(t, 3*64*64, size)
			check := func(from, to int) {
				i := from
				for frame, err := range v.DecodeFrames(ctx, from, to) {
					require.NoError(t, err)
					got, err := tensor.Data[uint8](frame)
					require.NoError(t, err)
					require.True(t, slices.Equal(want[i*size:(i+1)*size], got), "frame %d of [%d,%d)", i, from, to)
					i++
				}
				assert.Equal(t, to, i)
			}
			check(0, v.Len())
			step := thorough.Of(31, 11)
			if strings.Contains(name, "open") || strings.Contains(name, "refresh") {
				step = thorough.Of(13, 3) // key frames that do not do for all that follow
			}
			for from := 1; from < v.Len(); from += step {
				check(from, min(from+2, v.Len()))
			}
		})
	}
}

// late returns a track without its first n samples.
func late(v *Track, n int) *Track {
	cut := *v
	cut.samples = v.samples[n:]
	cut.order, cut.ticks = nil, nil
	for i, s := range v.order {
		if int(s) >= n {
			cut.order, cut.ticks = append(cut.order, s-int32(n)), append(cut.ticks, v.ticks[i])
		}
	}
	return &cut
}

// A file may begin where h264 merely recovers. Samples that are shown before the first one stay, because frame numbers would have a gap.
func TestSamplesAfterARecoveryPointAreNotLeftOut(t *testing.T) {
	for name, first := range map[string]int{"h264_open-gop.mp4": 5, "hevc_open.mp4": -1} {
		v := openVideo(t, filepath.Join("testdata", name))
		for n := 1; first < 0; n++ {
			if v.samples[n].key {
				first = n
			}
		}
		cut := late(v, first)
		key := slices.Index(cut.order, 0)
		require.Positive(t, key, "%s: the first sample is not shown first", name)
		r := cut.plan([]int{key + 1})
		assert.Equal(t, cut.samples[0], r.samples[0], name)
		assert.Equal(t, v.Codec == "h264", slices.Contains(r.samples, cut.samples[1]), name)
	}
}
