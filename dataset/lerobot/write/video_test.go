package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// filmed makes a v2.1 dataset at 30 rows a second of which each episode's video is a file of dataset/mp4's tests, and opens it.
func filmed(t *testing.T, rows int, videos ...string) *lerobot.Set {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
	root := t.TempDir()
	put := func(name string, content []byte) {
		path := filepath.Join(root, filepath.FromSlash(name))
		filetest.Write(t, path, content)
	}
	var episodes strings.Builder
	for i, video := range videos {
		content := filetest.Read(t, filepath.Join("../../mp4/testdata", video))
		put(fmt.Sprintf("videos/chunk-000/camera/episode_%06d.mp4", i), content)
		path := fmt.Sprintf("data/chunk-000/episode_%06d.parquet", i)
		put(path, nil)
		out, err := os.Create(filepath.Join(root, filepath.FromSlash(path)))
		require.NoError(t, err)
		w := parquet.NewWriter(out, []parquet.Field{
			{Name: "action", Type: "float32"}, {Name: "timestamp", Type: "float32"}, {Name: "frame_index", Type: "int64"},
		}, nil)
		data := make([]parquet.Values, 3)
		for r := range rows {
			data[0].Float32 = append(data[0].Float32, float32(r*i))
			data[1].Float32 = append(data[1].Float32, float32(float64(r)/30))
			data[2].Int64 = append(data[2].Int64, int64(r))
		}
		require.NoError(t, w.WriteGroup(rows, data))
		require.NoError(t, w.Close())
		require.NoError(t, out.Close())
		fmt.Fprintf(&episodes, `{"episode_index": %d, "tasks": ["film"], "length": %d}`+"\n", i, rows)
	}
	put("meta/episodes.jsonl", []byte(episodes.String()))
	put("meta/tasks.jsonl", []byte(`{"task_index": 0, "task": "film"}`))
	one := []int{1}
	info, err := json.Marshal(map[string]any{
		"codebase_version": "v2.1", "fps": 30, "total_episodes": len(videos), "total_frames": rows * len(videos), "chunks_size": 1000,
		"data_path":  "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
		"video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
		"features": map[string]any{
			"action": map[string]any{"dtype": "float32", "shape": one}, "timestamp": map[string]any{"dtype": "float32", "shape": one},
			"frame_index": map[string]any{"dtype": "int64", "shape": one}, "camera": map[string]any{"dtype": "video", "shape": []int{64, 64, 3}},
		},
	})
	require.NoError(t, err)
	put("meta/info.json", info)
	s, err := lerobot.Open(context.Background(), root, lerobot.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// sameFrames checks that media have the frames of other media, byte for byte.
func sameFrames(t *testing.T, want, got *dataset.Media) {
	ctx := context.Background()
	require.Equal(t, want.Len(), got.Len())
	for i := range want.Len() {
		a, err := want.Frame(ctx, i)
		require.NoError(t, err)
		b, err := got.Frame(ctx, i)
		require.NoError(t, err)
		require.Equal(t, a, b, "frame %d", i)
	}
}

// rewritten writes the episodes of a dataset, and opens what was written, refusing whatever is not right.
func rewritten(t *testing.T, d dataset.Dataset, opt Options) (*lerobot.Set, *Writer, string) {
	ctx := context.Background()
	w, path := created(t, opt)
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	t.Cleanup(func() { got.Close() })
	assert.Empty(t, got.Info().Notes)
	for e, err := range dataset.Episodes(ctx, got) {
		require.NoError(t, err)
		assert.Empty(t, e.Notes)
	}
	return got, w, path
}

func TestVideosOfEpisodesAreJoinedAsTheyAreEncoded(t *testing.T) {
	d := filmed(t, 24, "av1.mp4", "av1.mp4", "av1.mp4")
	got, w, path := rewritten(t, d, Options{FPS: 30})
	for i := range 3 {
		a := settest.Episode(t, d, i)
		b := settest.Episode(t, got, i)
		sameFrames(t, &a.Media[0], &b.Media[0])
		assert.Equal(t, "film", b.Attributes.Task)
	}
	assert.NoFileExists(t, filepath.Join(path, "videos/camera/chunk-000/file-001.mp4"))
	assert.Zero(t, w.Report().Moved)
	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(0), int64(0), int64(0)}, episodes["videos/camera/file_index"])
	assert.Equal(t, []any{0.0, 0.8, 1.6}, episodes["videos/camera/from_timestamp"])
	assert.Equal(t, []any{0.8, 1.6, 2.4}, episodes["videos/camera/to_timestamp"])
	assert.Equal(t, []any{int64(24), int64(24), int64(24)}, episodes["stats/camera/count"])
	assert.NotContains(t, parquetColumns(t, filepath.Join(path, firstData)), "camera")
	features := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)
	assert.Equal(t, map[string]any{
		"dtype": "video", "shape": []any{64.0, 64.0, 3.0}, "names": []any{"height", "width", "channels"}, "info": map[string]any{
			"video.height": 64.0, "video.width": 64.0, "video.codec": "av1", "video.fps": 30.0, "video.channels": 3.0, "is_depth_map": false,
			"has_audio": false,
		},
	}, features["camera"])
}

// TestAVideoThatDriftsIsPutOnTheRows has a video of 29.97 frames a second beside 30 rows a second, and one that begins at half a second.
func TestAVideoThatDriftsIsPutOnTheRows(t *testing.T) {
	for name, moved := range map[string]time.Duration{"sound.mov": 366666, "late.mp4": 0} {
		d := filmed(t, map[string]int{"sound.mov": 12, "late.mp4": 24}[name], name)
		got, w, _ := rewritten(t, d, Options{FPS: 30})
		assert.InDelta(t, moved, w.Report().Moved, 1, name)
		a := settest.Episode(t, d, 0)
		b := settest.Episode(t, got, 0)
		sameFrames(t, &a.Media[0], &b.Media[0])
	}
}

func TestVideosThatDoNotGoTogetherAreFilesOfTheirOwn(t *testing.T) {
	d := filmed(t, 24, "av1.mp4", "h264_back.mp4", "h264_back.mp4")
	_, _, path := rewritten(t, d, Options{FPS: 30})
	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(0), int64(1), int64(1)}, episodes["videos/camera/file_index"])
	assert.Equal(t, []any{0.0, 0.0, 0.8}, episodes["videos/camera/from_timestamp"])
}

func TestAVideoFileThatIsLargeEnoughIsFollowedByAnother(t *testing.T) {
	d := filmed(t, 24, "av1.mp4", "av1.mp4", "av1.mp4")
	ctx := context.Background()
	w, path := created(t, Options{FPS: 30})
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
		w.features[1].files.limit = 15_000 // of two, but not of three
	}
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, []any{int64(0), int64(0), int64(1)}, parquetColumns(t, filepath.Join(path, firstEpisodes))["videos/camera/file_index"])
}

// TestACutVideoHasItsFramesAlone writes rows 7 to 18 of an episode.
func TestACutVideoHasItsFramesAlone(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4")
	e := settest.Episode(t, d, 0)
	cut, ok := lerobot.Cut(&e.Media[0], 7, 19)
	require.True(t, ok)
	_, ok = lerobot.Cut(&e.Media[0], 7, 25)
	assert.False(t, ok)
	times, err := dataset.StepTimes(12, 30)
	require.NoError(t, err)
	cut.Times = times
	w, path := created(t, Options{FPS: 30})
	require.NoError(t, w.Add(ctx, &dataset.Episode{Media: []dataset.Media{cut}}))
	require.NoError(t, w.Commit(ctx))
	got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer got.Close()
	b := settest.Episode(t, got, 0)
	sameFrames(t, &cut, &b.Media[0])
}

// TestMediaAreEncoded has a camera of raw pixels, one of grey images, and a video whose rows take some frames twice.
func TestMediaAreEncoded(t *testing.T) {
	ctx := context.Background()
	e, err := filmed(t, 24, "av1.mp4").Episode(ctx, 0)
	require.NoError(t, err)
	source := e.Media[0].Source.(*footage.Source)
	var raw, grey [][]byte
	for i := range 24 {
		pixels := bytes.Repeat([]byte{200, byte(10 * i), 30}, 64*64)
		img := image.NewGray(image.Rect(0, 0, 64, 64))
		for k := range img.Pix {
			img.Pix[k] = byte(10 * i)
		}
		raw, grey = append(raw, pixels), append(grey, pngOf(t, img))
	}
	for _, codec := range []string{"h264"} {
		twice := e.Media[0]
		frames := make([]int32, 24)
		for i := range frames {
			frames[i] = source.Frames[i/2]
		}
		twice.Source = &footage.Source{Videos: source.Videos, Path: source.Path, Frames: frames}
		media := []dataset.Media{e.Media[0], twice, e.Media[0], e.Media[0]}
		media[1].Name, media[2].Name, media[3].Name = "twice", "raw", "grey"
		media[2].Source, media[2].Encoding, media[2].Width, media[2].Height = frameList(raw), "rgb8", 64, 64
		media[3].Source, media[3].Encoding = frameList(grey), "png"
		w, path := created(t, Options{FPS: 30, Codec: codec})
		require.NoError(t, w.Add(ctx, &dataset.Episode{Media: media}))
		require.NoError(t, w.Commit(ctx))
		got, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
		require.NoError(t, err)
		defer got.Close()
		b := settest.Episode(t, got, 0)
		sameFrames(t, &e.Media[0], b.MediaStream("camera"))
		assert.Equal(t, codec, b.MediaStream("raw").Encoding)
		for name, want := range map[string]func(i int) []uint8{
			"raw": func(i int) []uint8 { return []uint8{200, byte(10 * i), 30} }, "grey": func(i int) []uint8 { return bytes.Repeat([]byte{byte(10 * i)}, 3) },
		} {
			i := 0
			for px, err := range b.MediaStream(name).DecodeRange(ctx, 0, 24) {
				require.NoError(t, err)
				rgb, err := tensor.Data[uint8](px)
				require.NoError(t, err)
				for c, v := range want(i) {
					assert.InDelta(t, v, rgb[3*2080+c], 12, "%s of %s, frame %d", codec, name, i)
				}
				i++
			}
			assert.Equal(t, 24, i)
		}
		info := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)["raw"].(map[string]any)["info"].(map[string]any)
		assert.Equal(t, []any{codec, "yuv420p"}, []any{info["video.codec"], info["video.pix_fmt"]})
		left, err := filepath.Glob(filepath.Join(path, "*.mp4"))
		require.NoError(t, err)
		assert.Empty(t, left, "what was encoded apart is gone")
	}
	bare, _ := created(t, Options{FPS: 30})
	again := e.Media[0]
	again.Source = &footage.Source{Videos: source.Videos, Path: source.Path, Frames: append([]int32{0, 0}, source.Frames[2:]...)}
	err = bare.Add(ctx, &dataset.Episode{Media: []dataset.Media{again}})
	require.ErrorIs(t, err, ErrNotAligned)
	assert.ErrorContains(t, err, "or a codec to encode it anew")
}

// shiftEpisodes has a dataset state that the episodes of its camera begin and end later in their file.
func shiftEpisodes(t *testing.T, root string, seconds float64) {
	path := filepath.Join(root, firstEpisodes)
	f, err := parquet.Open("lerobot", path)
	require.NoError(t, err)
	defer f.Close()
	var fields []parquet.Field
	data := make([]parquet.Values, len(f.Columns()))
	for i, c := range f.Columns() {
		v := &data[i]
		require.NoError(t, c.Read(context.Background(), 0, 0, f.Rows(), v))
		field := parquet.Field{Name: c.Name, Type: c.Type, Ragged: c.Name == "tasks"}
		if field.Ragged {
			v.Lens = slices.Repeat([]int{v.Width}, v.Rows)
		} else if c.Rank > 0 {
			field.Shape = []int{v.Width}
		}
		if strings.HasSuffix(c.Name, "_timestamp") {
			for k := range v.Float64 {
				v.Float64[k] += seconds
			}
		}
		fields = append(fields, field)
	}
	var out bytes.Buffer
	w := parquet.NewWriter(&out, fields, nil)
	require.NoError(t, w.WriteGroup(int(f.Rows()), data))
	require.NoError(t, w.Close())
	filetest.Write(t, path, out.Bytes())
}

// TestWritingMendsTimesThatDrifted has a dataset that says of each episode that its video begins 1 ms later than it does.
func TestWritingMendsTimesThatDrifted(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{FPS: 30})
	for e, err := range dataset.Episodes(ctx, filmed(t, 24, "av1.mp4", "av1.mp4")) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	shiftEpisodes(t, path, 0.001)
	drifted, err := lerobot.Open(ctx, path, lerobot.Options{})
	require.NoError(t, err)
	defer drifted.Close()
	w, path = created(t, Options{FPS: 30})
	for i := range drifted.Len() {
		e := settest.Episode(t, drifted, i)
		require.NotNil(t, e.Notes.Find(dataset.CodeFrameDrift))
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	assert.Equal(t, []any{0.0, 0.8}, parquetColumns(t, filepath.Join(path, firstEpisodes))["videos/camera/from_timestamp"])
	mended, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer mended.Close()
	for _, err := range dataset.Episodes(ctx, mended) {
		assert.NoError(t, err)
	}
}

func TestAVideoIsDecodedForItsStatistics(t *testing.T) {
	ctx := context.Background()
	d := filmed(t, 24, "av1.mp4")
	e := settest.Episode(t, d, 0)
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	w, _ := created(t, Options{FPS: 30})
	err := w.Add(ctx, e)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "no pixels of frame 0")
	e.Media = nil
	require.NoError(t, w.Add(ctx, e), "it costs itself only")
}

// TestWritingMendsVideosThatLeRobotJoined joins five episodes of ten frames as LeRobot does, by ffmpeg's concat demuxer. It begins each
// file at the end of the one before, which mp4 keeps in milliseconds: frames come later and later than LeRobot writes down.
func TestWritingMendsVideosThatLeRobotJoined(t *testing.T) {
	ctx := context.Background()
	names := []string{"av1.mp4", "av1.mp4", "av1.mp4", "av1.mp4", "av1.mp4"}
	d := filmed(t, 10, names...)
	w, path := created(t, Options{FPS: 30})
	for e, err := range dataset.Episodes(ctx, d) {
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, e))
	}
	require.NoError(t, w.Commit(ctx))
	run := func(args ...string) {
		cmd := exec.Command("ffmpeg", append([]string{"-nostdin", "-loglevel", "error", "-y"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	dir := t.TempDir()
	one, list := filepath.Join(dir, "one.mp4"), filepath.Join(dir, "list.txt")
	run("-i", "../../mp4/testdata/av1.mp4", "-frames:v", "10", "-c", "copy", one)
	filetest.Write(t, list, strings.Repeat("file one.mp4\n", 5))
	run("-f", "concat", "-i", list, "-c", "copy", filepath.Join(path, "videos/camera/chunk-000/file-000.mp4"))

	joined, err := lerobot.Open(ctx, path, lerobot.Options{})
	require.NoError(t, err)
	defer joined.Close()
	w, path = created(t, Options{FPS: 30})
	drifted := 0
	for i := range 5 {
		e := settest.Episode(t, joined, i)
		if e.Notes.Find(dataset.CodeFrameDrift) != nil {
			drifted++
		}
		require.NoError(t, w.Add(ctx, e))
	}
	assert.Greater(t, drifted, 0, "ffmpeg joined without a drift")
	require.NoError(t, w.Commit(ctx))
	mended, err := lerobot.Open(ctx, path, lerobot.Options{Strict: true})
	require.NoError(t, err)
	defer mended.Close()
	for e, err := range dataset.Episodes(ctx, mended) {
		require.NoError(t, err)
		assert.Empty(t, e.Notes.Damage())
		assert.Equal(t, 10, e.Media[0].Len())
	}
	from := parquetColumns(t, filepath.Join(path, firstEpisodes))["videos/camera/from_timestamp"]
	t.Logf("%d of 5 episodes drifted; they begin at %v", drifted, from)
}

// cancelling is a file that cancels when it is written.
type cancelling struct {
	output
	cancel context.CancelFunc
}

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return c.output.Write(p)
}

func TestACopyOfAVideoEndsWithItsContext(t *testing.T) {
	e, err := filmed(t, 24, "av1.mp4").Episode(context.Background(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	w, path := created(t, Options{FPS: 30})
	create := w.out.open
	w.out.open = func(path string) (output, error) {
		out, err := create(path)
		if strings.HasSuffix(path, ".mp4") {
			out = cancelling{out, cancel}
		}
		return out, err
	}
	assert.ErrorIs(t, w.Add(ctx, e), context.Canceled)
	assert.ErrorIs(t, w.Add(context.Background(), e), context.Canceled, "half an episode is written")
	require.NoError(t, w.Close())
	assert.NoDirExists(t, path)
}
