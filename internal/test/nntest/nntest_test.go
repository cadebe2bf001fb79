package nntest_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
)

// large matches products with so many tiles that ops/cuda uses other kernels. The CPU devices have the same code for them as for others.
var large = regexp.MustCompile(`^n[nt]/large`)

// TestTheCPUsWays runs all cases on the fast CPU device, but by default none of the large products. The exact CPU device gets every eighth case, because the suite for a
// simulated device compares its bits in all cases.
func TestTheCPUsWays(t *testing.T) {
	for name, every := range map[string]int{"cpu:exact": thorough.Of(8, 1), "cpu": 1} {
		t.Run(name, func(t *testing.T) {
			d, err := ops.Open(name)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			number := 0
			nntest.Pick(t, d, func(name string) bool {
				number++
				return number%every == 0 && (thorough.Long || !nntest.Long(name) && !large.MatchString(name))
			})
		})
	}
}
