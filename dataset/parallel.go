package dataset

import (
	"context"
	"iter"
	"math"

	"github.com/robocache/robocache/internal/inorder"
)

// smallAhead is the size in bytes of small episodes that may be read ahead, because otherwise the readers would wait.
const smallAhead = 4 << 20

// Parallel is Episodes with up to workers episodes read at the same time. They come in the same order. Besides the episode in use,
// at most workers episodes, or 4 MiB of small ones, are in memory. Dropped episodes may take as much again until Go's garbage
// collector runs (GOGC).
func Parallel(ctx context.Context, d Dataset, workers int) iter.Seq2[*Episode, error] {
	return ParallelWithin(ctx, d, workers, math.MaxInt64)
}

// ParallelWithin is Parallel with a memory limit, room, in bytes. It counts each episode, also the one in use, as large as the
// largest so far ([Episode.Bytes] plus Record). If two do not fit, the next is read when the caller has finished with the current
// one; one episode is always allowed. If there is a limit, the first episode is read alone, because the size is not yet known.
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
