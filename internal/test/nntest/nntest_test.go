package nntest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

// The fast way has all cases. The exact way has every eighth, because the suite of a simulated device has its bits for all of them.
func TestTheCPUsWays(t *testing.T) {
	for name, every := range map[string]int{"cpu:exact": thorough.Of(8, 1), "cpu": 1} {
		t.Run(name, func(t *testing.T) {
			d, err := ops.Open(name)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			number := 0
			nntest.Pick(t, d, func(name string) bool {
				number++
				return number%every == 0 && (thorough.Long || !nntest.Long(name))
			})
		})
	}
}
