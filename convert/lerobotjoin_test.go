package convert

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// TestShardsJoinedAreTheBytesOfOne converts in three shards, joins them, and has what a conversion in one has: tables, videos and statistics.
func TestShardsJoinedAreTheBytesOfOne(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	list := []*dataset.Episode{}
	for i := range 7 {
		list = append(list, recorded(t, i+1, 20+i, false))
	}
	inputs := map[string]string{"recordings": write(t, list...)}
	for _, e := range list { // of today, whose nanoseconds float64 does not hold
		today := slices.Clone(e.Streams[0].Nanoseconds())
		for i := range today {
			today[i] += 1_764_201_600_123_456_789
		}
		for i := range e.Streams {
			e.Streams[i].Times = tensor.Must(tensor.Of(today, len(today)))
		}
	}
	inputs["today"] = write(t, list...)
	if _, err := os.Stat("../../shared/data/lerobot_v3_g1"); err == nil {
		inputs["videos"] = "../../shared/data/lerobot_v3_g1"
	}
	if _, err := exec.LookPath("ffmpeg"); err == nil { // encoded here, so that each shard knows every pixel
		for i, e := range list {
			e.Media = []dataset.Media{{Name: "front", Times: e.Streams[0].Nanoseconds(), Encoding: "mono8", Width: 64, Height: 64, Source: brighter(i)}}
		}
		inputs["encoded"] = write(t, list...)
	}
	if !thorough.Long { // the tables of today's times have the same shapes
		delete(inputs, "recordings")
	}
	if in := inputs["encoded"]; in != "" {
		inputs["encoded, version 2.1"] = in
	}
	for name, in := range inputs {
		opt := LeRobotOptions{Codec: "h264"}
		if strings.HasSuffix(name, "2.1") {
			opt.Version = "2.1"
		}
		to := leRobot(t, opt)
		dir := t.TempDir()
		parts := filepath.Join(dir, "parts")
		converts(t, parts, to, Options{Shards: 3}, in)
		shards, err := filepath.Glob(filepath.Join(parts, "shard-*"))
		require.NoError(t, err)
		require.Len(t, shards, 3)
		joined, one := filepath.Join(dir, "joined"), filepath.Join(dir, "one")
		converts(t, joined, to, Options{}, shards...)
		converts(t, one, to, Options{}, in)
		if name == "today" { // their folder has them all, and the reports beside them are no recordings
			r := converts(t, filepath.Join(dir, "folder"), to, Options{}, parts)
			assert.Equal(t, []int{7, 0}, []int{r.Converted, r.Skipped})
		}
		a, b := tree(t, one), tree(t, joined)
		delete(a, "convert.json") // which says what it was made of
		delete(b, "convert.json")
		require.Len(t, b, len(a))
		for file, want := range a {
			assert.True(t, want == b[file], "%s: %s", name, file)
		}
	}
}

// brighter are grey frames of 64x64 in which a part gets brighter, from another level in each recording.
type brighter int

func (b brighter) ReadFrame(_ context.Context, i int) ([]byte, error) {
	return append(bytes.Repeat([]byte{byte(30*int(b) + 3*i)}, 64*20), bytes.Repeat([]byte{byte(250 - 30*int(b))}, 64*44)...), nil
}

// packets are the frames of a video as they are encoded.
type packets [][]byte

func (p packets) ReadFrame(_ context.Context, i int) ([]byte, error) { return p[i], nil }

// TestVideoInMessagesBecomesVideo has messages that do not say how large the pictures are.
func TestVideoInMessagesBecomesVideo(t *testing.T) {
	needsFFmpeg(t)
	ctx := context.Background()
	raw, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=96x64:rate=30:duration=2", "-pix_fmt", "yuv420p", "-c:v", "libx264",
		"-x264-params", "aud=1:bframes=0:keyint=10", "-f", "h264", "-").Output()
	if err != nil {
		t.Skip("no encoder of h264 in ffmpeg")
	}
	delimiter := []byte{0, 0, 0, 1, 9}
	var frames packets
	for _, part := range bytes.Split(raw, delimiter)[1:] {
		frames = append(frames, append(slices.Clone(delimiter), part...))
	}
	e := recorded(t, 3, len(frames), false)
	e.Media = []dataset.Media{{Name: "/video", Times: e.Streams[0].Nanoseconds(), Encoding: "h264", Source: frames}}
	in := write(t, e)
	log, err := opened(t, in, dataset.Options{}).Episode(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, []any{true, 0}, []any{log.Media[0].IsVideo(), log.Media[0].Width})
	out, r := made(t, leRobot(t, LeRobotOptions{Codec: "h264"}), Options{Plan: &align.Plan{Rate: 10}}, in)
	got, err := opened(t, out, dataset.Options{Strict: true}).Episode(ctx, 0)
	require.NoError(t, err)
	require.Len(t, got.Media, 1)
	assert.Equal(t, r.Rows, got.Media[0].Len())
	picture, err := got.Media[0].Decode(ctx, 3)
	require.NoError(t, err)
	assert.Equal(t, []int{64, 96, 3}, picture.Shape())
	want, err := log.Media[0].Decode(ctx, 9)
	require.NoError(t, err)
	a, b := numbersOf(t, want), numbersOf(t, picture)
	off := 0.0
	for i := range a {
		off += math.Abs(a[i]-b[i]) / float64(len(a))
	}
	assert.Less(t, off, 6.0)
}

// TestColumnsInAnotherOrderAreTakenByName has a second recording with the same joints in another order, and a third with another joint.
func TestColumnsInAnotherOrderAreTakenByName(t *testing.T) {
	var list []*dataset.Episode
	for i, names := range [][]string{{"hip", "knee", "foot"}, {"foot", "hip", "knee"}, {"hip", "knee", "toe"}} {
		e := recorded(t, i+1, 20, false)
		e.Streams[0].Columns = slices.Clone(e.Streams[0].Columns)
		for c := range names {
			e.Streams[0].Columns[c].Name = names[c]
		}
		list = append(list, e)
	}
	out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, list...))
	assert.Equal(t, []int{2, 1}, []int{r.Converted, r.Skipped})
	assert.Equal(t, "state", noteOf(r, dataset.CodeColumnsReordered).Subject)
	got, err := opened(t, out, dataset.Options{Strict: true}).Episode(context.Background(), 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"hip", "knee", "foot"}, got.Stream("state").ColumnNames())
	want, values := numbersOf(t, list[1].Streams[0].Values), numbersOf(t, got.Stream("state").Values)
	for i := 0; i < len(want); i += 3 {
		require.Equal(t, []float64{want[i+1], want[i+2], want[i]}, values[i:i+3])
	}
}

// TestAnnotationsKeepTheirTasks has columns whose numbers are those of tasks, of which one is no episode's, alone and behind a dataset of other tasks.
func TestAnnotationsKeepTheirTasks(t *testing.T) {
	ctx := context.Background()
	set := func(tasks []string, of string, numbers ...float64) string {
		path := filepath.Join(t.TempDir(), "set")
		w, err := lerobotwrite.Create(path, lerobotwrite.Options{FPS: 10, FirstTasks: tasks})
		require.NoError(t, err)
		defer w.Close()
		times, err := dataset.StepTimes(len(numbers), 10)
		require.NoError(t, err)
		s, err := dataset.NewStream("annotation.human.validity", times, tensor.Must(tensor.Of(numbers, len(numbers), 1)), []dataset.Column{{Name: "0", Type: "int64", Integer: true}})
		require.NoError(t, err)
		require.NoError(t, w.Add(ctx, &dataset.Episode{Streams: []dataset.Stream{s}, Attributes: dataset.Attributes{Task: of}}))
		require.NoError(t, w.Commit(ctx))
		return path
	}
	said := func(path string, episode int) (list []string) {
		d := opened(t, path, dataset.Options{Strict: true})
		e := settest.Episode(t, d, episode)
		for _, v := range numbersOf(t, e.Stream("annotation.human.validity").Values) {
			if v < 0 {
				list = append(list, "none")
			} else {
				list = append(list, d.Info().Tasks[int(v)])
			}
		}
		return list
	}
	one := set([]string{"valid", "pear", "invalid"}, "pear", 0, 2, 1)
	two := set([]string{"fig", "invalid", "valid"}, "fig", 2, 1, -1)
	alone, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, one)
	assert.Equal(t, []string{"valid", "invalid", "pear"}, said(alone, 0))
	both, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, one, two)
	assert.Equal(t, []string{"valid", "invalid", "pear"}, said(both, 0))
	assert.Equal(t, []string{"valid", "invalid", "none"}, said(both, 1))
}

// TestWhatCannotBeKeptIsSaid has a split whose episodes do not follow each other, and a name for a stream that is not there.
func TestWhatCannotBeKeptIsSaid(t *testing.T) {
	ctx := context.Background()
	in := filepath.Join(t.TempDir(), "set")
	w, err := lerobotwrite.Create(in, lerobotwrite.Options{FPS: 30})
	require.NoError(t, err)
	defer w.Close()
	for i := range 2 {
		require.NoError(t, w.AddWith(ctx, recorded(t, i, 10, false), lerobotwrite.EpisodeOptions{Splits: []string{[]string{"train", "val"}[i]}}))
	}
	require.NoError(t, w.Commit(ctx))
	_, r := made(t, leRobot(t, LeRobotOptions{Names: map[string]string{"stat": "observation.state", "action": "act"}}), Options{}, in, in)
	assert.Equal(t, &dataset.Note{Code: dataset.CodeSplitOrder, Subject: "split train", Count: 2, Detail: dataset.Detail{Want: "0 to 2"}}, noteOf(r, dataset.CodeSplitOrder))
	assert.Equal(t, "stat", noteOf(r, dataset.CodeNameUnused).Subject, "and action is a stream")
}
