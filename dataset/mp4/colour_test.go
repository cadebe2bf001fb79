package mp4

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// distance returns the largest and the mean difference between a video's first frames and those that ffmpeg converts to RGB itself.
func distance(t *testing.T, path string) (largest int, mean float64) {
	t.Helper()
	most := thorough.Of(100, 400)
	v := openVideo(t, path)
	out, err := exec.Command("ffmpeg", "-nostdin", "-loglevel", "error", "-i", path, "-map", "0:v:0", "-vsync", "0", "-frames:v", strconv.Itoa(most), "-f", "rawvideo", "-pix_fmt", "rgb24", "-").Output()
	require.NoError(t, err)
	sum, n := 0, len(out)
	for frame, err := range v.DecodeFrames(context.Background(), 0, min(most, v.Len())) {
		require.NoError(t, err)
		got, err := tensor.Data[uint8](frame)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(out), len(got))
		for i, x := range got {
			d := max(int(x), int(out[i])) - min(int(x), int(out[i]))
			largest, sum = max(largest, d), sum+d
		}
		out = out[len(got):]
	}
	require.Empty(t, out)
	return largest, float64(sum) / float64(n)
}

// made are videos with 10 frames that ffmpeg makes for a test. 8-bit 4:2:0 differs by at most 3 from ffmpeg's RGB, in the mean by 1. For
// 10 and 12 bits ffmpeg interpolates between chroma samples, which count for all their pixels here.
var made = map[string]struct {
	args    string
	largest int
	mean    float64
	seldom  bool // runs only with ROBOCACHE_LONG
}{
	"h264":         {"-c:v libx264 -pix_fmt yuv420p -bf 2", 3, 1, true},
	"odd av1":      {"-vf crop=65:47 -c:v libaom-av1 -cpu-used 8 -pix_fmt yuv420p", 3, 1, false},
	"odd vp9":      {"-vf crop=65:47 -c:v libvpx-vp9 -cpu-used 8 -pix_fmt yuv420p", 3, 1, true},
	"full range":   {"-vf scale=out_range=pc -c:v libx264 -pix_fmt yuvj420p -color_range pc", 3, 1, false},
	"bt709":        {"-vf scale=out_color_matrix=bt709 -c:v libx264 -pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709", 3, 1, false},
	"mpeg4":        {"-c:v mpeg4", 3, 1, true},
	"gray":         {"-c:v libx264 -pix_fmt gray", 3, 1, true},
	"gray av1":     {"-c:v libaom-av1 -cpu-used 8 -pix_fmt gray", 3, 1, false},
	"4:4:4":        {"-c:v libx264 -pix_fmt yuv444p", 3, 1, true},
	"4:4:4 full":   {"-vf crop=65:47,scale=out_range=pc -c:v libx264 -pix_fmt yuvj444p -color_range pc", 3, 1, false},
	"4:2:2":        {"-c:v libx264 -pix_fmt yuv422p", 3, 1, true},
	"odd 4:2:2":    {"-vf crop=65:47 -c:v libaom-av1 -cpu-used 8 -pix_fmt yuv422p -strict -2", 3, 1, false},
	"rgb":          {"-c:v libx264rgb -pix_fmt rgb24", 0, 0, false},
	"rgb vp9":      {"-c:v libvpx-vp9 -pix_fmt gbrp", 0, 0, true},
	"10 bit":       {"-vf crop=65:47 -c:v libaom-av1 -cpu-used 8 -pix_fmt yuv420p10le", 80, 3.5, false},
	"12 bit 4:2:2": {"-c:v libx265 -pix_fmt yuv422p12le -x265-params log-level=none", 4, 1.1, true},
	"12 bit 4:4:4": {"-c:v libx265 -pix_fmt yuv444p12le -x265-params log-level=none", 3, 1, true},
	"10 bit rgb":   {"-c:v libx265 -pix_fmt gbrp10le -x265-params log-level=none", 3, 1, true},
	"10 bit gray":  {"-c:v libx265 -pix_fmt gray10le -x265-params log-level=none", 3, 1, true},
}

func TestColoursAreThoseOfFFmpeg(t *testing.T) {
	needFFmpeg(t)
	check := func(t *testing.T, path string, largest int, mean float64) {
		gotLargest, gotMean := distance(t, path)
		t.Logf("at most %d, in the mean %.3f", gotLargest, gotMean)
		assert.LessOrEqual(t, gotLargest, largest)
		assert.LessOrEqual(t, gotMean, mean)
	}
	for name, c := range made {
		if c.seldom && !thorough.Long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "v.mp4")
			args := append([]string{"-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=0.4"}, strings.Fields(c.args)...)
			if text, err := exec.Command("ffmpeg", append(args, path)...).CombinedOutput(); err != nil {
				t.Skip("ffmpeg is not here with this encoder: ", string(text))
			}
			check(t, path, c.largest, c.mean)
		})
	}
	for _, pattern := range []string{"lerobot_v3_g1/videos/*/*/*.mp4", "lerobot_studio/*/videos/*/*/*.mp4", "lerobot_studio/*/videos/*/*/*/*.mp4"} {
		found, err := filepath.Glob(filepath.Join(sharedData, pattern))
		require.NoError(t, err)
		for _, path := range found[:min(len(found), thorough.Of(1, len(found)))] {
			t.Run(path, func(t *testing.T) { check(t, path, 3, 1) })
		}
	}
}
