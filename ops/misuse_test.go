package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

func TestWrongCallsAreRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cpu", "far"} {
		t.Run(name, func(t *testing.T) {
			dev, err := ops.Open(name)
			require.NoError(t, err)
			defer func() { assert.NoError(t, dev.Close()) }()
			opstest.Misuse(t, dev)
		})
	}
}
