package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// If recordings count steps, their streams exist but have no rate. The missing rate is the reported reason, also for a request without
// stream names.
func TestAMissingRateIsTheReason(t *testing.T) {
	for _, args := range [][]string{{"--stream=actions"}, {"--stream=actions", "--stream=states"}, nil} {
		code, _, stderr := execute(append([]string{"batches", robosuite, "--hz=20", "--batch=2"}, args...)...)
		assert.NotZero(t, code)
		assert.Contains(t, stderr, "want --rate HZ, the steps a second", args)
		assert.NotContains(t, stderr, "no episode has")
	}
	_, _, stderr := execute("batches", robosuite, "--hz=20", "--batch=2", "--stream=act")
	assert.Contains(t, stderr, `"act", which no episode has`)
	code, _, stderr := execute("stats", robosuite, "--rate=20", "--stream=act")
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "stream act: got no such stream, want one of those there are")
	assert.NotContains(t, stderr, "cannot be read")
}
