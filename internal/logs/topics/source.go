package topics

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// source reads a topic's messages on demand.
type source struct {
	log  Log
	name string
	at   []place
}

// message returns message i's bytes. The error is a RangeError if the file was opened again and has fewer messages.
func (s *source) message(ctx context.Context, i int) ([]byte, error) {
	if i < 0 || i >= len(s.at) {
		return nil, &dataset.RangeError{What: "message of " + s.name, Got: i, Len: len(s.at)}
	}
	return s.log.Message(ctx, s.at[i].At)
}

// ReadCloud decodes message i to a cloud.
func (s *source) ReadCloud(ctx context.Context, i int) (*dataset.Cloud, error) {
	data, err := s.message(ctx, i)
	if err != nil {
		return nil, err
	}
	c, err := s.at[i].decoder.Cloud(data)
	if err != nil {
		return nil, fmt.Errorf("cloud %d of %s: %w", i, s.name, err)
	}
	return c, nil
}

// images reads frames of one kind.
type images struct {
	source
	kind frames
}

func (s *images) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	data, err := s.message(ctx, i)
	if err != nil {
		return nil, err
	}
	f, err := s.at[i].decoder.Frame(data)
	if err != nil {
		return nil, fmt.Errorf("frame %d of %s: %w", i, s.name, err)
	}
	if got := kindOf(&f); !s.kind.same(got) {
		return nil, &dataset.FormatError{Format: "message", Offset: -1, Kind: dataset.ErrUnsupported, Msg: fmt.Sprintf("frame %d of %s", i, s.name),
			Got: got.String(), Want: s.kind.String() + ", as when the log was read"}
	}
	return f.Data, nil
}
