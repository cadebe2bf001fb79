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
// each batch: it reads shards or decodes frames. Op is the operation. Example: Capture with cameras before [Loader.Fill].
type StreamingError struct{ Op string }

func (e *StreamingError) Error() string {
	return fmt.Sprintf("loader: %s: got a loader that reads shards or decodes frames meanwhile, on the host, want Next, or a store that is kept on the device, with all frames: see Fill", e.Op)
}

// Unwrap returns dataset.ErrUnsupported.
func (e *StreamingError) Unwrap() error { return dataset.ErrUnsupported }

// Capture returns a graph on a device queue. Each launch makes the next batch, in the tensors of [Loader.Batch]. The caller
// closes the graph before the loader. It may be a part of a larger graph, because the cursor is on the device. If the loader streams,
// or if not all frames are kept on the device, Capture returns a *StreamingError.
func (l *Loader) Capture(q *ops.Queue) (*ops.Graph, error) {
	if !l.runsAlone() {
		return nil, &StreamingError{"Capture"}
	}
	return q.Capture(func() error { return l.run(q, l.firstShot()) })
}

// Run enqueues the next batch: a draw, a Fuse for each group of streams with the same window and dtype, and two launches for each camera.
// If the loader streams, or if not all frames are kept on the device, Run returns a *StreamingError.
func (l *Loader) Run(q *ops.Queue) error {
	if !l.runsAlone() {
		return &StreamingError{"Run"}
	}
	return l.run(q, l.firstShot())
}

// runsAlone reports whether batches need no work on the host.
func (l *Loader) runsAlone() bool {
	return l.report.Streaming == nil && (l.reel == nil || l.reel.isComplete())
}

func (l *Loader) firstShot() *shot {
	if l.reel == nil {
		return nil
	}
	return l.reel.shots[0]
}

// Fill decodes all frames that are kept on the device, and returns when they are there. Then batches need no work on the host. Without it,
// a frame is decoded when a batch first needs it. If a camera's frames are kept elsewhere, Fill returns a *StreamingError.
func (l *Loader) Fill(ctx context.Context) error {
	if err := l.usable(); err != nil || l.reel == nil {
		return err
	}
	return l.reel.fill(ctx)
}

// run enqueues a batch with the frames of a shot.
func (l *Loader) run(q *ops.Queue, s *shot) error {
	if err := l.feed.enqueue(q); err != nil {
		return err
	}
	for _, p := range l.plans {
		if err := p.Run(q); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	return s.run(q)
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
	if err := l.usable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	graph := 0
	if l.reel != nil {
		var err error
		if graph, err = l.reel.next(ctx, l.feed); err != nil {
			return err
		}
	}
	lost, err := l.feed.next(ctx)
	if err != nil {
		return err
	}
	if l.reel != nil {
		l.reel.lose(lost)
	}
	if err := l.launch(graph); err != nil {
		if l.reel != nil {
			l.reel.stop() // it starts again at the feed's cursor
		}
		return err
	}
	l.feed.advance()
	switch {
	case l.reel == nil:
	case l.isUnmade:
		l.reel.show(l.reel.current)
	default:
		l.reel.advance()
	}
	return nil
}

// launch makes a batch on the device. It takes no context, because the cursor would be unknown after a launch that is cancelled.
func (l *Loader) launch(graph int) error {
	if err := l.graphs[graph].Launch(l.queue); err != nil {
		return err
	}
	return l.queue.Synchronize(context.Background())
}

// FrameStore returns a camera's tensors on the device, which Fill fills. frames is u8 [N,h,w,3], or [N,h*3/2,w] for yuv420. places is f64
// [S,1] with i64 bits: each sample's place in frames. They are nil if the level is not FramesOnDevice.
func (l *Loader) FrameStore(camera int) (frames, places *tensor.Tensor) {
	if m := l.films[camera]; m.level == FramesOnDevice {
		return m.kept, m.places.values
	}
	return nil, nil
}

// FillNext passes the next batch's frames to Options.Keeper, each frame once, and moves to the batch after it. It makes no batch. left is
// how many frames the Keeper does not have yet, for all batches together.
func (l *Loader) FillNext(ctx context.Context) (left int, err error) {
	if err := l.usable(); err != nil || l.reel == nil {
		return 0, err
	}
	if _, err = l.reel.next(ctx, l.feed); err != nil {
		return 0, err
	}
	at, err := l.feed.cursor(ctx)
	if err != nil {
		return 0, err
	}
	_, after := l.order.Next(at)
	if err := l.feed.seek(ctx, after); err != nil {
		return 0, err
	}
	l.reel.advance()
	return int(l.reel.left.Load()), nil
}
