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

// fusePin is a shape of the fusing benchmarks, some with fewer rows, and the sectors that its one launch moves.
type fusePin struct {
	b, t        int
	streams     [][2]int // S, D
	ready       bool     // as pin's
	read, write int
	prefetched  int
}

// In the second and third, rows are 1064 and 1176 bytes long: of every other one the chunks of 16 bytes are written in halves, each of which is
// a request of its own for the same sectors.
var fusePins = []fusePin{
	{2, 128, [][2]int{{100, 512}, {200, 128}, {300, 64}}, true, 24061, 11264, 2400},
	{2, 250, [][2]int{{150, 512}, {500, 14}, {1000, 6}}, true, 38648, 26344, 2807},
	{4, 50, [][2]int{{30, 512}, {100, 64}, {200, 12}}, true, 16353, 11554, 1360},
	{4, 50, [][2]int{{30, 512}, {100, 64}, {200, 12}}, false, 33135, 11554, 0},
}

// run makes one launch as the benchmarks make it: bf16 streams, evenly spaced over the same 5 s.
func (p fusePin) run(t *testing.T) (launch *cudasim.Launch, least int) {
	dev, d := device(t, cudasim.Config{})
	r := rand.New(rand.NewPCG(3, 4))
	up := func(x *tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		out, err := dev.Upload(x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, out.Close()) })
		return out
	}
	even := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(float64(i) * 5 / float64(n-1))
		}
		return out
	}
	args := ops.FuseArgs{Targets: ops.At(up(tensor.Of(even(p.t), p.t)))}
	width := 0
	for _, s := range p.streams {
		src := make([]tensor.BFloat16, p.b*s[0]*s[1])
		for i := range src {
			src[i] = tensor.BF16FromF64(r.NormFloat64())
		}
		args.Streams = append(args.Streams, ops.FuseStream{Src: up(tensor.Of(src, p.b, s[0], s[1])), SrcTimes: up(tensor.Of(even(s[0]), s[0]))})
		width += s[1]
		least += 2*p.b*min(s[0], 2*p.t)*s[1] + 4*s[0]
	}
	least += 2*p.b*p.t*width + 4*p.t
	args.Dst = up(tensor.New(tensor.BF16, p.b, p.t, width))
	plan, err := dev.PlanFuse(args, ops.FuseOptions{Launch: launched(p.ready)})
	require.NoError(t, err)
	defer plan.Close()
	var seen []*cudasim.Launch
	d.Observe(func(l *cudasim.Launch) { seen = append(seen, l) })
	require.NoError(t, plan.Run(dev.Stream()))
	require.NoError(t, dev.Synchronize(context.Background()))
	d.Observe(nil)
	require.Len(t, seen, 1, "a fusion is one launch")
	return seen[0], least
}

func TestFuseMovesNoMoreThanPinned(t *testing.T) {
	for _, p := range fusePins {
		t.Run(fmt.Sprint(p.b, p.streams, p.t, launched(p.ready)), func(t *testing.T) {
			l, least := p.run(t)
			c := l.Counters
			t.Logf("%s: %d, %d sectors, %d lines prefetched: %.3f of the least bytes; %d warp instructions, bank conflicts %d", l.Kernel, c.GlobalRead.Sectors, c.GlobalWrite.Sectors, c.Prefetched,
				float64(32*(c.GlobalRead.Sectors+c.GlobalWrite.Sectors))/float64(least), c.Warps, c.BankConflicts)
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
