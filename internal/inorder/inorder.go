package inorder

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/internal/caught"
)

// most limits how many items may be started or finished before the caller needs them.
const most = 256

// Each yields do's results for 0 to n-1 in order, while up to workers goroutines work ahead. They may be begin items ahead at first;
// after each result, ahead returns the new distance. With distance 0, the next item starts only when the caller asks for it. Waking a
// goroutine takes tens of microseconds, so short items need a large distance. With one worker, each item runs when the caller asks for
// it.
//
// All n results are yielded even if ctx ends, because otherwise the caller could not distinguish an error from the end; do must check
// ctx. If the caller stops early, Each waits for running items. If do panics, the caller gets a *[caught.Panic] panic at that result.
func Each[T any](ctx context.Context, n, workers, begin int, ahead func(T) int, do func(ctx context.Context, i int) T) iter.Seq2[int, T] {
	if workers <= 1 {
		return func(yield func(int, T) bool) {
			for i := range n {
				if !yield(i, do(ctx, i)) {
					return
				}
			}
		}
	}
	return func(yield func(int, T) bool) {
		type task struct {
			i    int
			done chan T
			err  *error // set if do panicked
		}
		ctx, cancel := context.WithCancel(ctx)
		var over atomic.Bool
		var working sync.WaitGroup
		tasks := make(chan task, most)
		defer func() {
			over.Store(true)
			cancel()
			close(tasks)
			working.Wait()
		}()
		work := func() {
			for t := range tasks {
				if over.Load() {
					return
				}
				if *t.err = caught.Do(func() error { t.done <- do(ctx, t.i); return nil }); *t.err != nil {
					close(t.done)
				}
			}
		}
		var begun []task // started but not yielded
		next, busy := 0, 0
		start := func() {
			t := task{next, make(chan T, 1), new(error)}
			next++
			begun = append(begun, t)
			tasks <- t // never blocks: at most `most` tasks are pending
			if busy < workers && busy < len(begun) {
				busy++
				working.Go(work)
			}
		}
		for next < min(n, begin, most) {
			start()
		}
		for i := range n {
			if len(begun) == 0 {
				start()
			}
			t, ok := <-begun[0].done
			if !ok {
				panic(*begun[0].err)
			}
			begun = begun[1:]
			for room := min(ahead(t), most); next < n && len(begun) < room; {
				start()
			}
			if !yield(i, t) {
				return
			}
		}
	}
}
