package topics

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// The texts of a topic are the task, whichever encoding the log has: each where it changes, in the order of time, and none before the first.
func TestTheTextsOfATopicAreTheTask(t *testing.T) {
	said := []string{"lift", "lift", "drop", "wait"}
	ros := func(head []byte, end string) func(text string) []byte {
		return func(text string) []byte {
			b := binary.LittleEndian.AppendUint32(append([]byte{}, head...), uint32(len(text)+len(end)))
			return append(b, text+end...)
		}
	}
	name, n, kind, label := "data", int32(1), descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("s.proto"), Package: proto.String("p"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("S"), Field: []*descriptorpb.FieldDescriptorProto{{Name: &name, Number: &n, Type: &kind, Label: &label}}}}}}})
	require.NoError(t, err)
	for encoding, c := range map[string]struct {
		schema message.Schema
		encode func(text string) []byte
	}{
		"ros1":     {message.Schema{Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data\n")}, ros(nil, "")},
		"cdr":      {message.Schema{Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data\n")}, ros([]byte{0, 1, 0, 0}, "\x00")},
		"json":     {message.Schema{}, func(text string) []byte { return []byte(`{"n":1,"said":"` + text + `"}`) }},
		"protobuf": {message.Schema{Name: "p.S", Encoding: "protobuf", Data: set}, func(text string) []byte { return append([]byte{10, byte(len(text))}, text...) }},
	} {
		log := &fakeLog{channels: []Channel{{Topic: "/task", Encoding: encoding, Schema: c.schema}, {Topic: "/x", Encoding: "json"}}}
		for i, text := range said {
			at := int64([]int{10, 20, 40, 30}[i]) // the last two are out of order
			log.parts = append(log.parts, []Message{{Log: at, Publish: at, Data: c.encode(text)}, {Channel: 1, Log: at, Publish: at, Data: []byte(`{"x":1}`)}})
		}
		e, err := Read(context.Background(), log, dataset.Options{TaskFrom: "/task"})
		require.NoError(t, err, encoding)
		assert.Equal(t, []dataset.TextStream{{Name: "/task", Task: true, Later: true, Times: []int64{10, 30, 40}, Values: []string{"lift", "wait", "drop"}}}, e.Texts, encoding)
		for at, want := range map[int64]string{9: "", 10: "lift", 29: "lift", 30: "wait", 99: "drop"} {
			assert.Equal(t, want, e.TaskAt(at), encoding)
		}
		assert.Nil(t, e.Notes.LeftOut("/task"), "%s: %v", encoding, e.Notes)
		var refused *dataset.OptionError
		_, err = Read(context.Background(), log, dataset.Options{TaskFrom: "/y"})
		require.ErrorAs(t, err, &refused, encoding)
		assert.Equal(t, []string{"TaskFrom", "/y"}, []string{refused.Arg, refused.Got})
		assert.Contains(t, refused.Want, "/task")
		plain, err := Read(context.Background(), log, dataset.Options{})
		require.NoError(t, err)
		assert.Empty(t, plain.Texts)
	}
}
