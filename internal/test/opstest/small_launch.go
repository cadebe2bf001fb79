package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// row returns n timestamps in whole ticks. The patterns are: 0 even, 1 jittered, 2 with a gap in the middle, 3 with the first two close
// and the rest far apart, 4 with duplicates, also at the ends, and 5 (same) all equal.
func row(r *rand.Rand, n, pattern int) []float64 {
	out := make([]float64, n)
	x := float64(r.IntN(64)) * limitTick
	for i := range out {
		out[i] = x
		step := 8.
		switch pattern {
		case 1:
			step += float64(r.IntN(7) - 3)
		case 2:
			if i == n/2 {
				step = 8 * float64(n)
			}
		case 3:
			if i > 0 {
				step = 8 * float64(n)
			}
		case same:
			step = 0
		case 4:
			step = float64(r.IntN(3)/2*16) * float64(min(i, n-2-i)&1)
		}
		x += step * limitTick
	}
	return out
}

// same is the pattern with equal timestamps.
const same = 5

// besideGuesses returns m targets: both ends of a row, then times in any bracket, on timestamps, in the middle, and close to either
// end. With sorted they ascend from the first sample to the last, as a device may assume.
func besideGuesses(r *rand.Rand, row []float64, m int, sorted bool) []float64 {
	out := make([]float64, m)
	last := len(row) - 1
	for i := range out {
		k := i * last / (m - 1)
		if !sorted || i%5 == 4 {
			k = r.IntN(last + 1)
		}
		out[i] = row[k]
		if k < last {
			h := row[k+1] - row[k]
			out[i] += []float64{0, 0, h / 2, limitTick / 4, max(h-limitTick/4, 0)}[r.IntN(5)]
		}
		if r.IntN(16) == 0 {
			out[i] += float64(r.IntN(3)-1) * 1000
		}
	}
	out[0], out[m-1] = row[0], row[last]
	return out
}

// smallOptions has held and filled ends, with and without MaxGap.
var smallOptions = []ops.ResampleOptions{
	{}, {Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}, {MaxGap: ops.Within(time.Second)},
	{MaxGap: ops.Within(time.Second / 8), FillGaps: true, Fill: ops.FillWith(3.25), Edge: ops.EdgeFill},
	{Tolerance: ops.Within(time.Second / 16)},
}

// smallLaunches tests small linear jobs, for which a device may guess the samples of a target from even timestamps. The rows have few
// or some samples, with timestamps as guessed or not, ends held or filled, with and without MaxGap, and rows of whole chunks of 16
// bytes. Fusions add streams of 8 and 4 bytes on their own clocks.
func smallLaunches(test visit) {
	number := 0
	for _, dtype := range narrowDTypes {
		for _, clock := range clockDTypes {
			for pattern := range same + 1 {
				for _, n := range []int{4, 5, 7, 24} {
					number++
					r := rng(uint64(93_000 + number))
					b, m := 1+number%3, []int{2, 3, 9, 31, 64, 100}[number/2%6]
					var timestamps, targets []float64
					for range b {
						now := row(r, n, pattern)
						timestamps, targets = append(timestamps, now...), append(targets, besideGuesses(r, now, m, number%4 > 0)...)
					}
					c := &resampling{Name: fmt.Sprintf("small launch %d, %s %s, timestamps %d", number, dtype, clock, pattern), Out: dtype,
						Times: onClock(clock, timestamps, b, n), Targets: onClock(clock, targets, b, m)}
					source := func(size int) *array {
						d := size / dtype.Size()
						return vals(dtype, uniformValues(r, b*n*d), b, n, d)
					}
					c.Src = source([]int{16, 48, 112, 512, 2048}[number%5])
					c.Opts = smallOptions[number/3%5]
					f := plannedFusion(c, dtype)
					for k, size := range []int{8, 4} {
						p := &part{resampling: resampling{Src: source(size * (1 + number%3)), Opts: c.Opts}}
						p.Times = onClock(clock, append([]float64(nil), timestamps...), b, n)
						if k == number%2 && pattern != same {
							p.Offset = time.Duration(limitTick * 1e9 * float64(number%9-4))
						}
						f.Streams = append(f.Streams, p)
					}
					l := layout{name: "apart", front: 64, step: []int{0, 4 / dtype.Size(), 8 / dtype.Size()}[number%3], end: 8, sideOffset: 64}
					if number%4 == 0 && pattern != same {
						f.Targets, f.Clock = nil, ops.Uniform(0, 40, m)
						u := *c
						u.Targets, u.Clock = nil, f.Clock
						c = &u
					}
					test(c, f, l)
				}
			}
		}
	}
}

// smallLaunchEnds tests the limits of such launches: a wrong last timestamp, timestamps that do not fill 16 bytes, and the longest
// possible bracket without MaxGap.
func smallLaunchEnds(test visit) {
	const end = 1 << 62
	for _, dtype := range narrowDTypes {
		d := 16 / dtype.Size()
		alone := func(name string, times, targets *array) {
			n := times.shape[0]
			c := &resampling{Name: fmt.Sprint(name, " ", dtype, " ", n), Out: dtype, Src: vals(dtype, count(1, n*d), n, d), Times: times, Targets: targets}
			test(c, &fusing{Name: c.Name, Out: dtype, Streams: []*part{{resampling: *c}}, Targets: targets, Planned: true}, layouts[0])
		}
		for _, n := range []int{2, 5, 6, 7} {
			for _, clock := range clockDTypes {
				timestamps := count(0, n-1)
				timestamps[n-1] = 0x1.8p62
				if clock != tensor.I64 {
					timestamps[n-1] = math.NaN()
				}
				alone("a bad last timestamp, "+clock.String(), vals(clock, timestamps, n), vals(clock, []float64{0, 1}, 2))
			}
			far := []int64{-end}
			for len(far) < n {
				far = append(far, end)
			}
			alone("the longest bracket", arr(far, n), arr([]int64{0, end / 2, -end}, 3))
		}
	}
}
