package loader

import (
	"context"
	"fmt"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// StreamingError means that an operation needs a loader that works on the device alone, but this loader works on the host before
// each batch: it reads shards or decodes frames. Op is the operation. Example: Capture with cameras.
type StreamingError struct{ Op string }

func (e *StreamingError) Error() string {
	return fmt.Sprintf("loader: %s: got a loader that reads shards or decodes frames meanwhile, on the host, want Next, or a store that is kept on the device, without cameras", e.Op)
}

// Unwrap returns dataset.ErrUnsupported.
func (e *StreamingError) Unwrap() error { return dataset.ErrUnsupported }

// Capture returns a graph on a device queue. Each launch makes the next batch, in the tensors of [Loader.Batch]. The caller
// closes the graph before the loader. It may be a part of a larger graph, because the cursor is on the device. If the loader streams,
// or has cameras, Capture returns a *StreamingError.
func (l *Loader) Capture(q *ops.Queue) (*ops.Graph, error) {
	if l.report.Streaming != nil || l.frames != nil {
		return nil, &StreamingError{"Capture"}
	}
	return q.Capture(func() error { return l.run(q) })
}

// Run enqueues the next batch: a draw, and a Fuse for each group of streams with the same window and dtype. If the loader streams, or
// has cameras, Run returns a *StreamingError.
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

// Batch returns the batch tensors. The loader owns them and writes every batch into them.
func (l *Loader) Batch() *Batch { return &l.batch }

// Batches returns an iterator over batches, epoch after epoch, without end. All batches are in the same tensors, so copy a batch
// to keep it. The iteration ends after an error.
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

// Epoch returns an iterator over the remaining batches in the current epoch. All batches are in the same tensors, so copy a batch
// to keep it. The iteration ends after an error.
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

// Next makes the next batch, and returns when it is done. If the context ends, Next returns its error after work on the device is done,
// and the next call makes the same batch. All other errors repeat until [Loader.Resume]: an error of the device, or, with
// Options.Strict, of an episode or a frame that cannot be read. After Close the error is dataset.ErrClosed.
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
			l.frames.stop() // it starts again at the feed's cursor
		}
		return err
	}
	l.feed.advance()
	if l.frames != nil {
		l.frames.advance()
	}
	return nil
}

// launch makes a batch on the device, with the frames in s if the loader has cameras. lost are rows without a window. It takes no context,
// because the cursor would be unknown after a launch that is cancelled.
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

// copyFrames enqueues the copies of a shot's frames to the device. When it returns, the masks are copied, but the frames may not be.
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
