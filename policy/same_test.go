package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What differs from a checkpoint is said in a line: the first field, what it is here and what it is there.
func TestTheFirstDifferenceFromACheckpointIsNamed(t *testing.T) {
	base := func() *Config {
		r, err := RecipeOf(Kind, "small")
		require.NoError(t, err)
		return &Config{Recipe: r, Seed: 1<<63 + 1, Plan: "version: 1\nrate: 30\n", Trained: []int{0, 1}, Inputs: []Column{{Name: "a", Std: 1}, {Name: "b", Std: 1}},
			Contents: map[int]string{0: "aa", 1: "bb"}}
	}
	require.NoError(t, base().same(base(), "dir"))
	for want, change := range map[string]func(c *Config){
		"steps: got 300, want 1000":                    func(c *Config) { c.Recipe.Steps = 300 },
		"lr: got 0.5, want 0.001":                      func(c *Config) { c.Recipe.Rate = 0.5 },
		"seed: got 9223372036854775808, want 922337":   func(c *Config) { c.Seed-- },
		`plan line 2: got "rate: 15", want "rate: 30"`: func(c *Config) { c.Plan = "version: 1\nrate: 15\n" },
		`plan line 3: got "seed: 2", want ""`:          func(c *Config) { c.Plan += "seed: 2" },
		"recipe of dropout: got 0.1, want 0.3":         func(c *Config) { c.Recipe.Dropout = 0.1 },
		"episodes: got [0,1,2], want [0,1]":            func(c *Config) { c.Trained = append(c.Trained, 2) },
		`samples of 1: got "cc", want "bb"`:            func(c *Config) { c.Contents[1] = "cc" },
		`samples of 2: got "cc", want none`:            func(c *Config) { c.Contents[2] = "cc" },
		"inputs 1 of std: got 2, want 1":               func(c *Config) { c.Inputs[1].Std = 2 },
	} {
		c := base()
		change(c)
		var bad *CheckpointError
		err := c.same(base(), "dir")
		require.ErrorAs(t, err, &bad, want)
		assert.Contains(t, err.Error(), want)
		assert.Less(t, len(err.Error()), 200)
	}
}

// Losses that are not those of the checkpoint's steps are refused.
func TestLossesOfOtherStepsAreRefused(t *testing.T) {
	text := lossesTo([]float32{1, 0.5, 1e-30})
	list, err := lossesFrom("dir", text, 3)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 0.5, 1e-30}, list)
	for _, text := range []string{"", "?", text[4:]} {
		_, err := lossesFrom("dir", text, 3)
		var bad *CheckpointError
		assert.ErrorAs(t, err, &bad, text)
	}
}
