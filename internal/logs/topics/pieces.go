package topics

import (
	"context"
	"math"
	"regexp"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// pieceName matches the file name of a recording's piece, without its extension: run_0, or run_2024-01-01-10-00-05_0 with its time.
var pieceName = regexp.MustCompile(`^(.*?)(?:[_-]?\d{4}[-_]\d\d[-_]\d\d[-_]\d\d[-_]\d\d[-_]\d\d)?_(\d+)$`)

// ArePieces reports whether names (without extensions) share a stem and have ascending numbers.
func ArePieces(names []string) bool {
	stem, last := "", -1
	for i, name := range names {
		m := pieceName.FindStringSubmatch(name)
		if m == nil || i > 0 && m[1] != stem {
			return false
		}
		n, err := strconv.Atoi(m[2])
		if err != nil || n <= last {
			return false
		}
		stem, last = m[1], n
	}
	return len(names) > 0
}

// Ends returns a log's first and last log time, read from its first and last part. first is greater than last if these have no
// messages.
func Ends(ctx context.Context, log Log) (first, last int64, err error) {
	first, last = math.MaxInt64, math.MinInt64
	for _, part := range []int{0, log.Parts() - 1} {
		if part < 0 {
			break
		}
		err := log.Each(ctx, part, new(dataset.Notes), func(m Message) error {
			first, last = min(first, m.Log), max(last, m.Log)
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
		if log.Parts() == 1 {
			break
		}
	}
	return first, last, nil
}
