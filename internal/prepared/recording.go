package prepared

import (
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Recording has the input of align.Fuse for a recording and a plan.
type Recording struct {
	Clock   ops.Clock // uniform, over the plan's range; the plan's own Targets if it has them
	Streams []Stream
	Notes   dataset.Notes // of ClassLeftOut: streams that are not taken
}

// Stream is a stream that is taken: the columns of the plan, with sorted samples and without stray ones.
type Stream struct {
	dataset.Stream        // with its name in the output
	From           string // its name in the recording
	Normalise      string
	DType          tensor.DType // of the values in the output; 0 if the plan has none
	Offset         time.Duration
	Options        ops.ResampleOptions // without the DType
	OnChange       bool                // it has whole numbers and under one message a second, so its edge is Hold unless the plan has another
	Stray          int                 // samples that were left out, because their timestamps lie far from all others
}
