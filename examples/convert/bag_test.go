package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/robocache/robocache/dataset/mcap"
	_ "github.com/robocache/robocache/dataset/rosbag"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	pose = "float32 x\nfloat32 y\nfloat32 theta\n\nfloat32 linear_velocity\nfloat32 angular_velocity\n"
	rule = "================================================================================\n"
	xyz  = "float64 x\nfloat64 y\nfloat64 z\n"
	// twist is the definition of geometry_msgs/msg/Twist, without its comments.
	twist = "Vector3  linear\nVector3  angular\n" + rule + "MSG: geometry_msgs/Vector3\n" + xyz
)

// topic is a topic of turtles.bag, as ROS 2 has its messages.
type topic struct {
	name, kind, definition string
	wide                   bool // float64
}

var topics = []topic{
	{"/turtle1/pose", "turtlesim/msg/Pose", pose, false}, {"/turtle2/pose", "turtlesim/msg/Pose", pose, false},
	{"/turtle2/cmd_vel", "geometry_msgs/msg/Twist", twist, true},
}

// message is one as CDR, with the topic it is of.
type message struct {
	topic int
	time  int64
	data  []byte
}

// TestTheBagIsWhatTurtlesBagHolds makes examples/data/turtles2 of examples/data/turtles.bag: the same messages at the same times, as ros2 bag records
// them. With UPDATE=1 it writes the folder.
func TestTheBagIsWhatTurtlesBagHolds(t *testing.T) {
	d := settest.Open(t, "../data/turtles.bag")
	e := settest.Episode(t, d, 0)
	var list []message
	counts := make([]int, len(topics))
	for i, of := range topics {
		s := e.Stream(of.name)
		require.NotNil(t, s)
		values, err := tensor.Floats(s.Values)
		require.NoError(t, err)
		width := len(s.Columns)
		for k, at := range s.Nanoseconds() {
			data := []byte{0, 1, 0, 0} // little endian; numbers of one size need no padding behind it
			for _, v := range values[k*width : (k+1)*width] {
				if of.wide {
					data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
				} else {
					data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
				}
			}
			list = append(list, message{i, at, data})
		}
		counts[i] = s.Len()
	}
	slices.SortStableFunc(list, func(a, b message) int { return int(a.time - b.time) })

	var bag bytes.Buffer
	w, err := mcap.NewWriter(&bag, mcap.WriterOptions{Profile: "ros2", Library: "robocache"})
	require.NoError(t, err)
	channels := make([]uint16, len(topics))
	about := ""
	for i, of := range topics {
		schema, err := w.AddSchema(of.kind, "ros2msg", []byte(of.definition))
		require.NoError(t, err)
		channels[i], err = w.AddChannel(of.name, "cdr", schema, map[string]string{"offered_qos_profiles": ""})
		require.NoError(t, err)
		about += fmt.Sprintf("  - message_count: %d\n    topic_metadata:\n      name: %s\n      offered_qos_profiles: ''\n      serialization_format: cdr\n      type: %s\n",
			counts[i], of.name, of.kind)
	}
	for _, m := range list {
		require.NoError(t, w.Message(&mcap.Message{ChannelID: channels[m.topic], LogTime: uint64(m.time), PublishTime: uint64(m.time), Data: m.data}))
	}
	require.NoError(t, w.Close())
	first, last := list[0].time, list[len(list)-1].time
	metadata := fmt.Sprintf("rosbag2_bagfile_information:\n  compression_format: ''\n  compression_mode: ''\n  duration:\n    nanoseconds: %d\n  message_count: %d\n"+
		"  relative_file_paths:\n  - turtles2_0.mcap\n  starting_time:\n    nanoseconds_since_epoch: %d\n  storage_identifier: mcap\n  topics_with_message_count:\n%s  version: 5\n",
		last-first, len(list), first, about)
	for name, want := range map[string][]byte{"turtles2_0.mcap": bag.Bytes(), "metadata.yaml": []byte(metadata)} {
		path := filepath.Join("../data/turtles2", name)
		if os.Getenv("UPDATE") != "" {
			filetest.Write(t, path, want)
		}
		got := filetest.Read(t, path)
		assert.True(t, bytes.Equal(want, got), name)
	}
}
