package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/policy"
)

// Of an episode of the G1 that was held out the small policy foretells more than half of a second's motion, and more than a ridge does.
func TestTheSmallPolicyIsBetterThanARidge(t *testing.T) {
	thorough.SkipShort(t, "the test of docs/train.md trains such a policy, and compares its skill")
	store := recorded(t, "shared/data/lerobot_v21_g1")
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{3}})
	assert.LessOrEqual(t, tr.Config().Recipe.FLOP(len(tr.Config().Inputs), len(tr.Config().Targets)), 60e6)
	for !tr.Done() {
		_, err := tr.Run(context.Background(), 500)
		require.NoError(t, err)
	}
	e, err := tr.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	ridge, err := policy.Ridge(context.Background(), tr.Config(), store)
	require.NoError(t, err)
	assert.InDelta(t, 0.541, ridge.At(30), 0.002)
	assert.Greater(t, e.At(30), 0.57)
	assert.Greater(t, e.At(30), ridge.At(30))
}

func TestAHorizonThatWasNotEvaluatedHasNoSkill(t *testing.T) {
	e := &policy.Evaluation{Skills: []policy.Skill{{Ticks: 30, Skill: .5}}}
	assert.Equal(t, []float64{.5, 0}, []float64{e.At(30), e.At(31)})
}
