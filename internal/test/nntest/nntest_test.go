package nntest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/nntest"
	"github.com/robocache/robocache/ops"
)

func TestTheCPUsWays(t *testing.T) {
	for _, name := range []string{"cpu:exact", "cpu"} {
		t.Run(name, func(t *testing.T) {
			d, err := ops.Open(name)
			require.NoError(t, err)
			defer func() { require.NoError(t, d.Close()) }()
			nntest.Run(t, d)
		})
	}
}
