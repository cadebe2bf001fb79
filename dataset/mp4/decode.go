package mp4

import (
	"context"
	"iter"

	"github.com/robocache/robocache/tensor"
)

// DecodeFrames decodes frames from to to-1, each u8 [H,W,3] in the order red, green, blue.
func (t *Track) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {}
}
