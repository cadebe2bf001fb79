package rosbag2_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/rosbag"
	"github.com/robocache/robocache/internal/logs/message/defs"
	"github.com/robocache/robocache/internal/test/filetest"
)

// robot is a recording of a robot's usual messages.
func robot(n int) (list []sent) {
	r := rand.New(rand.NewPCG(1, 2))
	xs := func(n int) (list []any) {
		for range n {
			list = append(list, r.NormFloat64())
		}
		return list
	}
	var nine [9]float64
	var cov [36]float64
	for i := range cov {
		cov[i] = float64(i)
		nine[i%9] = float64(i)
	}
	pixels := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}
	for i := range n {
		at := int64(1_700_000_000_000_000_000) + int64(i)*10_000_000
		h := header{uint32(i), uint32(at/1e9) - 1, uint32(at % 1e9), "base_link"}
		add := func(after int64, topic, kind string, fields ...any) {
			list = append(list, sent{topic, kind, at + after, fields})
		}
		add(0, "/cmd_vel", "geometry_msgs/Twist", xs(6)...)
		add(0, "/pose", "geometry_msgs/PoseStamped", append([]any{h}, xs(7)...)...)
		add(5, "/joint_states", "sensor_msgs/JointState", h, []string{"shoulder", "elbow", "wrist"}, []float64{1, 2, float64(i)}, []float64{.1, .2, .3}, []float64{})
		add(3, "/imu", "sensor_msgs/Imu", append(append(append(append([]any{h}, xs(4)...), nine), append(xs(3), nine)...), append(xs(3), nine)...)...)
		add(9, "/odom", "nav_msgs/Odometry", append(append([]any{h, "odom"}, append(xs(7), cov)...), append(xs(6), cov)...)...)
		if i%3 == 0 {
			add(1, "/camera", "sensor_msgs/Image", h, uint32(2), uint32(3), "rgb8", uint8(0), uint32(9), pixels)
		}
		add(2, "/flag", "std_msgs/Bool", i%2 == 0)
	}
	return list
}

// definitions returns a type's text with those in it, of ROS 2, or as ROS 1 has the same.
func definitions(t *testing.T, ros1 bool) func(kind string) string {
	set, err := defs.Open(context.Background(), nil)
	require.NoError(t, err)
	own := set.Lookup("humble")
	lookup := func(name string) string {
		if ros1 && name == "std_msgs/Header" {
			return "uint32 seq\ntime stamp\nstring frame_id\n"
		}
		return own(name)
	}
	return func(kind string) string {
		text, names := "", []string{kind}
		for i := 0; i < len(names); i++ {
			if i > 0 {
				text += strings.Repeat("=", 80) + "\nMSG: " + names[i] + "\n"
			}
			text += lookup(names[i])
			for line := range strings.Lines(lookup(names[i])) {
				word, _, _ := strings.Cut(strings.Fields(line + " x")[0], "[")
				if !strings.Contains(word, "/") {
					word = strings.Split(names[i], "/")[0] + "/" + word
				}
				if lookup(word) != "" && !strings.Contains(strings.Join(names, " ")+" ", word+" ") {
					names = append(names, word)
				}
			}
		}
		return text
	}
}

func TestABagADatabaseAndAnMCAPFileOfTheSameMessagesAreTheSame(t *testing.T) {
	dir := t.TempDir()
	list := robot(20)
	writeBag(t, filepath.Join(dir, "robot.bag"), list, definitions(t, true))
	writeMCAP(t, filepath.Join(dir, "robot.mcap"), list, definitions(t, false))
	writeDB(t, filepath.Join(dir, "robot.db3"), schema{qos: true}, list)
	for _, clock := range []string{"log", "header"} {
		want := episode(t, filepath.Join(dir, "robot.bag"), dataset.Options{Clock: clock})
		assert.Equal(t, []string{"/cmd_vel", "/flag", "/imu", "/joint_states.position", "/joint_states.velocity", "/odom", "/pose"}, want.Names())
		assert.Equal(t, "shoulder", want.Stream("/joint_states.position").Columns[0].Name)
		require.Len(t, want.Media, 1)
		for _, name := range []string{"robot.db3", "robot.mcap"} {
			got := episode(t, filepath.Join(dir, name), dataset.Options{Clock: clock})
			assert.Empty(t, got.Notes.Damage())
			same(t, want, got, name)
			require.Len(t, got.Media, 1)
			assert.Equal(t, want.Media[0].Times, got.Media[0].Times)
			assert.Equal(t, want.Media[0].Encoding, got.Media[0].Encoding)
			for i := range want.Media[0].Times {
				a, err := want.Media[0].Frame(t.Context(), i)
				require.NoError(t, err)
				b, err := got.Media[0].Frame(t.Context(), i)
				require.NoError(t, err)
				assert.Equal(t, a, b)
			}
		}
	}
}

func TestCompressedMCAPFilesOfABagAreTheSame(t *testing.T) {
	list := robot(20)
	dir := filepath.Join(t.TempDir(), "bag")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	half := len(list) / 2
	for i, part := range [][]sent{list[:half], list[half:]} {
		path := filepath.Join(dir, fmt.Sprintf("bag_%d.mcap", i))
		writeMCAP(t, path, part, definitions(t, false))
		data := filetest.Read(t, path)
		require.NoError(t, os.Remove(path))
		filetest.Write(t, path+".zstd", squeezed(t, data))
	}
	filetest.Write(t, filepath.Join(dir, "metadata.yaml"), metadataOf(len(list), "bag_0.mcap.zstd", "bag_1.mcap.zstd"))
	e := episode(t, dir, dataset.Options{Strict: true})
	same(t, whole(t, 20), e, dir)
	assert.Equal(t, "ros2", e.Attributes.Other["profile"])
}
