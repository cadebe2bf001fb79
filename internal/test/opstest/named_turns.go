package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// turns tests every kind in every dtype with samples that are far apart, close, or equal: rotations by less than an eighth of a turn
// and by more than a whole turn, and between opposite samples.
func turns(test visit) {
	const n, m, d = 40, 60, 12
	for i, in := range valueDTypes {
		out := in
		if in.Size() == 2 {
			out = tensor.F32
		}
		for k, kind := range ops.Interps() {
			r := rng(uint64(80 + 20*i + k))
			v := uniformValues(r, n*d)
			for s := range n {
				scale := []float64{.05, .15, .4}[r.IntN(3)]
				near := []float64{1, -1, 1 + 0x1p-9}[s/5%3]
				if kind == ops.InterpRot6D {
					near = math.Abs(near) // otherwise it may be half a turn, which can go either way
				}
				for c := range d {
					if v[s*d+c] *= scale; s > 0 && s%5 == 0 {
						v[s*d+c] = v[(s-1)*d+c] * near
					}
				}
			}
			clock := clockDTypes[(i+k)%3]
			timestamps, targets := make([]float64, n), make([]float64, m)
			for s := range timestamps {
				timestamps[s] = float64(s) * .5
			}
			for x := range targets {
				targets[x] = math.Floor(r.Float64()*(n/2)*64)/64 - .25
			}
			c := &resampling{Name: fmt.Sprint("turns ", kind, in), Src: vals(in, v, n, d), Times: onClock(clock, timestamps, n), Targets: onClock(clock, targets, m), Out: out,
				Opts: ops.ResampleOptions{Interp: kind, Window: anyWindow}, Planned: true}
			if kind == ops.InterpAngle {
				c.Opts.Period = 2
			}
			test(c, plannedFusion(c, out), layouts[k%2])
		}
	}
}
