package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// pin is a shape of the benchmarks with fewer rows, and the 32-byte sectors that its launch moves. The cut of a launch
// depends on the rows, so these are not the figures of the full shapes; but a kernel that moves more here moves more there.
type pin struct {
	b, s, t, d  int
	ready       bool // inputs are declared ready: the kernel of the full shapes, where a small launch by itself has another
	read, write int
	prefetched  int // lines of 128 bytes: all that the source has, or none
}

var pins = []pin{
	{1, 4096, 1024, 32, true, 7411, 2048, 0},
	{2, 500, 250, 256, true, 17531, 8000, 0},
	{4, 500, 250, 32, true, 5821, 2000, 0},
	{1, 1000, 500, 512, true, 34498, 16000, 0},
	{1, 1024, 1024, 256, true, 35453, 16384, 4096},
	{2, 250, 128, 128, true, 4693, 2048, 0},
	{4, 100, 50, 32, true, 1177, 400, 0},
	{2, 250, 128, 128, false, 8982, 2048, 0},
	{4, 100, 50, 32, false, 2039, 400, 0},
	{4, 500, 250, 67, false, 27877, 5250, 0},
	{2, 500, 1000, 75, true, 42534, 11503, 1172},
}

// launched is the mode of such a pin.
func launched(ready bool) ops.LaunchMode {
	if ready {
		return ops.LaunchInputsReady
	}
	return ops.LaunchPlain
}

// least is the bytes that a linear resampling of bf16 values must move: all source rows or two a target, the output, the
// targets, and all stamps, which are checked.
func (p pin) least() uint64 {
	return uint64(2*p.b*min(p.s, 2*p.t)*p.d + 2*p.b*p.t*p.d + 4*p.t + 4*p.b*p.s)
}

// run makes one launch as the benchmarks make it: stamps over 5 s with a fifth of a step of jitter inside.
func (p pin) run(t *testing.T) *cudasim.Launch {
	dev, d := device(t, cudasim.Config{})
	r := rand.New(rand.NewPCG(1, 2))
	src := make([]tensor.BFloat16, p.b*p.s*p.d)
	for i := range src {
		src[i] = tensor.BF16FromF64(r.NormFloat64())
	}
	times := make([]float32, 0, p.b*p.s)
	step := 5 / float64(p.s-1)
	for range p.b {
		for i := range p.s {
			at := float64(i) * step
			if i > 0 && i < p.s-1 {
				at += (r.Float64() - 0.5) * 0.4 * step
			}
			times = append(times, float32(at))
		}
	}
	targets := make([]float32, p.t)
	for i := range targets {
		targets[i] = float32(float64(i) * 5 / float64(p.t-1))
	}
	up := func(x *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		out, err := dev.Upload(x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, out.Close()) })
		return out
	}
	args := ops.ResampleArgs{
		Dst: up(tensor.New(tensor.BF16, p.b, p.t, p.d)), Src: up(tensor.Of(src, p.b, p.s, p.d)),
		SrcTimes: up(tensor.Of(times, p.b, p.s)), Targets: ops.At(up(tensor.Of(targets, p.t))),
	}
	plan, err := dev.PlanResample(args, ops.ResampleOptions{Launch: launched(p.ready)})
	require.NoError(t, err)
	defer plan.Close()
	var seen []*cudasim.Launch
	d.Observe(func(l *cudasim.Launch) { seen = append(seen, l) })
	require.NoError(t, plan.Run(dev.Stream()))
	require.NoError(t, dev.Synchronize(context.Background()))
	d.Observe(nil)
	require.Len(t, seen, 1)
	return seen[0]
}

// A change to a kernel that makes it move more fails here, without a GPU. One that makes it move a tenth less does, too, so
// that the pins stay tight.
func TestResampleMovesNoMoreThanPinned(t *testing.T) {
	for _, p := range pins {
		t.Run(fmt.Sprintf("%dx%d-%dx%d %v", p.b, p.s, p.t, p.d, launched(p.ready)), func(t *testing.T) {
			c := p.run(t).Counters
			moved := 32 * (c.GlobalRead.Sectors + c.GlobalWrite.Sectors)
			t.Logf("{%d, %d, %d, %d, %v, %d, %d, %d}: %.3f of the least bytes; bank conflicts %d", p.b, p.s, p.t, p.d, p.ready,
				c.GlobalRead.Sectors, c.GlobalWrite.Sectors, c.Prefetched, float64(moved)/float64(p.least()), c.BankConflicts)
			for _, x := range []struct {
				what        string
				got, pinned int
			}{{"prefetched", int(c.Prefetched), p.prefetched}, {"read", int(c.GlobalRead.Sectors), p.read}, {"written", int(c.GlobalWrite.Sectors), p.write}} {
				assert.LessOrEqual(t, x.got, x.pinned, "%s", x.what)
				assert.GreaterOrEqual(t, x.got, x.pinned*9/10, "%s: fewer than pinned: pin the new number", x.what)
			}
		})
	}
}
