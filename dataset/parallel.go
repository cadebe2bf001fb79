package dataset

import (
	"context"
	"iter"
	"math"
	"sync"
)

// Parallel is Episodes with up to workers episodes read at a time. They come in order all the same, and no more than workers of them are in memory
// besides the one that was handed over; what was dropped before may take as much again, until Go's collector runs (GOGC).
func Parallel(ctx context.Context, d Dataset, workers int) iter.Seq2[*Episode, error] {
	return ParallelWithin(ctx, d, workers, math.MaxInt64)
}

// ParallelWithin is Parallel that has no more episodes in memory than take room bytes together, each counted as the largest so far (its
// [Episode.Bytes] and its Record), the one that was handed over among them, and always one: where two do not fit, the next is read when that is done
// with. Where room has an end, the first episode is read alone.
func ParallelWithin(ctx context.Context, d Dataset, workers int, room int64) iter.Seq2[*Episode, error] {
	if workers <= 1 {
		return Episodes(ctx, d)
	}
	return func(yield func(*Episode, error) bool) {
		type read struct {
			episode *Episode
			err     error
		}
		ctx, cancel := context.WithCancel(ctx)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		ahead := make([]chan read, 0, workers)
		next := 0
		start := func() {
			i, done := next, make(chan read, 1)
			next++
			ahead = append(ahead, done)
			reading.Go(func() {
				e, err := d.Episode(ctx, i)
				if err != nil {
					e, err = nil, &EpisodeError{Episode: i, Err: err}
				}
				done <- read{e, err}
			})
		}
		most, largest := workers, int64(0) // how many to read at a time
		if room < math.MaxInt64 {
			most = 1
		}
		for next < min(most, d.Len()) {
			start()
		}
		for next < d.Len() || len(ahead) > 0 {
			if len(ahead) == 0 {
				start()
			}
			r := <-ahead[0]
			ahead = ahead[1:]
			if r.episode != nil {
				largest = max(largest, r.episode.Bytes()+r.episode.Record, 1)
				most = int(min(int64(workers), max(room/largest-1, 0)))
			}
			for next < d.Len() && len(ahead) < most && ctx.Err() == nil {
				start()
			}
			if !yield(r.episode, r.err) || ctx.Err() != nil {
				return
			}
		}
	}
}
