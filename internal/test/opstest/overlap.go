package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// overlap runs every form of Voxelize and four of Fuse at once, each on its own stream and many times without waiting. The results
// would be wrong if plans shared scratch memory, or if a kernel assumed that it runs alone.
func (s *suite) overlap(t *testing.T) {
	n, rounds := s.times(40_000), 2+s.times(20)
	if s.isCPU() { // its queues are threads, for which few points are enough
		n = thorough.Of(n/4, n)
	}
	var rigs []*rig
	for i, opts := range voxelForms {
		c := &voxelizing{Name: fmt.Sprintf("%+v", opts), Points: vals(tensor.F32, uniformValues(rng(uint64(90+i)), 3*n), n, 3), Box: cube(-8, 4, 4), Opts: opts, V: n}
		rigs = append(rigs, s.rig(t, &subject{operation: c, op: "Voxelize"}))
	}
	for i := range 4 {
		r, steps := rng(uint64(i)), 1+n/8
		targets := make([]float64, 2*steps)
		for k := range targets {
			targets[k] = 4 * r.Float64()
		}
		stream := func(dtype tensor.DType, d, samples int, times *array) *part {
			return &part{resampling: resampling{Src: vals(dtype, uniformValues(r, 2*samples*d), 2, samples, d), Times: times}}
		}
		one, two := stream(tensor.F32, 8, 3, vals(tensor.F64, []float64{0, 1, 2, 0, 2, 3}, 2, 3)), stream(tensor.BF16, 3, 5, vals(tensor.F64, count0(5), 5))
		two.Scale = []float32{1, 2, 3}
		f := &fusing{Name: fmt.Sprint("fusion ", i), Out: tensor.F32, Streams: []*part{one, two}, Targets: vals(tensor.F64, targets, 2, steps)}
		rigs = append(rigs, s.rig(t, &subject{operation: f, op: "Fuse"}))
	}
	var queues []*ops.Queue
	for range rigs {
		queues = append(queues, s.stream(t))
	}
	for range rounds {
		for i, r := range rigs {
			require.NoError(t, r.plan.Run(queues[i]))
		}
	}
	for i, r := range rigs {
		require.NoError(t, queues[i].Synchronize(background))
		r.check(t, rounds, "beside others")
	}
}
