package opstest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// huge tests an output with more than 2^31 elements. The source is one row of features, repeated by stride 0 and scaled by the time,
// so that the upload is small.
func (s *suite) huge(t *testing.T) {
	if s.isCPU() {
		t.Skip("needs a GPU with 6 GB of free memory")
	}
	const b, targets, d = 9, 1 << 18, 1024 // 2^31 + 2^28 elements
	rows := make([]float64, b*2*d)
	for i := range rows {
		row, sample, feature := i/(2*d), i/d%2, i%d
		rows[i] = float64(sample * (row + 1) * (feature%16 + 1))
	}
	p := &placed{dev: s.dev}
	src := p.put(vals(tensor.BF16, rows, b, 2, d))
	times := p.put(arr([]int64{0, targets - 1}, 2))
	require.NoError(t, p.err)
	defer p.close()
	dst, err := s.dev.Alloc(tensor.BF16, b, targets, d)
	if err != nil {
		t.Skipf("needs a GPU with 6 GB of free memory: %v", err)
	}
	defer dst.Close()
	plan, err := s.dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.Uniform(0, 1e9, targets)}, ops.ResampleOptions{})
	require.NoError(t, err)
	defer plan.Close()
	require.NoError(t, plan.Run(s.dev.Queue()))
	require.NoError(t, s.dev.Synchronize(context.Background()))
	for _, at := range [][2]int{{0, 0}, {0, 1}, {4, targets / 2}, {7, targets - 1}, {8, 0}, {8, 1 << 17}, {8, targets - 1}} {
		part, err := dst.AsStrided([]int{d}, []int{1}, (at[0]*targets+at[1])*d)
		require.NoError(t, err)
		host := tensor.Must(tensor.New(tensor.BF16, d))
		require.NoError(t, s.dev.Copy(context.Background(), host, part))
		a := float32(float64(at[1]) / (targets - 1))
		want := make([]uint64, d)
		for f := range want {
			want[f] = encode(tensor.BF16, float64(a*float32((at[0]+1)*(f%16+1))))
		}
		assert.Equal(t, want, bitsOf(host), "row %d, target %d", at[0], at[1])
	}
}
