package loader

import (
	"context"
	"fmt"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// StreamingError says that a loader which reads or decodes meanwhile cannot do what needs the device alone: the host has to be done before windows
// are drawn.
type StreamingError struct{ Op string }

func (e *StreamingError) Error() string {
	return fmt.Sprintf("loader: %s: got a loader that reads shards or decodes frames meanwhile, on the host, want Next, or a store that is kept on the device, without cameras", e.Op)
}

// Unwrap returns dataset.ErrUnsupported.
func (e *StreamingError) Unwrap() error { return dataset.ErrUnsupported }

// Capture returns a graph on a queue of the device whose every launch makes the next batch, in the tensors of [Loader.Batch]. The caller closes it
// before the loader. It may be a part of a larger one: the cursor is on the device. Of a loader that reads meanwhile, or has cameras, it is a
// *StreamingError.
func (l *Loader) Capture(q *ops.Queue) (*ops.Graph, error) {
	if l.report.Streaming != nil || l.frames != nil {
		return nil, &StreamingError{"Capture"}
	}
	return q.Capture(func() error { return l.run(q) })
}

// Run gives the next batch to a queue of the device: a draw, and a Fuse for each group of streams with the same window and dtype. Of a loader that
// reads meanwhile, or has cameras, it is a *StreamingError.
func (l *Loader) Run(q *ops.Queue) error {
	if l.report.Streaming != nil || l.frames != nil {
		return &StreamingError{"Run"}
	}
	return l.run(q)
}

func (l *Loader) run(q *ops.Queue) error {
	if err := l.feed.enqueue(q); err != nil {
		return err
	}
	for _, p := range l.plans {
		if err := p.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// Batch returns the tensors that each batch is in. They belong to the loader.
func (l *Loader) Batch() *Batch { return &l.batch }

// Batches makes one batch after the other, without end: epoch follows epoch. The batch is in the same tensors each time, so what is to be kept is
// copied before the next. An error ends it.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			if err := l.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&l.batch, nil) {
				return
			}
		}
	}
}

// Epoch makes the batches that the epoch still has from where the loader is.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		state, err := l.State(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		at, epoch := ops.Cursor{Epoch: state.Epoch, Taken: state.Taken}, int64(-1)
		for {
			begin, after := l.order.Next(at)
			if epoch < 0 {
				epoch = begin.Epoch
			}
			if begin.Epoch != epoch {
				return
			}
			if err := l.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&l.batch, nil) {
				return
			}
			at = after
		}
	}
}

// Next makes the next batch, and returns when it is done. After an error that the context has ended, nothing is lost: the batch is the next one
// still. What a device has begun is waited for, as long as it takes. Other errors come again, until [Loader.Resume]: of an episode or a frame that
// cannot be read, with Options.Strict, and of a device. After Close it is dataset.ErrClosed.
func (l *Loader) Next(ctx context.Context) error {
	if l.closed {
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var s *shot
	if l.frames != nil {
		var err error
		if s, err = l.frames.next(ctx, l.feed); err != nil {
			return err
		}
	}
	lost, err := l.feed.next(ctx)
	if err != nil {
		return err
	}
	if err := l.launch(s, lost); err != nil {
		if l.frames != nil {
			l.frames.stop() // and begins anew, where the feed is
		}
		return err
	}
	l.feed.advance()
	if l.frames != nil {
		l.frames.advance()
	}
	return nil
}

// launch makes a batch on the device, with the frames of a shot if there is one. It is not given up: nobody would know whether it was made.
func (l *Loader) launch(s *shot, lost []int) error {
	ctx := context.Background()
	if s != nil {
		if err := s.lose(lost); err != nil {
			return err
		}
		if err := l.copyFrames(ctx, s); err != nil {
			return err
		}
	}
	if err := l.graph.Launch(l.queue); err != nil {
		return err
	}
	return l.queue.Synchronize(ctx)
}

// copyFrames copies a shot to the device, behind what its queue was given, and returns before it is done but for the masks.
func (l *Loader) copyFrames(ctx context.Context, s *shot) error {
	for i := range l.batch.Cameras {
		to, from := &l.batch.Cameras[i], &s.masks.Streams[i]
		if err := l.queue.Copy(to.Frames, s.frames[i]); err != nil {
			return err
		}
		for _, c := range [][2]*tensor.Tensor{{to.Valid, from.Valid}, {to.Pad, from.Pad}, {to.Age, from.Age}} {
			if c[0] == nil {
				continue
			}
			if err := l.device.Copy(ctx, c[0], c[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
