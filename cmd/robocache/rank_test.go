package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARankThatVariablesSayIsTold(t *testing.T) {
	args := []string{"batches", kindsRLDS, "--hz=20", "--rate=10", "--batch=1", "--backend=cpu", "--stream=action", "--digest"}
	code, _, stderr := execute(append(args, "--world=3")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--world: got 3 without --rank")
	code, _, stderr = execute(append(args, "--world=0")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "of --world 0")
	t.Setenv("JOB_COMPLETION_INDEX", "2")
	_, stderr = good(t, append(args, "--world=3")...)
	assert.Contains(t, stderr, "rank 2 of 3, by JOB_COMPLETION_INDEX and --world")
	t.Setenv("RANK", "1")
	t.Setenv("WORLD_SIZE", "3")
	_, stderr = good(t, args...)
	assert.Contains(t, stderr, "rank 1 of 3, by RANK and WORLD_SIZE")
}
