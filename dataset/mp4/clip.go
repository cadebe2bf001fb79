package mp4

import (
	"context"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Clip returns frames from to to-1 as the frames of a media stream, counted from 0. They can be read, and decoded by dataset.Media.Decode. A frame that
// the track does not have is a *dataset.RangeError when it is asked for.
func (t *Track) Clip(from, to int) dataset.FrameSource { return &clip{t, from, max(to-from, 0)} }

type clip struct {
	track   *Track
	from, n int
}

func (c *clip) check(i, n int) error {
	if i < 0 || i >= n {
		return &dataset.RangeError{What: "frame of a clip", Got: i, Len: c.n}
	}
	return nil
}

// ReadFrame returns frame i of the clip as it is encoded.
func (c *clip) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	if err := c.check(i, c.n); err != nil {
		return nil, err
	}
	return c.track.ReadFrame(ctx, c.from+i)
}

// DecodeFrames decodes frames from to to-1 of the clip.
func (c *clip) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	for _, err := range []error{c.check(from, c.n+1), c.check(to, c.n+1)} {
		if err != nil {
			return func(yield func(*tensor.Tensor, error) bool) { yield(nil, err) }
		}
	}
	return c.track.DecodeFrames(ctx, c.from+from, c.from+to)
}
