package nn

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
)

// sameBits wants the same parameters, moments and losses after steps of training on a device as in the CPU's exact way.
func sameBits(t *testing.T, device *ops.Device, c Config, b, tokens, steps int, opts StepOptions, pad bool) {
	t.Helper()
	var want [5][]float32
	for _, d := range []*ops.Device{open(t, "cpu:exact"), device} {
		r := newRig(t, d, c, b, tokens, opts, pad)
		r.runs(steps)
		got := r.bits()
		if d != device {
			want = got
			continue
		}
		for i, part := range []string{"parameters", "m", "v", "average", "losses"} {
			wrong := 0
			for k, w := range want[i] {
				if math.Float32bits(w) == math.Float32bits(got[i][k]) {
					continue
				}
				if wrong++; wrong <= 3 {
					assert.Fail(t, "other bits", "%s[%d]: got %v, want %v", part, k, got[i][k], w)
				}
			}
			assert.Zero(t, wrong, "%s: elements of %d that differ", part, len(want[i]))
		}
	}
}

// Training proof 7: the simulated device gives the bits of the CPU's exact way, for every layer, over steps of training, dropout and clipping among
// them.
func TestTheSimulatedDeviceHasTheBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			opts := n.opts
			opts.Train = &Training{Schedule: Schedule{Rate: 1e-3}, Seed: 11}
			sameBits(t, open(t, "sim"), n.c, n.b, n.t, 2, opts, n.pad)
		})
	}
	sameBits(t, open(t, "sim"), small(), 2, 9, 5, everything(), false)
}

// So does a device whose blocks have 99 KB of shared memory, as most have that are no data centre's: norms as wide as this are made by launches of their own
// there, and the gradient of so long an attention takes fewer keys at once.
func TestADeviceWithLittleSharedMemoryHasTheBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	for preNorm, tokens := range map[bool]int{false: 225, true: thorough.Of(33, 225)} { // keys are the same for either
		b, err := sim.New(cudasim.New(cudasim.Config{Shared: 99 << 10}))
		require.NoError(t, err)
		d, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		c := Config{5, slices.Concat([]Layer{Linear{Name: "a", Out: 160}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 160}},
			Encoder("e", 1, TransformerEncoderLayer{Heads: 5, FFN: 48, PreNorm: preNorm, Dropout: 0.1}), []Layer{Linear{Name: "out", Out: 3}})}
		sameBits(t, d, c, 1, tokens, 1, StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-3}, Seed: 11}}, false)
	}
}

// Training proof 7 on a GPU: fifty steps, the same bits, whatever the GPU.
func TestAGPUHasTheBits(t *testing.T) {
	d, err := ops.Open("cuda")
	if err != nil {
		if os.Getenv("ROBOCACHE_REQUIRE_GPU") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no GPU: %v", err)
	}
	require.NoError(t, d.Close())
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			opts := n.opts
			opts.Train = &Training{Schedule: Schedule{Rate: 1e-3}, Seed: 11}
			sameBits(t, open(t, "cuda"), n.c, n.b, n.t, 50, opts, n.pad)
		})
	}
	for _, heads := range []int{1, 2, 4} { // as wide and as many as a policy's, over rows that fill no tile
		t.Run(fmt.Sprint(heads), func(t *testing.T) {
			c := Config{26, append(append([]Layer{Linear{Name: "in", Out: 64 * heads}, Positions{Name: "p", Count: 40}},
				Encoder("e", 2, TransformerEncoderLayer{Heads: 2 * heads, FFN: 256, Dropout: 0.1})...), Linear{Name: "out", Out: 26})}
			sameBits(t, open(t, "cuda"), c, 5, 37, 50, everything(), true)
		})
	}
}
