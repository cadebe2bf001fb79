package mp4

import (
	"context"
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

// starts returns the first frames of a track's groups, after it has checked that each frame's group is the same.
func starts(t *testing.T, v *Track) (list []int) {
	t.Helper()
	for i := 0; i < v.Len(); {
		from, to, err := v.Group(t.Context(), i)
		require.NoError(t, err)
		require.Equal(t, i, from)
		require.Greater(t, to, from)
		for ; i < to; i++ {
			a, b, err := v.Group(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, []int{from, to}, []int{a, b})
		}
		list = append(list, from)
	}
	return list
}

// Groups begin at the key frames that ffprobe reports. After a recovery point of h264, ffmpeg may leave pictures out.
func TestGroupsBeginAtKeyFrames(t *testing.T) {
	frames, names := golden(t)
	for _, name := range names {
		v, want := openVideo(t, filepath.Join("testdata", name)), []int{0}
		for i, line := range frames[name][1:] {
			recovers := name == "h264_open-gop.mp4" || name == "h264_intra-refresh.mp4"
			if strings.HasSuffix(line, "K") && !recovers {
				want = append(want, i+1)
			}
		}
		groups := starts(t, v)
		assert.Equal(t, want, groups, name)
		packets := 0
		for i, from := range groups {
			list := video.Numbers(from, append(groups, v.Len())[i+1])
			r := v.plan(list)
			packets += len(r.samples)
			assert.True(t, from == 0 || r.index[0] == v.order[from], "decoding begins with the group's key frame")
		}
		// A key frame that follows the group in the order of presentation comes before the group's last pictures.
		assert.LessOrEqual(t, packets, len(v.samples)+len(groups)-1, name)
		if name != "mpeg4.mp4" && name != "hevc_open.mp4" {
			assert.LessOrEqual(t, packets, len(v.samples), name)
		}
	}
}

func TestGroupsOfOtherTracks(t *testing.T) {
	vp9 := *openVideo(t, "testdata/vp9.mp4")
	vp9.samples = slices.Clone(vp9.samples)
	for i := range vp9.samples {
		vp9.samples[i].key = true
	}
	assert.Equal(t, video.Numbers(0, 24), starts(t, &vp9), "each frame is a key frame")
	back := openVideo(t, "testdata/h264_back.mp4")
	cut := late(back, 3)
	assert.Equal(t, []int{0, cut.Len() - 16, cut.Len() - 8}, starts(t, cut), "the first frames have no key frame")
	swapped := *back
	swapped.order = append(slices.Clone(back.order[12:]), back.order[:12]...)
	assert.Equal(t, []int{0, 4, 12, 20}, starts(t, &swapped), "the edit list goes back")
	var out *dataset.RangeError
	_, _, err := back.Group(t.Context(), 24)
	assert.ErrorAs(t, err, &out)
	assert.ErrorAs(t, back.Planes(t.Context(), []int{3, 24}, "", nil), &out)
	assert.ErrorAs(t, back.Planes(t.Context(), []int{-1}, "", nil), &out)
}

// rgbOf decodes frames by planes.
func rgbOf(t *testing.T, v *Track, frames []int) (all []byte) {
	t.Helper()
	for frame, err := range video.Decode(t.Context(), frames, v.Planes) {
		require.NoError(t, err)
		b, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		all = append(all, b...)
	}
	return all
}

// Planes of groups, and of frames with gaps, are the pictures that ffmpeg decodes of the whole file.
func TestPlanesAreThoseOfFFmpeg(t *testing.T) {
	needFFmpeg(t)
	_, names := golden(t)
	short := []string{"cut.mp4", "h264_open-gop.mp4", "hevc_open.mp4", "inside.mp4", "negative.mp4"}
	for _, name := range names {
		if !thorough.Long && !slices.Contains(short, name) {
			continue
		}
		path := filepath.Join("testdata", name)
		v, want := openVideo(t, path), plainly(t, path)
		size := len(want) / v.Len()
		var all []byte
		for from, to := 0, 0; from < v.Len(); from = to {
			var err error
			_, to, err = v.Group(t.Context(), from)
			require.NoError(t, err)
			all = append(all, rgbOf(t, v, video.Numbers(from, to))...)
		}
		require.Equal(t, want, all, name)
		frames, some := []int{1, 2, v.Len() / 2, v.Len() - 1}, []byte(nil)
		frames = slices.Compact(slices.DeleteFunc(frames, func(i int) bool { return i >= v.Len() }))
		for _, i := range frames {
			some = append(some, want[i*size:(i+1)*size]...)
		}
		require.Equal(t, some, rgbOf(t, v, frames), name)
	}
}

func TestPlanesOfFramesFarApart(t *testing.T) {
	needFFmpeg(t)
	v := openVideo(t, shared(t, "lerobot_v3_g1/videos/observation.images.front/chunk-000/file-000.mp4"))
	frames := []int{0, 3, 101, 102, 900, v.Len() - 1}
	i := 0
	for frame, err := range video.Decode(t.Context(), frames, v.Planes) {
		require.NoError(t, err)
		assert.Equal(t, frames[i], spelled(t, frame))
		i++
	}
	assert.Len(t, frames, i)
}

// lostOf returns the frames with an error from Planes, after it has checked that DecodeFrames has the same errors.
func lostOf(t *testing.T, v *Track) (lost []int) {
	t.Helper()
	n, i := 0, 0
	require.NoError(t, v.Planes(context.Background(), video.Numbers(0, v.Len()), "", func(number int64, p *video.Planes, err error) error {
		n++
		if err != nil {
			assert.Nil(t, p)
			lost = append(lost, int(number))
		}
		return nil
	}))
	assert.Equal(t, v.Len(), n)
	slices.Sort(lost)
	for _, err := range v.DecodeFrames(context.Background(), 0, v.Len()) {
		assert.Equal(t, slices.Contains(lost, i), err != nil, "frame %d", i)
		i++
	}
	assert.Equal(t, v.Len(), i)
	return lost
}

func TestFramesFollowADamagedOneAndALostOne(t *testing.T) {
	needFFmpeg(t)
	data := filetest.Read(t, "testdata/h264_back.mp4")
	whole := openVideo(t, "testdata/h264_back.mp4")
	s := whole.samples[12]
	clear(data[s.at:][:s.size])
	v, err := open(data)
	require.NoError(t, err)
	damaged := lostOf(t, v)
	require.NotEmpty(t, damaged)
	assert.GreaterOrEqual(t, damaged[0], 8)
	assert.Less(t, damaged[len(damaged)-1], 16)

	frame := slices.Index(whole.order, 12)
	cut := *whole
	cut.samples = slices.Clone(whole.samples)
	cut.samples[12].size = 0
	cut.order, cut.ticks = slices.Delete(slices.Clone(whole.order), frame, frame+1), slices.Delete(slices.Clone(whole.ticks), frame, frame+1)
	lost := lostOf(t, &cut)
	require.NotEmpty(t, lost)
	assert.GreaterOrEqual(t, lost[0], 8)
	assert.Less(t, lost[len(lost)-1], 15)
}
