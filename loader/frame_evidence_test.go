package loader_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// footage is a video that ffmpeg decodes: its shown frames, as rgb24, and their times in seconds.
type footage struct {
	height, width int
	frames        [][]byte
	times         []float64
}

// ffmpegOutput runs ffmpeg or ffprobe, and returns its standard output.
func ffmpegOutput(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-v", "error"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return out
}

// decoded has the shared videos that decodeAll decoded, by path.
var decoded sync.Map

// decodeAll decodes a whole video from its beginning, without a seek.
func decodeAll(t *testing.T, path string) *footage {
	t.Helper()
	if f, is := decoded.Load(path); is {
		return f.(*footage)
	}
	lines := strings.Fields(string(ffmpegOutput(t, "ffprobe", "-select_streams", "v:0", "-show_entries", "stream=width,height:packet=pts_time,flags", "-of", "csv=p=0", path)))
	f := &footage{}
	n := len(lines) - 1
	_, err := fmt.Sscanf(lines[n], "%d,%d", &f.width, &f.height)
	require.NoError(t, err)
	for _, line := range lines[:n] {
		text, flags, _ := strings.Cut(line, ",")
		at, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		if !strings.Contains(flags, "D") { // cut by an edit list
			f.times = append(f.times, at)
		}
	}
	slices.Sort(f.times)
	out := ffmpegOutput(t, "ffmpeg", "-i", path, "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
	f.frames = slices.Collect(slices.Chunk(out, f.height*f.width*3))
	require.Len(t, f.frames, len(f.times))
	decoded.Store(path, f)
	return f
}

// frame returns a frame at another size.
func (f *footage) frame(t *testing.T, i, height, width int) []byte {
	t.Helper()
	out := make([]byte, height*width*3)
	require.NoError(t, dataset.Resize(tensor.Must(tensor.Of(out, height, width, 3)), tensor.Must(tensor.Of(f.frames[i], f.height, f.width, 3))))
	return out
}

// near returns the frame nearest to a time, and how far it is.
func (f *footage) near(at float64) (frame int, off float64) {
	off = math.Inf(1)
	for i, x := range f.times {
		if d := math.Abs(x - at); d < off-1e-9 {
			frame, off = i, d
		}
	}
	return frame, off
}

// oracle has a camera's expected frames.
type oracle struct {
	name    string
	times   func(episode int) []int64 // when each frame was recorded
	picture func(episode, frame, height, width int) []byte
	nearest bool // the method; else previous
	within  int  // levels by which pixels may differ
}

// checkWindows draws windows, and compares every frame with its oracle's. It returns how many frames were compared, and the greatest
// difference.
func checkWindows(t *testing.T, l *loader.Loader, windows int, deltas []int64, cameras []oracle) (compared, most int) {
	t.Helper()
	ctx := context.Background()
	for n := 0; n < windows; {
		require.NoError(t, l.Next(ctx))
		b, err := l.Batch().Host(ctx)
		require.NoError(t, err)
		anchors := data[int64](t, b.Anchors)
		for row, e := range data[int64](t, b.Episodes) {
			if e < 0 {
				continue
			}
			n++
			_, number := l.Known(e)
			for c, cam := range b.Cameras {
				o := cameras[c]
				require.Equal(t, len(deltas), cam.Frames.Dim(1))
				times := o.times(number)
				size := cam.Frames.Dim(2) * cam.Frames.Dim(3) * 3
				frames, valid := data[uint8](t, cam.Frames), data[uint8](t, cam.Valid)
				for k, delta := range deltas {
					place := row*len(deltas) + k
					at := anchors[row] + delta
					where := fmt.Sprintf("%s, episode %d, at %d ns", o.name, number, at)
					if len(times) == 0 {
						require.Zero(t, valid[place], where)
						continue
					}
					source, isPad := sampleAt(times, at, o.nearest)
					got, want := frames[place*size:(place+1)*size], o.picture(number, source, cam.Frames.Dim(2), cam.Frames.Dim(3))
					require.Equal(t, !isPad, valid[place] == 1, where)
					for i := range got {
						off := max(got[i], want[i]) - min(got[i], want[i])
						if most = max(most, int(off)); most > o.within {
							require.LessOrEqual(t, int(off), o.within, "%s: row %d, byte %d", where, source, i)
						}
					}
					compared++
				}
			}
		}
	}
	return compared, most
}

// sampleAt returns the sample for a time by the method previous or nearest, and whether the time is outside the samples. A sample up to a
// microsecond later counts as at the time.
func sampleAt(times []int64, at int64, nearest bool) (sample int, outside bool) {
	const snap = 1000
	for i, x := range times {
		switch {
		case nearest && abs(x-at) < abs(times[sample]-at):
			sample = i
		case !nearest && x <= at+snap:
			sample = i
		}
	}
	return sample, at < times[0]-snap || at > times[len(times)-1]+snap
}

// sharedData returns the folder of a shared recording, or skips the test without it or without ffmpeg.
func sharedData(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", path)
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	return path
}

// spelled returns the number that a picture of lerobot_v3_g1 spells: a bit for each of 16 cells of 8x16 pixels.
func spelled(picture []byte) (n int) {
	for b := range 16 {
		if picture[((b/8*16+8)*64+b%8*8+4)*3] > 128 {
			n |= 1 << b
		}
	}
	return n
}

// Each frame in a batch from a LeRobot dataset equals ffmpeg's, which decodes the file from its begin. The pictures spell their numbers.
// Other videos with the same pictures drift, end early, have varying rates, B-frames or open groups.
func TestBatchesHaveTheFramesOfLeRobotsRule(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	recording := sharedData(t, "lerobot_v3_g1")
	const fps, front = 30, "observation.images.front"
	h264 := []string{"-c:v", "libx264", "-preset", "ultrafast", "-crf", "20"}
	for k, c := range []struct {
		name, backend string
		args          []string // of ffmpeg, which makes the video; none for the recorded one
	}{
		{"recorded", "", nil},
		{"recorded", "pyav", nil},
		{"recorded", "torchcodec", nil},
		{"frames in another order", "", append(h264, "-bf", "3", "-b_strategy", "0", "-g", "24")},
		{"open groups", "", append(h264, "-bf", "3", "-b_strategy", "0", "-g", "18", "-x264-params", "open-gop=1")},
		{"open groups of HEVC", "", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:open-gop=1:bframes=4:keyint=20", "-tag:v", "hvc1"}},
		{"drifted", "", append(h264, "-vf", "settb=1/90000,setpts=PTS*1.0002", "-vsync", "vfr", "-enc_time_base", "1/90000", "-video_track_timescale", "90000")},
		{"far drifted", "", append(h264, "-vf", "settb=1/90000,setpts=PTS*1.0213", "-vsync", "vfr", "-enc_time_base", "1/90000", "-video_track_timescale", "90000", "-g", "40")},
		{"shorter than its table", "", append(h264, "-frames:v", "1100")},
		{"varying rate", "", append(h264, "-vf", "settb=1/90000,setpts=(N+0.3*sin(N))/30/TB", "-vsync", "vfr", "-enc_time_base", "1/90000", "-video_track_timescale", "90000", "-bf", "2")},
		{"varying rate", "pyav", append(h264, "-vf", "settb=1/90000,setpts=(N+0.3*sin(N))/30/TB", "-vsync", "vfr", "-enc_time_base", "1/90000", "-video_track_timescale", "90000")},
	} {
		if !thorough.Long && (c.name != "recorded" && c.name != "varying rate" || c.backend != "") {
			continue
		}
		t.Run(c.name+" "+c.backend, func(t *testing.T) {
			ctx := context.Background()
			dir, recorded := recording, videosOf(t, recording, front)
			if c.args != nil {
				dir = filepath.Join(t.TempDir(), "set")
				require.NoError(t, os.CopyFS(dir, os.DirFS(recording)))
				for i, path := range videosOf(t, dir, front) {
					require.NoError(t, os.Remove(path))
					ffmpegOutput(t, "ffmpeg", append(append([]string{"-i", recorded[i]}, c.args...), path)...)
				}
			}
			d, err := dataset.Open(ctx, dir, dataset.Options{VideoBackend: c.backend, Tolerance: map[string]float64{"pyav": 0.02}[c.backend]})
			require.NoError(t, err)
			defer d.Close()
			cameras, oracles := []loader.Camera{{Name: front, Height: 64, Width: 64}, {Name: "observation.images.wrist", Height: 24, Width: 40}}, []oracle{}
			p := align.Plan{Rate: 25, Shuffle: "shards", Streams: []align.Stream{{Name: "action"}}, Windows: map[string]align.Window{}}
			for i, cam := range cameras {
				p.Windows[cam.Name] = align.Window{From: -80 * time.Millisecond, To: 80 * time.Millisecond}
				o := lerobotOracle(t, d, recording, dir, cam.Name, fps, c.backend, c.name == "far drifted")
				if o.nearest = i == 1; o.nearest {
					p.Streams = append(p.Streams, align.Stream{Name: cam.Name, Sampling: align.Sampling{Kind: "nearest"}})
				}
				oracles = append(oracles, o)
			}
			episodes := []int{1, 2, 3, 5, 6, 7} // not the first ones in a file, where a far drift is ambiguous
			if !thorough.Long {
				episodes = []int{6}
			} else if c.name != "far drifted" {
				episodes = nil
			}
			l := streamed(t, "cpu", d, p, loader.Options{Batch: 20, Seed: uint64(k), Cameras: cameras, ShardWindows: 50, MixShards: 4, Episodes: [][]int{episodes}})
			n, most := checkWindows(t, l, thorough.Of(40, 1000), []int64{-80e6, -40e6, 0, 40e6}, oracles)
			assert.GreaterOrEqual(t, n, thorough.Of(300, 6000))
			r := l.Report().Cameras
			assert.Zero(t, r[0].Bad+r[1].Bad, r[0].FirstBad+r[1].FirstBad)
			t.Logf("%d frames compared, at most %d levels differ", n, most)
		})
	}
}

func videosOf(t *testing.T, dir, camera string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "videos", camera, "*", "*.mp4"))
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

// lerobotOracle returns the expected frames for a camera in lerobot_v3_g1, or in a copy with other videos. Row i has the frame nearest to
// its time: without a backend within half a frame and after the previous row's, with pyav within the tolerance. With byNumber, frame i
// belongs to row i.
func lerobotOracle(t *testing.T, d dataset.Dataset, recording, dir, camera string, fps float64, backend string, byNumber bool) oracle {
	t.Helper()
	type place struct {
		of    *footage
		frame int
	}
	times, places := map[int][]int64{}, map[int][]place{}
	before, files := 0, videosOf(t, dir, camera)
	var f *footage
	left, first := 0, 0 // frames of the recorded file that belong to later episodes, and the first of these
	for e := range d.Len() {
		episode, err := d.Episode(context.Background(), e)
		require.NoError(t, err)
		if left == 0 {
			f, left, first = decodeAll(t, files[0]), len(decodeAll(t, strings.Replace(files[0], dir, recording, 1)).frames), 0
			files = files[1:]
		}
		last := -1
		for row := range episode.Frames {
			frame, off := f.near((float64(first) + float64(row)) / fps)
			if byNumber {
				frame, off = first+row, 0
			}
			if off > 0.5/fps || backend == "" && frame <= last || frame >= len(f.frames) {
				continue
			}
			last = frame
			if n := spelled(f.frames[frame]); n != before+row && !byNumber {
				require.NotEqual(t, dir, recording, "row %d of episode %d", row, e)
				require.Less(t, math.Abs(float64(n-before-row)), 2.0)
			}
			times[e], places[e] = append(times[e], int64(math.Round(float64(row)*1e9/fps))), append(places[e], place{f, frame})
		}
		before, first, left = before+episode.Frames, first+episode.Frames, left-episode.Frames
	}
	require.Empty(t, files)
	require.Zero(t, left)
	require.Equal(t, 3313, before)
	return oracle{
		name: camera, within: 3, // swscale approximates the formula of the colours
		times: func(e int) []int64 { return times[e] },
		picture: func(e, row, height, width int) []byte {
			p := places[e][row]
			return p.of.frame(t, p.frame, height, width)
		},
	}
}
