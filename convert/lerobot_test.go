package convert

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	_ "github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

// sharedFile is one of the recordings that lie beside the project, or the test is skipped.
func sharedFile(t *testing.T, name string) string {
	path := filepath.Join("../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings here")
	}
	return path
}

func needsFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
}

// made converts inputs into a folder, as one shard.
func made(t *testing.T, to Target, opt Options, in ...string) (string, *Report) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if opt.Plan != nil {
		opt.Device = cpu(t)
	}
	return out, converts(t, out, to, opt, in...)
}

func leRobot(t *testing.T, opt LeRobotOptions) Target {
	to, err := LeRobot(opt)
	require.NoError(t, err)
	return to
}

// opened opens a dataset, which is closed with the test; one of LeRobot refuses whatever is not right.
func opened(t *testing.T, path string, opt dataset.Options) dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func numbersOf(t *testing.T, v *tensor.Tensor) []float64 {
	list, err := tensor.Floats(v)
	require.NoError(t, err)
	return list
}

// sameStreams checks that every stream of an episode is in another, with the same columns and bits; rename gives its name there.
func sameStreams(t *testing.T, a, b *dataset.Episode, rename func(string) string) {
	t.Helper()
	for i := range a.Streams {
		s := &a.Streams[i]
		got := b.Stream(rename(s.Name))
		require.NotNil(t, got, "%s, of %v", s.Name, b.Names())
		require.Equal(t, s.ColumnNames(), got.ColumnNames(), s.Name)
		require.Equal(t, numbersOf(t, s.Values), numbersOf(t, got.Values), s.Name)
	}
}

func asIs(name string) string { return name }

func TestEveryVersionOfLeRobotBecomesV3(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	needsFFmpeg(t)
	for _, name := range []string{"lerobot_v21_g1", "lerobot_v2_gr1_sim", "lerobot_v3_g1", "lerobot_studio/lerobotv2", "lerobot_studio/lerobotv2-image", "lerobot_studio/lerobotv3"} {
		t.Run(name, func(t *testing.T) {
			from := sharedFile(t, name)
			a := opened(t, from, dataset.Options{})
			out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, from)
			for _, s := range r.Streams {
				assert.Equal(t, s.Read, s.Used, s.Name)
			}
			b := opened(t, out, dataset.Options{Strict: true})
			assert.Equal(t, "v3.0", b.Info().Version)
			assert.Equal(t, a.Info().Rate, b.Info().Rate)
			assert.Equal(t, r.Converted, b.Len())
			require.Equal(t, a.Len(), b.Len(), r.Pieces[0].Episodes[0].Skipped)
			for i := range b.Len() {
				x := settest.Episode(t, a, i)
				y := settest.Episode(t, b, i)
				sameStreams(t, x, y, asIs)
				assert.Equal(t, x.Attributes.Task, y.Attributes.Task)
				require.Equal(t, len(x.Media), len(y.Media))
				for k := range x.Media {
					require.Equal(t, x.Media[k].Len(), y.Media[k].Len())
					for f := range x.Media[k].Len() {
						p, err := x.Media[k].Frame(ctx, f)
						require.NoError(t, err)
						q, err := y.Media[k].Frame(ctx, f)
						require.NoError(t, err)
						require.Equal(t, p, q, "%s frame %d", x.Media[k].Name, f)
					}
				}
			}
		})
	}
}

// TestRLDSBecomesLeRobot has images in JPEG, truth values and tasks.
func TestRLDSBecomesLeRobot(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	from := sharedFile(t, "bridge_rlds")
	a := opened(t, from, dataset.Options{})
	out, r := made(t, leRobot(t, LeRobotOptions{Names: map[string]string{"observation/image_0": "observation.images.front"}}), Options{}, from)
	assert.Equal(t, []int{25, 250}, []int{r.Converted, r.Rows})
	b := opened(t, out, dataset.Options{Strict: true})
	assert.Equal(t, 5.0, b.Info().Rate)
	assert.Equal(t, []dataset.Split{{Name: "train", Episodes: a.Info().Splits[0].Episodes}}, b.Info().Splits)
	for i := range a.Len() {
		x := settest.Episode(t, a, i)
		y := settest.Episode(t, b, i)
		sameStreams(t, x, y, func(name string) string { return strings.ReplaceAll(name, "/", ".") })
		assert.Nil(t, y.Stream("capture_time"), "the steps have no other times")
		assert.Equal(t, x.Attributes.Task, y.Attributes.Task)
		require.Len(t, y.Media, 4)
		m := y.MediaStream("observation.images.front")
		require.NotNil(t, m)
		for f := range m.Len() {
			p, err := x.MediaStream("observation/image_0").Frame(ctx, f)
			require.NoError(t, err)
			q, err := m.Frame(ctx, f)
			require.NoError(t, err)
			require.Equal(t, p, q)
		}
	}
}

// TestALogBecomesWhatItsPlanMakesOfIt compares with the streams of align.Resample.
func TestALogBecomesWhatItsPlanMakesOfIt(t *testing.T) {
	ctx := context.Background()
	from := sharedFile(t, "ros1_bag/example.bag")
	plan := align.Plan{Rate: 20}
	out, _ := made(t, leRobot(t, LeRobotOptions{
		RobotType: "turtle", State: []string{"/turtle1/pose", "/turtle2/pose"}, Action: []string{"/turtle2/cmd_vel"},
	}), Options{Plan: &plan, Task: "follow"}, from)
	b := opened(t, out, dataset.Options{Strict: true})
	assert.Equal(t, "turtle", b.Info().Attributes["robot_type"])
	got := settest.Episode(t, b, 0)
	recorded, err := opened(t, from, dataset.Options{}).Episode(ctx, 0)
	require.NoError(t, err)
	want, err := align.Resample(ctx, cpu(t), recorded, plan)
	require.NoError(t, err)
	assert.Equal(t, "follow", got.Attributes.Task)
	widths := map[string]int{}
	for i := range want.Streams {
		s := &want.Streams[i]
		at, name := 0, strings.ReplaceAll(strings.TrimPrefix(s.Name, "/"), "/", ".")
		switch s.Name {
		case "/turtle1/pose", "/turtle2/pose":
			at, name = widths["observation.state"], "observation.state"
		case "/turtle2/cmd_vel":
			name = "action"
		}
		stream := got.Stream(name)
		require.NotNil(t, stream, "%s of %v", name, got.Names())
		a, b, wide := numbersOf(t, s.Values), numbersOf(t, stream.Values), len(stream.Columns)
		for row := range s.Len() {
			n := len(s.Columns)
			require.Equal(t, a[row*n:(row+1)*n], b[row*wide+at:row*wide+at+n], "%s row %d", s.Name, row)
		}
		widths[name] += len(s.Columns)
	}
	assert.Equal(t, []string{"/turtle1/pose.x", "/turtle1/pose.y"}, got.Stream("observation.state").ColumnNames()[:2])
	assert.Equal(t, "linear.x", got.Stream("action").Columns[0].Name)
	// The times of the recording, which float64 has to a quarter of a microsecond.
	times, err := tensor.Data[int64](want.Times)
	require.NoError(t, err)
	for i, v := range numbersOf(t, got.Stream("capture_time").Values) {
		require.Equal(t, float64(times[i]), v)
	}
}

// TestALogOfACameraBecomesAVideo puts an imu, a camera of 15 frames a second and a table on 20 Hz. Each row's frame is the one before it.
func TestALogOfACameraBecomesAVideo(t *testing.T) {
	needsFFmpeg(t)
	ctx := context.Background()
	e := recorded(t, 3, 60, true)
	e.Media[0].Width, e.Media[0].Height, e.Media[0].Name = 64, 64, "/front/image_raw"
	e.Media[0].Source = squares(64)
	out, r := made(t, leRobot(t, LeRobotOptions{Codec: "h264"}), Options{Plan: &align.Plan{Rate: 20}}, write(t, e))
	b := opened(t, out, dataset.Options{Strict: true})
	got := settest.Episode(t, b, 0)
	m := got.MediaStream("observation.images.front.image_raw")
	require.NotNil(t, m)
	assert.Equal(t, []any{"h264", r.Rows}, []any{m.Encoding, m.Len()})
	rows := numbersOf(t, got.Stream("capture_time").Values)
	frames := numbersOf(t, got.Stream("capture_time.observation.images.front.image_raw").Values)
	recordedTimes, i := e.Media[0].Times, 0
	for px, err := range m.DecodeRange(ctx, 0, m.Len()) {
		require.NoError(t, err)
		n := sort.Search(len(recordedTimes), func(k int) bool { return recordedTimes[k] > int64(rows[i])+1000 }) - 1
		assert.Equal(t, float64(recordedTimes[n]), frames[i])
		b, err := tensor.Data[uint8](px)
		require.NoError(t, err)
		assert.InDelta(t, 8*n%256, b[0], 6, "row %d shows frame %d", i, n)
		i++
	}
	assert.Equal(t, r.Rows, i)
	assert.Equal(t, "h264", noteOf(r, dataset.CodeFramesEncoded).Got)
	packets := converts(t, filepath.Join(t.TempDir(), "out"), MCAP(mcap.Protobuf), Options{}, out)
	assert.Nil(t, noteOf(packets, dataset.CodeFramesJPEG))
	slow := Options{Plan: &align.Plan{Rate: 10}, Device: cpu(t)} // leaves out every second frame
	stills := converts(t, filepath.Join(t.TempDir(), "out"), MCAP(mcap.Protobuf), slow, out)
	assert.Equal(t, strconv.Itoa(jpegQuality), noteOf(stills, dataset.CodeFramesJPEG).Got)
}

func TestMovedFramesAreNoted(t *testing.T) {
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFramesMoved}}, changed(lerobotwrite.Report{}, lerobotwrite.Report{Moved: time.Millisecond}))
	assert.Empty(t, changed(lerobotwrite.Report{Moved: time.Millisecond}, lerobotwrite.Report{Moved: time.Millisecond}))
}

// squares are grey frames of that many pixels on a side, each 8 levels brighter than the one before.
type squares int

func (s squares) ReadFrame(_ context.Context, i int) ([]byte, error) {
	return bytes.Repeat([]byte{byte(8 * i)}, int(s*s)), nil
}

// TestLeRobotThroughMessagesIsTheSame goes from LeRobot to MCAP and back.
func TestLeRobotThroughMessagesIsTheSame(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	from := sharedFile(t, "lerobot_v21_g1")
	messages, _ := made(t, MCAP(mcap.Protobuf), Options{}, from)
	out, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, messages)
	a, b := opened(t, from, dataset.Options{}), opened(t, out, dataset.Options{Strict: true})
	require.Equal(t, a.Len(), b.Len())
	for i := range a.Len() {
		x := settest.Episode(t, a, i)
		y := settest.Episode(t, b, i)
		sameStreams(t, x, y, asIs)
		assert.Equal(t, x.Attributes.Task, y.Attributes.Task)
	}
}

// TestVideosAtAnotherRateAreEncodedAnew takes every third frame.
func TestVideosAtAnotherRateAreEncodedAnew(t *testing.T) {
	needsFFmpeg(t)
	ctx := context.Background()
	from := sharedFile(t, "lerobot_studio/lerobotv3")
	a := opened(t, from, dataset.Options{})
	rate := a.Info().Rate
	out, _ := made(t, leRobot(t, LeRobotOptions{Codec: "h264"}), Options{Plan: &align.Plan{Rate: rate / 2}, Reading: dataset.Options{}}, from)
	b := opened(t, out, dataset.Options{Strict: true})
	assert.Equal(t, rate/2, b.Info().Rate)
	x := settest.Episode(t, a, 0)
	y := settest.Episode(t, b, 0)
	require.Len(t, y.Media, len(x.Media))
	assert.Equal(t, (x.Media[0].Len()+1)/2, y.Media[0].Len())
	for i := range y.Media[0].Len() {
		p, err := x.Media[0].Decode(ctx, 2*i)
		require.NoError(t, err)
		q, err := y.Media[0].Decode(ctx, i)
		require.NoError(t, err)
		pb, _ := tensor.Data[uint8](p)
		qb, _ := tensor.Data[uint8](q)
		assert.InDelta(t, pb[len(pb)/2], qb[len(qb)/2], 12)
	}
	// At the same rate the plan takes every frame, and the video is copied.
	same, r := made(t, leRobot(t, LeRobotOptions{}), Options{Plan: &align.Plan{Rate: rate}}, from)
	z, err := opened(t, same, dataset.Options{Strict: true}).Episode(ctx, 0)
	require.NoError(t, err)
	for i := range x.Media[0].Len() {
		p, err := x.Media[0].Frame(ctx, i)
		require.NoError(t, err)
		q, err := z.Media[0].Frame(ctx, i)
		require.NoError(t, err)
		require.Equal(t, p, q)
	}
	assert.Nil(t, noteOf(r, dataset.CodeFramesEncoded))
}

// TestDatasetsAreMergedWithTheirTasks has the same tasks by other numbers in both.
func TestDatasetsAreMergedWithTheirTasks(t *testing.T) {
	one, two := write(t, recorded(t, 1, 20, false), recorded(t, 2, 20, false)), write(t, recorded(t, 2, 10, false))
	first, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, one)
	second, _ := made(t, leRobot(t, LeRobotOptions{}), Options{}, two)
	out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, second, first)
	assert.Equal(t, []int{3, 50}, []int{r.Converted, r.Rows})
	b := opened(t, out, dataset.Options{Strict: true})
	assert.Equal(t, []string{"task 0", "task 1"}, b.Info().Tasks)
	for i, want := range []struct {
		task string
		rows int
	}{{"task 0", 10}, {"task 1", 20}, {"task 0", 20}} {
		e := settest.Episode(t, b, i)
		assert.Equal(t, want.task, e.Attributes.Task)
		assert.Equal(t, want.rows, e.Frames)
	}
}

func TestWhatLeRobotCannotTakeIsRefusedOrLeftOut(t *testing.T) {
	ctx := context.Background()
	nan := recorded(t, 1, 20, false)
	nan.Streams[0].Name = "observation.state"
	values, err := tensor.Data[float32](nan.Streams[0].Values)
	require.NoError(t, err)
	values[7] = float32(math.NaN())
	_, err = all(filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{}), Options{}, write(t, nan))
	var nothing *NothingError
	require.ErrorAs(t, err, &nothing)
	assert.ErrorContains(t, nothing.First.Cause, "not finite")
	whole := recorded(t, 2, 20, false)
	whole.Streams[0].Name = "observation.state"
	out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, nan, whole))
	assert.Equal(t, []int{1, 1}, []int{r.Skipped, r.Converted})
	assert.Equal(t, 1, opened(t, out, dataset.Options{Strict: true}).Len())

	// A stream that no policy looks for is left out of all episodes, if it is so in all.
	nan.Streams[0].Name = "estimator"
	other := recorded(t, 2, 20, false)
	other.Streams[0].Name = "estimator"
	values, err = tensor.Data[float32](other.Streams[0].Values)
	require.NoError(t, err)
	values[5] = float32(math.Inf(1))
	out, r = made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, nan, other))
	assert.Equal(t, 2, r.Converted)
	assert.Contains(t, text(r.Streams), dataset.CodeNotFiniteValue)
	left, err := opened(t, out, dataset.Options{Strict: true}).Episode(ctx, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"action", "capture_time"}, left.Names())

	deep := recorded(t, 1, 20, false)
	deep.Media = []dataset.Media{{Name: "depth", Times: deep.Streams[0].Nanoseconds(), Encoding: "16UC1", Width: 2, Height: 1, Source: deepFrames{}}}
	out, r = made(t, leRobot(t, LeRobotOptions{}), Options{}, write(t, deep))
	assert.Contains(t, text(r.Streams), dataset.CodeDeepPixels)
	e, err := opened(t, out, dataset.Options{Strict: true}).Episode(ctx, 0)
	require.NoError(t, err)
	assert.Empty(t, e.Media)

	for _, opt := range []LeRobotOptions{{Cameras: "film"}, {Codec: "theora"}, {State: []string{"a", "b"}, Action: []string{"b"}}, {State: []string{"a", "b", "a"}}, {Action: []string{"a", "a"}}} {
		_, err := LeRobot(opt)
		assert.ErrorIs(t, err, dataset.ErrOption)
	}
	_, err = all(filepath.Join(t.TempDir(), "out"), leRobot(t, LeRobotOptions{State: []string{"stat"}}), Options{}, write(t, recorded(t, 2, 20, false)))
	assert.ErrorContains(t, err, `no stream "stat"`)
}

// deepFrames are depth images of two pixels.
type deepFrames struct{}

func (deepFrames) ReadFrame(context.Context, int) ([]byte, error) { return []byte{1, 2, 3, 4}, nil }

func TestTimesOfTheRecordingAreNoState(t *testing.T) {
	for _, name := range []string{"capture_time", "capture_time.observation.images.front"} {
		assert.Equal(t, "a time or an index", recognise.NotState(name))
	}
}
