package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// infiniteLines tests lines between samples that are infinite, NaN, or so far apart that their difference overflows, in rows of every
// width for which kernels differ. Every feature has every pair of samples.
func infiniteLines(test visit) {
	const n = 150
	for k, in := range valueDTypes {
		most := map[tensor.DType]float64{tensor.F32: math.MaxFloat32, tensor.F64: math.MaxFloat64, tensor.F16: 65504, tensor.BF16: 0x1.fep127}[in]
		list := []float64{inf, -inf, math.NaN(), most, -most, .75 * most, -.75 * most, 1, 0, math.Copysign(0, -1)}
		for i, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate} {
			r := rng(uint64(150 + i))
			targets := uniformValues(r, 2*n)
			for i := range targets {
				targets[i] = (targets[i] + 1) / 2 * n // values from -1 to 1 become times from 0 to n
			}
			c := &resampling{Name: fmt.Sprint("infinite lines ", in, edge), Times: vals(clockDTypes[1+(i+k)%2], count0(n), n), Opts: ops.ResampleOptions{Edge: edge}}
			c.Targets = vals(c.Times.dtype, append(targets, -1, -.5, n+1), 2*n+3)
			values := func(dtype tensor.DType, d int) *array {
				v := make([]float64, n*d)
				for i := range v {
					v[i] = list[r.IntN(len(list))]
					if d == 2 && i%2 == 1 && math.Abs(v[i]) > most/2 {
						v[i] = 1 // the kind may be one with a formula that overflows here
					}
				}
				return vals(dtype, v, n, d)
			}
			everyWay(c, in, values, test)
			for _, d := range []int{3, 7, 9, 17, 32, 75} {
				one := *c
				one.Src, one.Planned = values(in, d), true
				test(&one, &fusing{Name: c.Name, Out: in, Streams: []*part{{resampling: one}, {resampling: one}}, Targets: c.Targets, Planned: true}, layouts[d%2])
			}
		}
	}
}

// loneInfinities tests a feature that is infinite at two consecutive samples while all others are finite. The targets between them
// must be that infinity, in each chunk of a thread, for every pair of dtypes and every number of elements that are moved together.
func loneInfinities(test visit) {
	const n, m = 40, 320
	targets := make([]float64, m)
	for i := range targets {
		targets[i] = float64(i) * (n - 1) / m
	}
	for i, in := range valueDTypes {
		for k, out := range valueDTypes {
			r := rng(uint64(170 + 4*i + k))
			for _, d := range []int{5, 6, 12, 24} {
				v := uniformValues(r, n*d)
				for k := range n / 8 { // far apart, so that each is another thread's work
					at := (8*k+r.IntN(6))*d + r.IntN(d)
					v[at], v[at+d] = inf, inf
				}
				c := &resampling{Name: fmt.Sprint("lone infinity ", in, out, d), Src: vals(in, v, n, d), Times: vals(tensor.F64, count0(n), n), Targets: vals(tensor.F64, targets, m), Out: out,
					Opts: ops.ResampleOptions{Snap: ops.Within(0)}, Planned: true}
				one := *c
				one.Opts.Snap = ops.Limit{}
				test(c, &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: one}}, Targets: c.Targets, Planned: true}, layouts[d%2])
			}
		}
	}
}
