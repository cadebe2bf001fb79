package convert

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/ops"
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
	ctx := context.Background()
	out := filepath.Join(t.TempDir(), "out")
	if opt.Plan != nil {
		device, err := ops.Open("cpu")
		require.NoError(t, err)
		defer device.Close()
		opt.Device = device
	}
	c, err := New(ctx, in, out, to, opt)
	require.NoError(t, err)
	defer c.Close()
	r, err := c.Shard(ctx, 0)
	require.NoError(t, err)
	return out, r
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
				x, err := a.Episode(ctx, i)
				require.NoError(t, err)
				y, err := b.Episode(ctx, i)
				require.NoError(t, err)
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

func TestALogBecomesADatasetByARate(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"mcap_generated/robot_protobuf_zstd.mcap", "ros1_bag/example.bag", "mcap_generated/turtlesim_ros1_lz4.mcap"} {
		from := sharedFile(t, name)
		out, r := made(t, leRobot(t, LeRobotOptions{Task: "drive"}), Options{Plan: &align.Plan{Rate: 20}}, from)
		b := opened(t, out, dataset.Options{Strict: true})
		e, err := b.Episode(ctx, 0)
		require.NoError(t, err)
		t.Log(name, r.Rows, e.Names(), b.Info().Frames)
		assert.Equal(t, "drive", e.Attributes.Task)
		assert.NotNil(t, e.Stream("capture_time"))
	}
}

var _ = lerobot.Codecs
