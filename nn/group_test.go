package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// several makes a group of a rank on each device, each with a batch of its own of a list of batches, and returns it and the devices.
func several(t testing.TB, names []string, c Config, b, tokens int, opts StepOptions) (*Group, []*ops.Device) {
	t.Helper()
	var devices []*ops.Device
	var models []*Model
	var all []StepOptions
	for i, name := range names {
		d := open(t, name)
		devices = append(devices, d)
		m, err := NewModel(t.Context(), d, c, uint64(7+i)) // the first's count
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		models, all = append(models, m), append(all, opts)
	}
	if !opts.Train.NCCL {
		require.NoError(t, ops.Connect(devices...))
	}
	g, err := NewGroup(t.Context(), models, b, tokens, all)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	for i, s := range g.Steps() {
		random := rand.New(rand.NewPCG(uint64(i), 9))
		r := &rig{TB: t, device: devices[i]}
		r.fill(s.Values, random)
		r.fill(s.TargetValues, random)
	}
	return g, devices
}

func (g *Group) runs(t testing.TB, n int) Progress {
	t.Helper()
	for range n {
		require.NoError(t, g.Run())
	}
	p, err := g.Progress(t.Context())
	require.NoError(t, err)
	return p
}

// arenas reads the parameters of all ranks, which are to be the same.
func (g *Group) arenas(t testing.TB) []float32 {
	t.Helper()
	var first []float32
	for i, s := range g.steps {
		list, err := download[float32](t.Context(), s.model.device, s.model.params)
		require.NoError(t, err)
		if i == 0 {
			first = list
			continue
		}
		assert.Equal(t, first, list, "rank %d", i)
	}
	return first
}

// Two devices with half of a batch each learn what one does with all of it, to float32's rounding.
func TestAGroupLearnsWhatOneDoes(t *testing.T) {
	opts := StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-3}, MaxNorm: 0.5, Eps: 1e-4}}
	c := encoder(TransformerEncoderLayer{Heads: 1, FFN: 40})
	g, devices := several(t, []string{"cpu", "cpu"}, c, 2, 9, opts)
	m, err := NewModel(t.Context(), devices[0], c, 7)
	require.NoError(t, err)
	defer m.Close()
	one, err := NewStep(t.Context(), m, 4, 9, opts)
	require.NoError(t, err)
	defer one.Close()
	for i, s := range g.Steps() {
		for _, pair := range [][2]*tensor.Tensor{{one.Values, s.Values}, {one.TargetValues, s.TargetValues}} {
			require.NoError(t, devices[0].Copy(t.Context(), must(pair[0].Slice(0, 2*i, 2*i+2)), pair[1]))
		}
	}
	got := g.runs(t, 10)
	for range 10 {
		require.NoError(t, one.Run(devices[0].Queue()))
	}
	want, err := one.Progress(t.Context(), devices[0].Queue())
	require.NoError(t, err)
	require.Len(t, got.Losses, 10)
	for i := range want.Losses {
		assert.InEpsilon(t, want.Losses[i], got.Losses[i], 1e-4)
	}
	assert.InEpsilon(t, want.Norm, got.Norm, 1e-4)
	alone, err := download[float32](t.Context(), devices[0], m.params)
	require.NoError(t, err)
	for i, v := range g.arenas(t) {
		assert.InDelta(t, alone[i], v, 1e-5)
	}
}

// A group on simulated devices that reach each other's memory has the bits of one on the CPU's exact way; and one that goes on from a checkpoint
// those of one that was not disturbed.
func TestAGroupHasTheBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	opts := everything()
	opts.Train.MaxNorm = 0
	path := filepath.Join(t.TempDir(), "c.safetensors")
	var want []float32
	for _, names := range [][]string{{"cpu:exact", "cpu:exact"}, {"sim:0", "sim:1"}} {
		g, _ := several(t, names, small(), 2, 9, opts)
		g.runs(t, 3)
		if want == nil {
			require.NoError(t, g.SaveState(t.Context(), path, nil))
		}
		g.runs(t, 3)
		got := g.arenas(t)
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got, names[0])
		_, err := g.LoadState(t.Context(), path)
		require.NoError(t, err)
		assert.Equal(t, int64(6), g.runs(t, 3).Step)
		assert.Equal(t, want, g.arenas(t), "%s, from a checkpoint", names[0])
	}
}

// Two devices whose gradients NCCL adds up have the same bits, since a sum of two has one order; and so have those that go on from a checkpoint.
func TestAGroupByNCCLHasTheBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	opts := everything()
	for _, most := range []float64{0, 0.5} {
		opts.Train.MaxNorm, opts.Train.NCCL = most, false
		g, _ := several(t, []string{"sim:0", "sim:1"}, small(), 2, 9, opts)
		g.runs(t, 3)
		want := g.arenas(t)
		opts.Train.NCCL = true
		g, _ = several(t, []string{"sim:0", "sim:1"}, small(), 2, 9, opts)
		path := filepath.Join(t.TempDir(), "c.safetensors")
		g.runs(t, 2)
		require.NoError(t, g.SaveState(t.Context(), path, nil))
		g.runs(t, 1)
		assert.Equal(t, want, g.arenas(t))
		_, err := g.LoadState(t.Context(), path)
		require.NoError(t, err)
		g.runs(t, 1)
		assert.Equal(t, want, g.arenas(t), "from a checkpoint")
		require.NoError(t, g.Close())
		require.ErrorIs(t, g.Run(), ops.ErrClosed)
	}
	opts.Train.NCCL = true
	m, err := NewModel(t.Context(), open(t, "cpu"), small(), 7)
	require.NoError(t, err)
	defer m.Close()
	_, err = NewGroup(t.Context(), []*Model{m}, 2, 9, []StepOptions{opts})
	require.ErrorIs(t, err, ops.ErrUnsupported)
}

// gpus are the names of all GPUs, where there are two or more.
func gpus(t testing.TB) []string {
	all, err := ops.OpenAll("cuda:all")
	var names []string
	for _, d := range all {
		names = append(names, d.Name())
		require.NoError(t, d.Close())
	}
	if len(names) < 2 {
		t.Skipf("no two GPUs: %d, %v", len(names), err)
	}
	return names
}

// Two GPUs have the bits of two of the CPU's exact way after fifty steps.
func TestAGroupOfGPUsHasTheBits(t *testing.T) {
	names := gpus(t)[:2]
	g, _ := several(t, []string{"cpu:exact", "cpu:exact"}, small(), 2, 9, everything())
	g.runs(t, 50)
	want := g.arenas(t)
	g, _ = several(t, names, small(), 2, 9, everything())
	g.runs(t, 50)
	assert.Equal(t, want, g.arenas(t))
}

// BenchmarkGroup times a step of 32 rows of 250 tokens on each of 1, 2 and so on of the GPUs: four layers 256 wide; and the step without its last
// phases, which says what they take.
func BenchmarkGroup(b *testing.B) {
	names := gpus(b)
	c := Config{256, slices.Concat([]Layer{Linear{Name: "in", Out: 256}, Positions{Name: "position", Count: 250}},
		Encoder("encoder", 4, TransformerEncoderLayer{Heads: 8, FFN: 1024}), []Layer{Linear{Name: "out", Out: 26}})}
	for n := 1; n <= len(names); n *= 2 {
		for k := len(phases); k > 0; k-- {
			b.Run(fmt.Sprintf("GPUs=%d/phases=%d", n, k), func(b *testing.B) {
				g, _ := several(b, names[:n], c, 32, 250, StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-4}}})
				require.NoError(b, g.graph.Close())
				g.graph = must(g.queues[0].Capture(func() error { return g.record(phases[:k]) }, g.queues[1:]...))
				g.runs(b, 20)
				b.ResetTimer()
				g.runs(b, b.N)
			})
		}
	}
}

// A NaN in one rank's batch stops all of them.
func TestANaNStopsAGroup(t *testing.T) {
	opts := everything()
	opts.Train.MaxNorm = 0
	g, devices := several(t, []string{"cpu", "cpu", "cpu"}, small(), 2, 9, opts)
	g.runs(t, 2)
	before := g.arenas(t)
	s := g.Steps()[1]
	list, err := download[float32](t.Context(), devices[1], s.Values)
	require.NoError(t, err)
	list[7] = float32(math.NaN())
	require.NoError(t, upload(t.Context(), devices[1], s.Values, list))
	require.NoError(t, g.Run())
	_, err = g.Progress(t.Context())
	var stopped *NotFiniteError
	if assert.ErrorAs(t, err, &stopped) {
		assert.Equal(t, int64(3), stopped.Step)
	}
	assert.Equal(t, before, g.arenas(t))
	list[7] = 0
	require.NoError(t, upload(t.Context(), devices[1], s.Values, list))
	require.NoError(t, g.Forgive(t.Context()))
	g.runs(t, 1)
	assert.NotEqual(t, before, g.arenas(t))
}

// Groups that cannot be.
func TestGroupsThatCannotBe(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	a := must(NewModel(ctx, d, small(), 1))
	defer a.Close()
	b := must(NewModel(ctx, d, one(), 1))
	defer b.Close()
	on := func(device string) *Model {
		m := must(NewModel(ctx, open(t, device), small(), 1))
		t.Cleanup(func() { assert.NoError(t, m.Close()) })
		return m
	}
	elsewhere, third, fourth, exact := on("cpu"), on("cpu"), on("cpu"), on("cpu:exact")
	other := everything()
	other.Train.Seed = 1
	for arg, c := range map[string]struct {
		models []*Model
		opts   []StepOptions
	}{
		"models":        {nil, nil},
		"opts":          {[]*Model{a}, nil},
		"models[1]":     {[]*Model{a, b}, []StepOptions{everything(), everything()}},
		"opts[1]":       {[]*Model{a, a}, []StepOptions{everything(), other}},
		"models[2]":     {[]*Model{a, elsewhere, a}, []StepOptions{everything(), everything(), everything()}},
		"models[3]":     {[]*Model{a, elsewhere, third, exact}, []StepOptions{everything(), everything(), everything(), everything()}},
		"models[4]":     {[]*Model{a, elsewhere, third, fourth, nil}, []StepOptions{everything(), everything(), everything(), everything(), everything()}},
		"opts[0].Train": {[]*Model{a}, []StepOptions{{}}},
		"batch":         {[]*Model{a}, []StepOptions{everything()}},
	} {
		tokens := 9
		if arg == "batch" {
			tokens = 99
		}
		g, err := NewGroup(ctx, c.models, 2, tokens, c.opts)
		var e *Error
		if assert.ErrorAs(t, err, &e, arg) {
			assert.Equal(t, arg, e.Arg)
		}
		assert.Nil(t, g)
	}
}

// What is nil or closed is an error, and no panic.
func TestWhatIsNilOrClosedIsAnError(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	m := must(NewModel(ctx, d, small(), 1))
	defer m.Close()
	group := must(NewGroup(ctx, []*Model{m}, 2, 9, []StepOptions{everything()}))
	require.NoError(t, group.Close())
	step := must(NewStep(ctx, m, 2, 9, everything()))
	defer step.Close()
	_, device := NewModel(ctx, nil, small(), 1)
	_, model := NewStep(ctx, nil, 1, 1, StepOptions{})
	_, queue := step.Progress(ctx, nil)
	_, closed := group.Progress(ctx)
	require.NoError(t, step.Close())
	_, after := step.Progress(ctx, d.Queue())
	for _, c := range []struct {
		err, kind error
	}{{device, ops.ErrMissing}, {model, ops.ErrMissing}, {queue, ops.ErrMissing}, {closed, ops.ErrClosed}, {after, ops.ErrClosed}} {
		require.ErrorIs(t, c.err, c.kind)
	}
}
