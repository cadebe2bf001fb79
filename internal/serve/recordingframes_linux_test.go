package serve

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// scratched is a video of frames with one pixel, and frame 2 damaged.
type scratched struct{}

func (scratched) ReadFrame(context.Context, int) ([]byte, error) { return nil, dataset.ErrNotFound }

func (scratched) DecodeFrames(_ context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			var err error
			if i == 2 {
				err = fmt.Errorf("picture %d: %w", i, dataset.ErrCorrupt)
			}
			if !yield(tensor.Must(tensor.Of([]uint8{uint8(i)}, 1, 1, 1)), err) {
				return
			}
		}
	}
}

func TestADamagedFrameIsAnErrorOfItsOwnRequest(t *testing.T) {
	m := &dataset.Media{Name: "front", Encoding: "h264", Times: make([]int64, 5), Source: scratched{}}
	f := film{media: m, frames: 3, dtype: tensor.U8}
	require.NoError(t, f.decode(context.Background(), []int{4, 1, 3}))
	b := make([]byte, 3)
	_, err := f.memory.File().ReadAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, f.memory.Close())
	assert.Equal(t, []byte{4, 1, 3}, b)
	f = film{media: m, frames: 2, dtype: tensor.U8}
	err = f.decode(context.Background(), []int{3, 2})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "frame 2 of front: picture 2")
	assert.Nil(t, f.memory)
}
