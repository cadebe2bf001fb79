package inorder

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/internal/caught"
)

// most is how many of a list may be worked on or done before they are wanted.
const most = 256

// Each gives what do returns for 0 to n-1, in order, while up to workers goroutines work ahead. How many numbers they may be ahead of the one that was
// handed over is begin at first, and then what ahead returns for each result before that is handed over; 0 leaves the next until it is wanted. As a
// goroutine that waits takes tens of microseconds to go on, what takes less is best done many ahead. One worker does each when it is wanted.
//
// All n are given, whatever becomes of ctx, so that who counts on them all cannot take an end for the end: do sees to it, and who takes what it
// returns. Who stops early waits for those that have begun. Where do panics, so does who takes its result, with a *[caught.Panic].
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
			err  *error // of a panic, instead of a result
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
		var begun []task // and not handed over
		next, busy := 0, 0
		start := func() {
			t := task{next, make(chan T, 1), new(error)}
			next++
			begun = append(begun, t)
			tasks <- t // of which there are at most as many as have room
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
