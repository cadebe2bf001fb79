package loader

import (
	"context"
	"iter"
	"sync"
)

// inOrder gives what do returns for 0 to n-1, in order, while workers of them are worked on ahead. Who stops early waits for those that have begun.
// All n are given, whatever becomes of the context, so that who counts on them all cannot take an end for the end: do sees to it, and who takes what
// it returns.
func inOrder[T any](ctx context.Context, n, workers int, do func(ctx context.Context, i int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var working sync.WaitGroup
		defer working.Wait()
		defer cancel()
		ahead := make([]chan T, max(min(workers, n), 1)) // of number i at i modulo workers
		start := func(i int) {
			done := make(chan T, 1)
			ahead[i%len(ahead)] = done
			working.Go(func() { done <- do(ctx, i) })
		}
		for i := range min(len(ahead), n) {
			start(i)
		}
		for i := range n {
			t := <-ahead[i%len(ahead)]
			if next := i + len(ahead); next < n {
				start(next)
			}
			if !yield(i, t) {
				return
			}
		}
	}
}
