package settest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// Open opens a dataset of any registered format with the default options, and closes it at the end of the test.
func Open(t testing.TB, path string) dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// Episode reads episode i of a dataset.
func Episode(t testing.TB, d dataset.Dataset, i int) *dataset.Episode {
	t.Helper()
	e, err := d.Episode(context.Background(), i)
	require.NoError(t, err)
	return e
}
