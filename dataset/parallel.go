package dataset

import (
	"context"
	"iter"
	"math"

	"github.com/robocache/robocache/internal/inorder"
)

// smallAhead is how many bytes of small episodes may be read ahead where the readers could else not be kept busy.
const smallAhead = 4 << 20

// Parallel is Episodes with up to workers episodes read at a time. They come in order all the same, and no more than workers of them, or 4 MiB of small
// ones, are in memory besides the one that was handed over; what was dropped before may take as much again, until Go's collector runs (GOGC).
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
	type read struct {
		episode *Episode
		err     error
	}
	return func(yield func(*Episode, error) bool) {
		most, largest := workers, int64(0)
		ahead := func(r read) int {
			if r.episode != nil {
				largest = max(largest, r.episode.Bytes()+r.episode.Record, 1)
				most = int(min(max(int64(workers), smallAhead/largest), max(room/largest-1, 0)))
			}
			return most
		}
		if room < math.MaxInt64 {
			most = 1
		}
		for _, r := range inorder.Each(ctx, d.Len(), workers, most, ahead, func(ctx context.Context, i int) (r read) {
			if r.episode, r.err = d.Episode(ctx, i); r.err != nil {
				return read{nil, episodeError(d, i, r.err)}
			}
			return r
		}) {
			if !yield(r.episode, r.err) || ctx.Err() != nil {
				return
			}
		}
	}
}
