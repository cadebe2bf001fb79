package message

import "github.com/robocache/robocache/dataset"

func newJSON(schema Schema) (Decoder, error) {
	return nil, bad("json", 0, dataset.ErrUnsupported, "message encoding", "json", "cdr or ros1")
}
