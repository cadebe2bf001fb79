package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/dataset"
)

func TestFieldsOfProtobufThatAreNoColumnsAreNamed(t *testing.T) {
	const file = `name: "g.proto" package: "g" syntax: "proto2" message_type { name: "A"
		field { name: "v" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
		field { name: "g" number: 2 type: TYPE_GROUP type_name: ".g.A.G" label: LABEL_OPTIONAL }
		field { name: "gone" number: 3 type: TYPE_MESSAGE type_name: ".other.B" label: LABEL_OPTIONAL }
		nested_type { name: "G" field { name: "x" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL } } } dependency: "other.proto"`
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{}}}
	require.NoError(t, prototext.Unmarshal([]byte(file), set.File[0]))
	data, err := proto.Marshal(set)
	require.NoError(t, err)
	d, err := newProto(Schema{Name: "g.A", Encoding: "protobuf", Data: data})
	require.NoError(t, err)
	assert.Equal(t, dataset.Notes{field(dataset.CodeGroupFields, "g"), field(dataset.CodeUndefinedFields, "gone")}, d.Shape().Notes)
}
