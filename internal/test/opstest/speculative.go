package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// everyOtherSample tests linear jobs with about two samples for each target and rows of whole 16 bytes. A device may load samples for
// them before it has read the timestamps. The timestamps are as even ones would be, or not, or wrong; targets are sorted or not; ends
// are held or filled; with and without MaxGap. Rows are short and long, narrow and as wide as a block handles, and some leave threads
// of a block without work.
func everyOtherSample(test visit) {
	number := 0
	for _, dtype := range narrowDTypes {
		for _, clock := range clockDTypes {
			for pattern := range same + 1 {
				for k, n := range []int{3, 6, 10, 65, 802} {
					number++
					r := rng(uint64(131_000 + number))
					b, m := 1+number%3, []int{2, 3, 7, 33, 401}[k]
					d := []int{2, 3, 4, 5, 32, 100, 256}[(number+pattern)%7] * 16 / dtype.Size()
					if n > 100 {
						b, d = 1, min(d, 256/dtype.Size())
					}
					var timestamps, targets []float64
					for range b {
						now := row(r, n, pattern)
						timestamps, targets = append(timestamps, now...), append(targets, besideGuesses(r, now, m, number%4 > 0)...)
					}
					c := &resampling{Name: fmt.Sprintf("every other sample %d, %s %s, timestamps %d", number, dtype, clock, pattern), Out: dtype,
						Src: vals(dtype, uniformValues(r, b*n*d), b, n, d), Targets: onClock(clock, targets, b, m)}
					switch bad := r.IntN(len(timestamps)); {
					case number%8 > 0 || clock == tensor.I64:
					case pattern%2 == 0:
						timestamps[bad] = math.NaN()
					default:
						timestamps[bad] -= 1e9
					}
					c.Times = onClock(clock, timestamps, b, n)
					c.Opts = smallOptions[number/2%5]
					if number%7 == 0 && pattern != same {
						c.Targets, c.Clock = nil, ops.Uniform(0, 20, m)
					}
					test(c, nil, layouts[0])
				}
			}
		}
	}
}
