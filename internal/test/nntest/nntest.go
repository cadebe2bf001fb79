package nntest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// groups are the parts of the suite, by name.
var groups []group

type group struct {
	name string
	run  func(t *testing.T, d *Bench)
}

// Run runs the suite on a device, or only the groups in only. The long cases run on a GPU, and elsewhere if ROBOCACHE_LONG=1.
func Run(t *testing.T, d *ops.Device, only ...string) {
	t.Helper()
	all := d.Info().Backend == "cuda" || thorough.Long
	Pick(t, d, func(name string) bool { return all || !Long(name) }, only...)
}

// Long reports whether a case is long. Shorter cases run the same kernels.
func Long(name string) bool {
	return slices.ContainsFunc(long, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// long lists prefixes of the long cases' names: large products in the slower layout, large tails in both layouts, attention with
// a policy's size, and more numbers for the rounding of AdamW's norm.
var long = []string{
	"nn/large/", "nt/large_rows/", "nn/large_depth/", "nt/large_gate/", "nt/large_everything/", "nn/large_gelu/", "nt/large_tail/", "nn/large_tail/", "nt/large_gelu/", "nt/large_depth/",
	"policy/", "adamw/norm roundings, 1", "adamw/norm roundings, 2", "adamw/norm roundings, 3",
}

// Pick runs the cases for which pick returns true. name is the case's name in its group. If only has names, other groups are
// skipped.
func Pick(t *testing.T, d *ops.Device, pick func(name string) bool, only ...string) {
	nn, err := d.NN()
	require.NoError(t, err)
	for _, g := range groups {
		if len(only) == 0 || slices.Contains(only, g.name) {
			t.Run(g.name, func(t *testing.T) { g.run(t, &Bench{d, nn, pick}) })
		}
	}
}

// Bench is a device under test, with the choice of cases.
type Bench struct {
	Device *ops.Device
	NN     backend.NN
	pick   func(name string) bool
}

// Case runs a case if pick returns true for its name.
func (b *Bench) Case(t *testing.T, name string, run func(t *testing.T)) {
	if b.pick(name) {
		t.Run(name, run)
	}
}

// Exact reports whether the device must return the same bits as the device "cpu:exact".
func (b *Bench) Exact() bool { return b.NN.Working() == tensor.BF16 }

// Job makes the tensors for an operation on m's device, and returns its plan. It makes them in the same order on every device, so
// that they get the same random values.
type Job func(m *Maker) (backend.Plan, error)

// Maker makes a job's tensors on a device, and keeps a list of the outputs.
type Maker struct {
	t    *testing.T
	b    *Bench
	rng  *rand.Rand
	held []*tensor.Tensor
	out  []written
}

type written struct {
	name string
	t    *tensor.Tensor
}

// NN returns the neural network operations of the device.
func (m *Maker) NN() backend.NN { return m.b.NN }

// Rand returns the source of random numbers. It has the same seed for every device.
func (m *Maker) Rand() *rand.Rand { return m.rng }

// Of uploads values as a tensor. dtype is F32, BF16 (values are rounded), I32, I64 or U8; 0 means the device's Working dtype.
func (m *Maker) Of(dtype tensor.DType, values []float64, shape ...int) *tensor.Tensor {
	m.t.Helper()
	if dtype == 0 {
		dtype = m.b.NN.Working()
	}
	host := tensor.Must(tensor.New(dtype, shape...))
	switch dtype {
	case tensor.F32:
		fill(host, values, func(v float64) float32 { return float32(v) })
	case tensor.BF16:
		fill(host, values, tensor.BF16FromF64)
	case tensor.I32:
		fill(host, values, func(v float64) int32 { return int32(v) })
	case tensor.I64:
		fill(host, values, func(v float64) int64 { return int64(v) })
	case tensor.U8:
		fill(host, values, func(v float64) uint8 { return uint8(v) })
	}
	on, err := m.b.Device.Upload(m.t.Context(), host)
	require.NoError(m.t, err)
	m.held = append(m.held, on)
	return on
}

func fill[T tensor.Element](host *tensor.Tensor, values []float64, of func(float64) T) {
	data, err := tensor.Data[T](host)
	if err != nil {
		panic(err)
	}
	for i, v := range values {
		data[i] = of(v)
	}
}

// Normal uploads normally distributed numbers times scale. They are rounded to bfloat16, so that every device computes with the
// same numbers.
func (m *Maker) Normal(dtype tensor.DType, scale float64, shape ...int) *tensor.Tensor {
	n, _ := tensor.NumElements(shape...)
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(tensor.BF16FromF64(m.rng.NormFloat64() * scale).F32())
	}
	return m.Of(dtype, list, shape...)
}

// Out makes an output for the job. Its elements are NaN at first, or 1 if the dtype is an integer, so that an element that the job
// does not write is found.
func (m *Maker) Out(name string, dtype tensor.DType, shape ...int) *tensor.Tensor {
	n, _ := tensor.NumElements(shape...)
	list := make([]float64, n)
	for i := range list {
		list[i] = 1
		if dtype == 0 || dtype.IsFloat() {
			list[i] = math.NaN()
		}
	}
	t := m.Of(dtype, list, shape...)
	m.out = append(m.out, written{name, t})
	return t
}

// InOut marks an input as an output also, because the job writes to it.
func (m *Maker) InOut(name string, t *tensor.Tensor) { m.out = append(m.out, written{name, t}) }

// rateOf returns a dropout rate between 2^-(n+1) and 2^-n. If possible, its threshold equals the random word of an element, so that
// the element is just kept; the element's index is column modulo 4. Otherwise the rate is 0.75 * 2^-n.
func rateOf(seed uint64, step, site uint32, elements, column, n int) float32 {
	for i := range uint64(elements / 4) {
		word := fp32.Words(seed, step, site, i)[column%4]
		if rate := float32(word) * 0x1p-32; word>>(31-n) == 1 && fp32.Threshold(rate) == word {
			return rate
		}
	}
	return float32(math.Ldexp(0.75, -n))
}

// Do runs a job and returns its outputs as float64, by name. If an input value is invalid, for example an ID out of range, Do also
// returns the device's error, a *ops.ValueError. Other errors fail the test.
func (b *Bench) Do(t *testing.T, seed uint64, job Job) (map[string][]float64, error) {
	t.Helper()
	m := &Maker{t: t, b: b, rng: rand.New(rand.NewPCG(seed, 1))}
	defer func() {
		for _, h := range m.held {
			require.NoError(t, h.Close())
		}
	}()
	plan, err := job(m)
	require.NoError(t, err)
	require.NoError(t, plan.Run(b.Device.Queue().Backend()))
	bad := b.Device.Synchronize(t.Context())
	got := map[string][]float64{}
	for _, o := range m.out {
		host := tensor.Must(tensor.New(o.t.DType(), o.t.Shape()...))
		require.NoError(t, b.Device.Copy(t.Context(), host, o.t))
		list, err := tensor.Floats(host)
		require.NoError(t, err)
		got[o.name] = list
	}
	require.NoError(t, plan.Close())
	return got, bad
}

// Same runs a job and returns its outputs. If the device is Exact, Same also runs the job on "cpu:exact" and fails the test if any
// bits differ. Two NaNs count as equal.
func (b *Bench) Same(t *testing.T, seed uint64, job Job) map[string][]float64 {
	t.Helper()
	got, bad := b.Do(t, seed, job)
	require.NoError(t, bad)
	if !b.Exact() || b.Device.Name() == "cpu:exact" {
		return got
	}
	cpu, err := ops.Open("cpu:exact")
	require.NoError(t, err)
	nn, err := cpu.NN()
	require.NoError(t, err)
	want, bad := (&Bench{Device: cpu, NN: nn}).Do(t, seed, job)
	require.NoError(t, bad)
	require.NoError(t, cpu.Close())
	for name, w := range want {
		g, wrong := got[name], 0
		for i := range w {
			if math.Float64bits(g[i]) == math.Float64bits(w[i]) || math.IsNaN(g[i]) && math.IsNaN(w[i]) {
				continue
			}
			if wrong++; wrong <= 3 {
				assert.Fail(t, "other bits", "%s[%d]: got %v, want %v", name, i, g[i], w[i])
			}
		}
		assert.Zero(t, wrong, "%s: elements of %d that differ", name, len(w))
	}
	return got
}

// Within fails the test if got[i] differs from want[i] by more than bound(i) for any i. It prints the first three.
func Within(t *testing.T, name string, got, want []float64, bound func(i int) float64) {
	t.Helper()
	require.Len(t, got, len(want), name)
	wrong := 0
	for i, w := range want {
		if got[i] == w || math.Abs(got[i]-w) <= bound(i) { // equal: both may be infinite
			continue
		}
		if wrong++; wrong <= 3 {
			assert.Fail(t, "out of bounds", "%s[%d]: got %v, want %v within %v", name, i, got[i], w, bound(i))
		}
	}
	assert.Zero(t, wrong, "%s: elements of %d out of bounds", name, len(want))
}
