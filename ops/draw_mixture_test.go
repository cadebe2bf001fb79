package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

func mixtures() (all []ops.DrawOptions) {
	add := func(positions int, sources ...ops.DrawSource) {
		o := ops.DrawOptions{Sources: sources, Positions: positions, Shuffle: true, Seed: uint64(positions)}
		for _, s := range sources {
			o.Count += s.Windows
		}
		all = append(all, o)
	}
	add(0, ops.DrawSource{Windows: 50, Weight: 1})
	add(0, ops.DrawSource{Windows: 50, Weight: 1}, ops.DrawSource{Windows: 1, Weight: 0.01})
	add(0, ops.DrawSource{Windows: 50, Weight: 2}, ops.DrawSource{Windows: 500, Weight: 1}, ops.DrawSource{Windows: 3, Weight: 0})
	add(1000, ops.DrawSource{Windows: 50, Weight: 1}, ops.DrawSource{Windows: 7, Weight: 1}, ops.DrawSource{Windows: 5000, Weight: 1})
	add(7, ops.DrawSource{Windows: 3, Weight: 0.1}, ops.DrawSource{Windows: 30, Weight: 0.2}, ops.DrawSource{Windows: 10, Weight: 0.7})
	return all
}

// In every epoch each source has its share, by less than a window what its weight asks for, and no window of a source is drawn again before
// all of them have been, over epochs.
func TestASourceIsGoneThroughInEpochsOfItsOwn(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, o := range mixtures() {
		for _, o.Shuffle = range []bool{true, false} {
			n, weights := max(o.Positions, 0), 0.0
			if n == 0 {
				n = o.Count
			}
			for _, s := range o.Sources {
				weights += s.Weight
			}
			drawn := make([]int, o.Count)
			for epoch := range int64(30) {
				what := fmt.Sprintf("%+v, epoch %d", o, epoch)
				before := slices.Clone(drawn)
				for p := range int64(n) {
					drawn[o.Window(epoch, p)]++
				}
				first := 0
				for d, share := range o.Shares() {
					s := o.Sources[d]
					assert.InDelta(t, float64(n)*s.Weight/weights, share, 1, what)
					took := 0
					for w := first; w < first+s.Windows; w++ {
						took += drawn[w] - before[w]
					}
					require.Equal(t, share, took, what)
					of := drawn[first : first+s.Windows]
					require.LessOrEqual(t, slices.Max(of)-slices.Min(of), 1, what)
					first += s.Windows
				}
			}
		}
	}
	assert.Nil(t, ops.DrawOptions{Count: 3}.Shares())
}

// Over epochs each source comes to each position, and of a source each window, as often as by chance. Seeds are fixed; a good order exceeds
// the limits, of which that of a few sources is the higher since so few numbers are not distributed normally, once in 10,000 counts.
func TestMixturesAreDrawnAsByChance(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, o := range mixtures() {
		n := o.Positions
		if n == 0 {
			n = o.Count
		}
		shares := o.Shares()
		for _, p := range []int{0, 1, n / 2, n - 1} {
			const epochs = 6000
			var sources, wantSources, windows, wantWindows []float64
			for d, s := range o.Sources {
				if shares[d] == 0 {
					continue
				}
				want := epochs * float64(shares[d]) / float64(n)
				sources, wantSources = append(sources, 0), append(wantSources, want)
				for range s.Windows {
					windows, wantWindows = append(windows, 0), append(wantWindows, want/float64(s.Windows))
				}
			}
			for epoch := range int64(epochs) {
				w := o.Window(epoch, int64(p))
				windows[w]++ // those without a share come last
				d := 0
				for ; w >= int64(o.Sources[d].Windows); d++ {
					w -= int64(o.Sources[d].Windows)
				}
				sources[d]++
			}
			if len(sources) > 1 {
				assert.Less(t, excess(sources, wantSources, len(sources)-1), 10.0, "%+v: sources at position %d", o, p)
			}
			if slices.Min(wantWindows) >= 5 {
				assert.Less(t, excess(windows, wantWindows, len(windows)-1), 4.0, "%+v: windows at position %d", o, p)
			}
		}
	}
}
