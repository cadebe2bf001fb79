package nn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// A step that cannot be is an *Error that says what was given and what can be, or an *ops.MemoryError.
func TestStepsThatCannotBe(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	m, err := NewModel(ctx, d, small(), 1)
	require.NoError(t, err)
	defer m.Close()
	host := func(dtype tensor.DType, shape ...int) *tensor.Tensor { return tensor.Must(tensor.New(dtype, shape...)) }
	train := func(f func(*Training)) StepOptions {
		o := everything()
		f(o.Train)
		return o
	}
	tokens := func(f func(*backend.TokensJob)) StepOptions {
		j := &backend.TokensJob{
			Sources: []backend.TokenSource{{Values: host(tensor.F32, 2, 9, 5), Ticks: 9, D: 5}}, Width: 5,
			Scale: host(tensor.F32, 5), Shift: host(tensor.F32, 5), Relative: host(tensor.I32, 5),
			Target:      &backend.TokenSource{Values: host(tensor.F32, 2, 9, 3), Ticks: 9, D: 3},
			TargetScale: host(tensor.F32, 3), TargetShift: host(tensor.F32, 3), TargetRelative: host(tensor.I32, 3),
			Reference: backend.Reference{Values: host(tensor.F32, 2, 9, 1), Tick: 8},
		}
		f(j)
		return StepOptions{Tokens: j}
	}
	for _, c := range []struct {
		arg  string
		b, t int
		o    StepOptions
	}{
		{"batch", 0, 9, StepOptions{}},
		{"batch", 2, -1, StepOptions{}},
		{"batch", 2, 13, StepOptions{}},
		{"batch", 1 << 30, 9, StepOptions{}},
		{"batch", 1 << 62, 1 << 62, StepOptions{}},
		{"Loss", 2, 9, StepOptions{Loss: 7}},
		{"Chunk", 2, 9, StepOptions{Chunk: 2}},
		{"Chunk", 2, 9, StepOptions{Chunk: -1}},
		{"Ring", 2, 9, StepOptions{Ring: -1}},
		{"IDs", 2, 9, StepOptions{IDs: host(tensor.I32, 2)}},
		{"Pad", 2, 9, StepOptions{Pad: host(tensor.U8, 9, 2)}},
		{"Pad", 2, 9, StepOptions{Pad: host(tensor.F32, 2, 9)}},
		{"Predict", 2, 9, StepOptions{Predict: true, Train: everything().Train}},
		{"Train.Schedule.Rate", 2, 9, train(func(t *Training) { t.Schedule.Rate = 0 })},
		{"Train.Schedule.Rate", 2, 9, train(func(t *Training) { t.Schedule.Rate = math.NaN() })},
		{"Train.Schedule.Steps", 2, 9, train(func(t *Training) { t.Schedule.Steps = 4 })},
		{"Train.Schedule.Least", 2, 9, train(func(t *Training) { t.Schedule.Least = 1 })},
		{"Train.Schedule.WarmUp", 2, 9, train(func(t *Training) { t.Schedule.WarmUp = -1 })},
		{"Train.Schedule.Decay", 2, 9, train(func(t *Training) { t.Schedule.Decay = 9 })},
		{"Train.Beta1", 2, 9, train(func(t *Training) { t.Beta1 = 1 })},
		{"Train.Beta2", 2, 9, train(func(t *Training) { t.Beta2 = 1 })},
		{"Train.Eps", 2, 9, train(func(t *Training) { t.Eps = -1 })},
		{"Train.WeightDecay", 2, 9, train(func(t *Training) { t.WeightDecay = -1 })},
		{"Train.MaxNorm", 2, 9, train(func(t *Training) { t.MaxNorm = math.Inf(1) })},
		{"Train.EMA", 2, 9, train(func(t *Training) { t.EMA = math.NaN() })},
		{"Train.Batches", 2, 9, train(func(t *Training) { t.Batches = maxBatches + 1 })},
		{"Tokens.Width", 2, 9, tokens(func(j *backend.TokensJob) { j.Width = 6 })},
		{"Tokens.Sources[0].Values", 2, 9, tokens(func(j *backend.TokensJob) { j.Sources[0].Values = nil })},
		{"Tokens.Sources[0].Values", 2, 9, tokens(func(j *backend.TokensJob) { j.Sources[0].Ticks = 10 })},
		{"Tokens.Sources[0].Ticks", 2, 9, tokens(func(j *backend.TokensJob) { j.Sources[0].Token = 1 })},
		{"Tokens.Sources[0].Column", 2, 9, tokens(func(j *backend.TokensJob) { j.Sources[0].Column = 1 })},
		{"Tokens.Sources", 2, 9, tokens(func(j *backend.TokensJob) { j.Sources = make([]backend.TokenSource, backend.MaxTokenSources+1) })},
		{"Tokens.Reference.Values", 2, 9, tokens(func(j *backend.TokensJob) { j.Reference.Tick = 9 })},
		{"Tokens.Reference.Ticks", 2, 9, tokens(func(j *backend.TokensJob) { j.Reference.Tick = -1 })},
		{"Tokens.Reference.Values", 2, 9, tokens(func(j *backend.TokensJob) { j.Reference.Values = host(tensor.F32, 2, 9) })},
		{"Tokens.Reference", 2, 9, tokens(func(j *backend.TokensJob) { j.Reference.Valid = host(tensor.U8, 2, 8) })},
		{"Tokens.Relative", 2, 9, tokens(func(j *backend.TokensJob) { j.Reference.Values = nil })},
		{"Tokens.TargetRelative", 2, 9, tokens(func(j *backend.TokensJob) { j.TargetRelative = tensor.Must(tensor.Of([]int32{-1, 0, 1}, 3)) })},
		{"Tokens.Relative", 2, 9, tokens(func(j *backend.TokensJob) { j.Relative = tensor.Must(tensor.Of([]int32{-1, 0, -2, 0, 0}, 5)) })},
		{"Tokens.Scale", 2, 9, tokens(func(j *backend.TokensJob) { j.Scale = nil })},
		{"Tokens.Target", 2, 9, tokens(func(j *backend.TokensJob) { j.Target = nil })},
		{"Tokens.Target", 2, 9, tokens(func(j *backend.TokensJob) { j.Target.D = 2 })},
		{"Tokens.TargetShift", 2, 9, tokens(func(j *backend.TokensJob) { j.TargetShift = host(tensor.F32, 4) })},
	} {
		s, err := NewStep(ctx, m, c.b, c.t, c.o)
		var e *Error
		if assert.ErrorAs(t, err, &e, "%s", c.arg) {
			assert.Equal(t, c.arg, e.Arg, "%v", err)
		}
		assert.Nil(t, s)
	}
	var memory *ops.MemoryError
	available = func() int64 { return 100_000 }
	_, err = NewStep(ctx, m, 20, 9, StepOptions{Train: everything().Train}) // 23 kB a matrix 32 wide
	available = tensor.Available
	if assert.ErrorAs(t, err, &memory) {
		assert.Greater(t, memory.Bytes, int64(100_000))
	}
	s, err := NewStep(ctx, m, 2, 9, tokens(func(*backend.TokensJob) {}))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.ErrorIs(t, s.Run(d.Queue()), ops.ErrClosed)
	_, err = NewModel(ctx, d, Config{5, []Layer{Linear{Name: "a", Out: 1 << 15}, Linear{Name: "b", Out: 1 << 15}, Linear{Name: "c", Out: 1 << 15}, Linear{Name: "d", Out: 1 << 15}}}, 1)
	assert.ErrorIs(t, err, ops.ErrTooLarge)
	require.NoError(t, m.Close())
	_, err = NewStep(ctx, m, 2, 9, StepOptions{})
	assert.ErrorIs(t, err, ops.ErrClosed)
}

// The schedules: their first step, the end of the warm-up, the middle and the end, and the table that AdamW reads.
func TestSchedules(t *testing.T) {
	s := Schedule{Rate: 2, WarmUp: 4, Decay: Cosine, Steps: 12, Least: 1}
	for step, want := range map[int]float64{1: 0.5, 2: 1, 4: 2, 8: 1.5, 12: 1, 100: 1} {
		assert.InDelta(t, want, s.At(step), 1e-12, "step %d", step)
	}
	s.Decay = LinearDecay
	for step, want := range map[int]float64{1: 0.5, 4: 2, 6: 1.75, 8: 1.5, 12: 1, 100: 1} {
		assert.InDelta(t, want, s.At(step), 1e-12, "step %d", step)
	}
	assert.Equal(t, 3.0, Schedule{Rate: 3}.At(1))
	train := Training{Schedule: s, WeightDecay: 0.5}
	require.NoError(t, train.check())
	rows := must(tensor.Data[float32](must(train.table())))
	assert.InDelta(t, 0.5/(1-0.9), rows[0], 1e-6)
	assert.InDelta(t, math.Sqrt(1-0.999), rows[1], 1e-8)
	assert.InDelta(t, 1-0.25, rows[2], 1e-7)
	end := rows[len(rows)-4:]
	assert.Equal(t, []float32{1, 1, 0.5, 0}, end, "the last row is that of every later step")
}

// A class of each token is learned: cross-entropy goes from the logarithm of the number of classes to 0, and rows of class -1 do not count.
func TestClassesAreLearned(t *testing.T) {
	d := open(t, "cpu")
	opts := StepOptions{Loss: CrossEntropy, Train: &Training{Schedule: Schedule{Rate: 1e-2}}}
	r := newRig(t, d, Config{5, []Layer{Linear{Name: "a", Out: 64, Activation: GELU}, Linear{Name: "b", Out: 7}}}, 2, 5, opts, false)
	require.NoError(t, upload(t.Context(), d, r.step.Classes, []int32{0, 1, 2, 3, 4, 5, 6, 0, -1, -1}))
	losses := r.runs(200).Losses
	assert.InDelta(t, math.Log(7), losses[0], 1)
	assert.Less(t, losses[199], float32(0.01))
}

// The ring has the losses of the latest steps, the oldest first.
func TestTheRingHasTheLatestLosses(t *testing.T) {
	d := open(t, "cpu")
	opts := everything()
	all := newRig(t, d, small(), 2, 9, opts, false).runs(11)
	opts.Ring = 4
	p := newRig(t, d, small(), 2, 9, opts, false).runs(11)
	assert.Equal(t, all.Losses[7:], p.Losses)
	assert.Equal(t, int64(11), p.Step)
}

// A step that does not train has no dropout, changes nothing, and has a count of its own.
func TestEvaluationChangesNothing(t *testing.T) {
	d := open(t, "cpu")
	r := newRig(t, d, small(), 2, 9, everything(), false)
	r.runs(2)
	before := r.bits()
	s, err := NewStep(t.Context(), r.model, 2, 9, StepOptions{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, d.Copy(t.Context(), s.Values, r.step.Values))
	require.NoError(t, d.Copy(t.Context(), s.TargetValues, r.step.TargetValues))
	for range 3 {
		require.NoError(t, s.Run(d.Queue()))
	}
	p, err := s.Progress(t.Context(), d.Queue())
	require.NoError(t, err)
	assert.Equal(t, int64(3), p.Step)
	assert.Equal(t, p.Losses[0], p.Losses[2])
	assert.Equal(t, before, r.bits())
	r.opts.Train = nil
	_, _, loss := r.wanted(1)
	assert.InEpsilon(t, loss, p.Losses[0], 1e-5)
	assert.Equal(t, int64(3), r.runs(1).Step)
}
