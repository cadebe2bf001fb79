package loader_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/isaaclab"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/loader/store"
	_ "github.com/robocache/robocache/storage/s3"
	"github.com/robocache/robocache/tensor"
)

func bytesOf(t *testing.T, values *tensor.Tensor) []byte {
	var b bytes.Buffer
	require.NoError(t, npy.WriteData(&b, values))
	return b.Bytes()
}

// TestAPackedStoreIsReadFromABucket packs one, and opens it there as it is on disk.
func TestAPackedStoreIsReadFromABucket(t *testing.T) {
	ctx := context.Background()
	d, err := dataset.Open(ctx, "../dataset/isaaclab/testdata/demos.hdf5", dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.safetensors")
	require.NoError(t, store.Pack(ctx, d, path, store.BuildOptions{}))
	s3test.Shared().PutFolder(t, "stores", "packed", dir)
	at := "s3://stores/packed/store.safetensors"
	assert.True(t, store.IsStore(at))
	here, err := store.Open(path)
	require.NoError(t, err)
	defer here.Close()
	there, err := store.Open(at)
	require.NoError(t, err)
	defer there.Close()
	require.Equal(t, len(here.Streams), len(there.Streams))
	for i := range here.Streams {
		assert.Equal(t, bytesOf(t, here.Streams[i].Values), bytesOf(t, there.Streams[i].Values))
	}
	sources, err := store.SourcesOf(ctx, dir)
	require.NoError(t, err)
	remote, err := store.SourcesOf(ctx, "s3://stores/packed")
	require.NoError(t, err)
	assert.Equal(t, sources, remote)
}
