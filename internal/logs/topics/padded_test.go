package topics

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/tensor"
)

// scans are messages with 3, 2 and 4 ranges by each encoding, of a type with the fields angle_min and ranges.
func scans(t *testing.T) map[string]*fakeLog {
	lengths, logs := []int{3, 2, 4}, map[string]*fakeLog{}
	add := func(name string, c Channel, encode func(ranges []float64) []byte) {
		c.Topic = "/scan"
		log := &fakeLog{channels: []Channel{c}}
		for i, n := range lengths {
			ranges := make([]float64, n)
			for k := range ranges {
				ranges[k] = float64(10*i + k)
			}
			log.parts = append(log.parts, []Message{{Log: int64(i), Publish: int64(i), Data: encode(ranges)}})
		}
		logs[name] = log
	}
	words := func(head []byte) func([]float64) []byte {
		return func(ranges []float64) []byte {
			b := binary.LittleEndian.AppendUint32(append([]byte{}, head...), math.Float32bits(-1))
			b = binary.LittleEndian.AppendUint32(b, uint32(len(ranges)))
			for _, r := range ranges {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(r)))
			}
			return b
		}
	}
	definition := []byte("float32 angle_min\nfloat32[] ranges\n")
	add("ros1", Channel{Encoding: "ros1", Schema: message.Schema{Name: "sensor_msgs/LaserScan", Encoding: "ros1msg", Data: definition}}, words(nil))
	add("cdr", Channel{Encoding: "cdr", Schema: message.Schema{Name: "sensor_msgs/msg/LaserScan", Encoding: "ros2msg", Data: definition}}, words([]byte{0, 1, 0, 0}))
	add("json", Channel{Encoding: "json", Schema: message.Schema{Name: "foxglove.LaserScan"}}, func(ranges []float64) []byte {
		text := []byte(`{"angle_min":-1,"ranges":[`)
		for i, r := range ranges {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(text, byte('0'+int(r)/10), byte('0'+int(r)%10))
			if r < 10 {
				text = append(text[:len(text)-2], text[len(text)-1])
			}
		}
		return append(text, "]}"...)
	})
	number := func(kind descriptorpb.FieldDescriptorProto_Type, label descriptorpb.FieldDescriptorProto_Label, name string, n int32) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &n, Type: &kind, Label: &label}
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("scan.proto"), Package: proto.String("foxglove"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("LaserScan"), Field: []*descriptorpb.FieldDescriptorProto{
			number(descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, "start_angle", 1),
			number(descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_LABEL_REPEATED, "ranges", 2)}}}}}})
	require.NoError(t, err)
	add("protobuf", Channel{Encoding: "protobuf", Schema: message.Schema{Name: "foxglove.LaserScan", Encoding: "protobuf", Data: set}}, func(ranges []float64) []byte {
		b := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(-1))
		for _, r := range ranges {
			b = protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(r))
		}
		return b
	})
	return logs
}

// Scans of other lengths are rows of the longest, whichever encoding the log has; the messages may lie in one part or in several.
func TestScansOfOtherLengthsArePadded(t *testing.T) {
	for _, together := range []bool{false, true} {
		for name, log := range scans(t) {
			if together {
				log.parts = [][]Message{append(append(log.parts[0], log.parts[1]...), log.parts[2]...)}
			}
			e, err := Read(context.Background(), log, dataset.Options{})
			require.NoError(t, err, name)
			s := e.Stream("/scan.ranges")
			require.NotNil(t, s, "%s: %v", name, e.Notes)
			require.NoError(t, s.Check())
			got, err := tensor.Floats(s.Values)
			require.NoError(t, err)
			nan := math.NaN()
			for i, want := range []float64{0, 1, 2, nan, 10, 11, nan, nan, 20, 21, 22, 23} {
				assert.True(t, got[i] == want || got[i] != got[i] && want != want, "%s: number %d is %g", name, i, got[i])
			}
			assert.Len(t, s.Columns, 4, name)
			n := e.Notes.Find(dataset.CodeListsPadded)
			require.NotNil(t, n, name)
			assert.Equal(t, dataset.Note{Code: dataset.CodeListsPadded, Subject: "/scan.ranges", Count: 2, Detail: dataset.Detail{Of: 3, Got: "2 to 4", Want: "4"}}, *n, name)
		}
	}
}

// A list of another type keeps its lengths, because a place in it means nothing.
func TestListsOfOtherTypesAreNotPadded(t *testing.T) {
	log := scans(t)["ros1"]
	log.channels[0].Schema.Name = "vision/Detections"
	e, err := Read(context.Background(), log, dataset.Options{})
	require.NoError(t, err)
	assert.Nil(t, e.Stream("/scan.ranges"))
	assert.Equal(t, dataset.CodeListLength, e.Notes.Of(dataset.ClassLeftOut)[0].Code)
}

// One long scan among many empty ones would fill the memory.
func TestPaddingHasALimit(t *testing.T) {
	log := scans(t)["ros1"]
	empty := log.parts[0][0]
	empty.Data = make([]byte, 8)
	long := empty
	long.Data = make([]byte, 8+4*4000)
	binary.LittleEndian.PutUint32(long.Data[4:], 4000)
	log.parts = [][]Message{{long}}
	for range 4000 {
		log.parts[0] = append(log.parts[0], empty)
	}
	e, err := Read(context.Background(), log, dataset.Options{})
	require.NoError(t, err)
	assert.Nil(t, e.Stream("/scan.ranges"))
	assert.Equal(t, dataset.CodeListLength, e.Notes.Of(dataset.ClassLeftOut)[0].Code)
}
