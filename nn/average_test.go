package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// The average follows the decay 1-s^-0.75, at most 0.9999, and Average copies it to another model.
func TestTheAverageFollowsItsDecay(t *testing.T) {
	d := open(t, "cpu")
	r := newRig(t, d, small(), 2, 9, StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-2}, EMA: 0.75}}, false)
	want := make([]float64, r.model.size)
	for s := 1; s <= 20; s++ {
		r.runs(1)
		decay := min(1-math.Pow(float64(s), -0.75), 0.9999)
		all := r.bits()
		for i, p := range all[0] {
			want[i] = decay*want[i] + (1-decay)*float64(p)
			require.InDelta(t, want[i], all[3][i], 1e-6, "step %d", s)
		}
	}
	other, err := NewModel(t.Context(), d, small(), 1)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, r.step.Average(t.Context(), other))
	got, err := download[float32](t.Context(), d, other.params)
	require.NoError(t, err)
	assert.Equal(t, r.bits()[3], got)
	assert.NotEqual(t, r.bits()[0], got)
	table, err := (&Training{Schedule: Schedule{Rate: 1}, EMA: 0.75, Beta1: 0.9, Beta2: 0.9}).table()
	require.NoError(t, err)
	assert.Equal(t, 215444, table.Dim(0), "the first step with the largest decay: 10000^(4/3)")
	rows := must(tensor.Data[float32](table))
	assert.Equal(t, float32(1e-4), rows[len(rows)-1])
	table, err = (&Training{Schedule: Schedule{Rate: 1}, EMA: 0.1, Beta1: 0.9, Beta2: 0.9}).table()
	require.NoError(t, err)
	assert.Equal(t, 1<<20, table.Dim(0), "a table of bounded size, where the decay would change for 10^40 steps")
	rows = must(tensor.Data[float32](table))
	assert.InEpsilon(t, 0.25, rows[len(rows)-1], 1e-6)
}

// Two equal batches in a step give the same bits as one batch. Three give nearly the same, because their sum is rounded.
func TestAStepIsTheMeanOfItsBatches(t *testing.T) {
	c := encoder(TransformerEncoderLayer{Heads: 1, FFN: 40})
	c.Layers = slices.Insert(c.Layers, 2, Layer(Embedding{Name: "task", Count: 3}))
	var want [5][]float32
	var losses []float32
	for _, batches := range []int{1, 2, 3} {
		opts := StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-3, WarmUp: 2, Decay: Cosine, Steps: 4}, Eps: 1e-3, Batches: batches}}
		r := newRig(t, open(t, "cpu"), c, 2, 9, opts, false)
		p := r.runs(4)
		assert.EqualValues(t, 4, p.Step)
		got := r.bits()
		switch batches {
		case 1:
			want, losses = got, p.Losses
		case 2:
			assert.Equal(t, losses, p.Losses)
			assert.Equal(t, want[:4], got[:4])
		case 3:
			for i, v := range want[0] {
				require.InDelta(t, v, got[0][i], 1e-5)
			}
		}
	}
}

// Each batch in a step has its own dropout, and Before makes it.
func TestEachBatchOfAStepIsMade(t *testing.T) {
	made := 0
	opts := StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-3}, Batches: 3}, Ring: 2, Before: func(*ops.Queue) error { made++; return nil }}
	r := newRig(t, open(t, "cpu"), small(), 2, 9, opts, false)
	assert.Equal(t, 3, made)
	p := r.runs(5)
	assert.EqualValues(t, 5, p.Step)
	require.Len(t, p.Losses, 2, "the ring's")
	ring := r.bits()[4]
	require.Len(t, ring, 6)
	assert.NotEqual(t, ring[0], ring[1])
	// Steps 4 and 5 are at 3%2 = 1 and 0.
	assert.InDelta(t, (ring[3]+ring[4]+ring[5])/3, p.Losses[0], 1e-6)
	assert.InDelta(t, (ring[0]+ring[1]+ring[2])/3, p.Losses[1], 1e-6)
}
