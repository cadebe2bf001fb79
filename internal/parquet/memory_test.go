package parquet

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

// Many rows in few bytes are refused if the memory has no room for their values. That is no damage.
func TestRowsThatDoNotFitTheMemoryAreRefused(t *testing.T) {
	const rows = 5_000_000
	var out bytes.Buffer
	w := NewWriter(&out, []Field{{Name: "i", Type: "int64"}}, nil)
	require.NoError(t, w.WriteGroup(rows, []Values{{Int64: make([]int64, rows)}}))
	require.NoError(t, w.Close())
	require.Less(t, out.Len(), 100_000)
	c, v := opened(t, out.Bytes()).Column("i"), &Values{}
	require.NoError(t, c.Read(context.Background(), 0, 0, rows, v))
	assert.Len(t, v.Int64, rows)
	memory.Set(32 << 20)
	defer memory.Set(0)
	err := c.Read(context.Background(), 0, 0, rows, &Values{})
	assert.True(t, dataset.IsFatal(err), "%v", err)
	assert.ErrorContains(t, err, "column i: out of memory: got 38.15 MiB")
}
