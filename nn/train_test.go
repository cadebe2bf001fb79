package nn

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/reference"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// small is a network of the shape that policies have, with everything that training has.
func small() Config {
	return encoder(TransformerEncoderLayer{Heads: 1, FFN: 40, Dropout: 0.1, Causal: true})
}

func everything() StepOptions {
	return StepOptions{Train: &Training{
		Schedule: Schedule{Rate: 2e-3, WarmUp: 5, Decay: Cosine, Steps: 80, Least: 1e-4}, WeightDecay: 0.01, MaxNorm: 0.5, Seed: 5, EMA: 0.75, Batches: 2,
	}}
}

// bits reads all that training has.
func (r *rig) bits() [5][]float32 {
	var all [5][]float32
	for i, t := range []*tensor.Tensor{r.model.params, r.model.m, r.model.v, r.model.average, r.step.ring} {
		if t == nil {
			continue
		}
		var err error
		all[i], err = download[float32](r.Context(), r.device, t)
		require.NoError(r, err)
	}
	return all
}

func (r *rig) runs(n int) Progress {
	for range n {
		require.NoError(r, r.step.Run(r.device.Queue()))
	}
	p, err := r.step.Progress(r.Context(), r.device.Queue())
	require.NoError(r, err)
	return p
}

// Ten steps of AdamW, with warm-up, weight decay and clipping, follow float64's, gradients and all: the parameters stay within a hundredth of how far
// they have come in float32, whose sqrt(v) of the first steps makes a sign of a gradient that is nearly 0.
func TestAdamWFollowsFloat64(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, clip := range []float64{0, 0.5} {
		opts := StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-2, WarmUp: 4, Decay: LinearDecay, Steps: 8, Least: 1e-3}, WeightDecay: 0.1, MaxNorm: clip, Eps: 1e-3}}
		r := newRig(t, open(t, "cpu"), encoder(TransformerEncoderLayer{Heads: 1, FFN: 40}), 2, 9, opts, false)
		begin := r.parameters()
		type moments struct{ m, v []float64 }
		state, now := map[string]moments{}, r.parameters()
		for name, p := range now {
			state[name] = moments{make([]float64, len(p.V)), make([]float64, len(p.V))}
		}
		for step := 1; step <= 10; step++ {
			m := &mirror{params: now, b: 2, t: 9}
			loss := m.MSE(m.layers(reference.Of(18, 5, r.values), r.config.Layers), r.target, nil)
			m.Backward()
			norm, scale := 0.0, 1.0
			for _, p := range now {
				for _, g := range p.G {
					norm += g * g
				}
			}
			if norm = math.Sqrt(norm); clip > 0 {
				scale = min(1, clip/(norm+1e-6))
			}
			a := reference.AdamW{Rate: opts.Train.Schedule.At(step), Beta1: 0.9, Beta2: 0.999, Eps: 1e-3, Decay: 0.1}
			for name, p := range now {
				s := state[name]
				for i := range p.V {
					p.V[i], s.m[i], s.v[i] = a.Step(step, p.V[i], s.m[i], s.v[i], p.G[i]*scale)
					p.G[i] = 0
				}
			}
			got := r.run()
			assert.InEpsilon(t, loss, got.Losses[step-1], 1e-4, "the loss of step %d", step)
			if clip > 0 {
				assert.InEpsilon(t, norm, got.Norm, 1e-4)
			}
		}
		for name, p := range r.parameters() {
			way := func(to []float64) (list []float64) {
				for i := range to {
					list = append(list, to[i]-begin[name].V[i])
				}
				return list
			}
			assert.Less(t, apart(way(p.V), way(now[name].V)), 0.01, name)
		}
	}
}

// Training proof 4: one batch is learned by heart.
func TestOneBatchIsLearnedByHeart(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cpu:exact", "cpu"} {
		opts := StepOptions{Train: &Training{Schedule: Schedule{Rate: 3e-3, WarmUp: 20, Decay: Cosine, Steps: 400}}}
		r := newRig(t, open(t, name), encoder(TransformerEncoderLayer{Heads: 1, FFN: 64}), 2, 8, opts, false)
		losses := r.runs(400).Losses
		t.Log(name, losses[0], losses[399])
		assert.Less(t, losses[399], losses[0]/1000, name)
	}
}

// Training proof 5: a run that is saved at step 50, and gone on with by another program, has at step 100 the bits of one that was not disturbed.
func TestATrainingGoesOnToTheBit(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cpu:exact", "cpu"} {
		d := open(t, name)
		path := filepath.Join(t.TempDir(), "at50.safetensors")
		whole := newRig(t, d, small(), 2, 9, everything(), false)
		whole.runs(50)
		require.NoError(t, whole.step.SaveState(t.Context(), path, map[string]string{"loader": "there"}))
		want := whole.runs(50)
		other := newRig(t, d, small(), 2, 9, everything(), false)
		other.runs(3) // of which nothing stays
		texts, err := other.step.LoadState(t.Context(), path)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"loader": "there"}, texts)
		got := other.runs(50)
		assert.Equal(t, int64(100), got.Step)
		assert.Equal(t, want.Losses[50:], got.Losses, name)
		a, b := whole.bits(), other.bits()
		for i := range 4 {
			assert.Equal(t, a[i], b[i], name)
		}
		assert.NotEqual(t, want.Losses[0], want.Losses[99])
	}
}

// Training proof 6: a number that is not finite is named, and nothing is trained of its batch or later ones, until one forgives it.
func TestANaNIsNamedAndNotTrained(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cpu:exact", "cpu"} {
		for i, bad := range []float64{math.NaN(), math.Inf(1), math.NaN()} {
			c := small()
			if i == 2 { // the number is in the memory too
				c = decoder(TransformerDecoderLayer{Heads: 1, FFN: 40})
			}
			r := newRig(t, open(t, name), c, 2, 9, everything(), false)
			r.runs(3)
			before := r.bits()
			values := make([]float32, len(r.values))
			for i, v := range r.values {
				values[i] = float32(v)
			}
			good := values[9*5+12]
			values[9*5+12] = float32(bad)
			require.NoError(t, upload(t.Context(), r.device, r.step.Values, values))
			require.NoError(t, r.step.Run(r.device.Queue()))
			_, err := r.step.Progress(t.Context(), r.device.Queue())
			var value *ops.ValueError
			if assert.ErrorAs(t, err, &value, name) {
				assert.Equal(t, 1, value.Row, "the batch row")
			}
			values[9*5+12] = good
			require.NoError(t, upload(t.Context(), r.device, r.step.Values, values))
			require.NoError(t, r.step.Run(r.device.Queue()))
			_, err = r.step.Progress(t.Context(), r.device.Queue())
			var stopped *NotFiniteError
			if assert.ErrorAs(t, err, &stopped, name) {
				assert.Equal(t, int64(4), stopped.Step)
			}
			after := r.bits()
			for i := range 3 {
				assert.Equal(t, before[i], after[i], name)
			}
			require.NoError(t, r.step.Forgive(t.Context()))
			r.run()
			assert.NotEqual(t, before[0], r.bits()[0], name)
		}
	}
}

// A loss beyond float32 is as bad as a NaN.
func TestALossBeyondFloat32IsNotTrained(t *testing.T) {
	r := newRig(t, open(t, "cpu"), small(), 2, 9, everything(), false)
	huge := make([]float32, len(r.target))
	huge[3] = 3e38
	require.NoError(t, upload(t.Context(), r.device, r.step.TargetValues, huge))
	before := r.bits()
	require.NoError(t, r.step.Run(r.device.Queue()))
	_, err := r.step.Progress(t.Context(), r.device.Queue())
	var stopped *NotFiniteError
	if assert.ErrorAs(t, err, &stopped) {
		assert.Equal(t, int64(1), stopped.Step)
	}
	assert.Equal(t, before[0], r.bits()[0])
}

// A step allocates nothing.
func TestAStepAllocatesNothing(t *testing.T) {
	d := open(t, "cpu")
	r := newRig(t, d, small(), 2, 9, everything(), false)
	r.runs(2)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		if err := r.step.Run(d.Queue()); err != nil {
			t.Error(err)
		}
	}))
}

// What comes before a step is in its graph: it makes each step's batch.
func TestABatchIsMadeInTheStep(t *testing.T) {
	d := open(t, "cpu")
	calls := 0
	from, err := tensor.Of([]float32{1, 2, 3, 4}, 1, 2, 2)
	require.NoError(t, err)
	opts := StepOptions{Predict: true, Before: func(q *ops.Queue) error { calls++; return nil }}
	m, err := NewModel(t.Context(), d, Config{2, []Layer{Linear{Name: "a", Out: 1}}}, 1)
	require.NoError(t, err)
	defer m.Close()
	one, err := tensor.Of([]float32{1, 1}, 2)
	require.NoError(t, err)
	none, err := tensor.Of([]int32{-1, -1}, 2)
	require.NoError(t, err)
	zero, err := tensor.Of([]float32{0, 0}, 2)
	require.NoError(t, err)
	opts.Tokens = &backend.TokensJob{Sources: []backend.TokenSource{{Values: from, Ticks: 2, D: 2}}, Width: 2, Scale: one, Shift: zero, Relative: none}
	s, err := NewStep(t.Context(), m, 1, 2, opts)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Run(d.Queue()))
	require.NoError(t, s.Run(d.Queue()))
	p, err := s.Progress(t.Context(), d.Queue())
	require.NoError(t, err)
	assert.Equal(t, 1, calls)
	assert.Equal(t, int64(2), p.Step)
	assert.Empty(t, p.Losses)
	w := m.params
	data, err := tensor.Data[float32](w)
	require.NoError(t, err)
	got, err := tensor.Elements[float32](s.Prediction)
	require.NoError(t, err)
	for i := range 2 {
		assert.InDelta(t, float64(2*i+1)*float64(data[0])+float64(2*i+2)*float64(data[1])+float64(data[m.Parameters()[1].Offset]), got[i*s.Prediction.Stride(0)], 1e-5)
	}
	broken := errors.New("no batch")
	opts.Before = func(*ops.Queue) error { return broken }
	_, err = NewStep(t.Context(), m, 1, 2, opts)
	assert.ErrorIs(t, err, broken)
}
