package suggest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

var ctx = context.Background()

func cpu(t *testing.T) *ops.Device {
	t.Helper()
	d, err := ops.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func episode(list ...dataset.Stream) *dataset.Episode { return &dataset.Episode{Streams: list} }
