package message

import "github.com/robocache/robocache/dataset"

func newProto(schema Schema) (Decoder, error) {
	return nil, bad("protobuf", 0, dataset.ErrUnsupported, "message encoding", "protobuf", "cdr or ros1")
}
