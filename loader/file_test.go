package loader_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// A store that was saved and opened gives the same batches.
func TestASavedStoreIsTheStore(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	m[4] = nil
	m[2].Streams = m[2].Streams[:2]
	packed := inMemory(t, m)
	dir := t.TempDir()
	path := filepath.Join(dir, "made.safetensors")
	require.NoError(t, packed.Save(path))
	assert.True(t, store.IsStore(path))
	again, err := store.Open(path)
	require.NoError(t, err)
	assert.Equal(t, packed.Episodes, again.Episodes)
	require.Len(t, again.Skipped, 1)
	assert.Equal(t, packed.Skipped[0].String(), again.Skipped[0].String())
	assert.Equal(t, packed.Info().Splits, again.Info().Splits)
	want := map[int64]uint64{}
	for _, s := range []*store.Store{packed, again} {
		got := map[int64]uint64{}
		l, err := loader.New(ctx, open(t, "cpu"), s, plan(), loader.Options{Batch: 8, Last: ops.LastShort})
		require.NoError(t, err)
		digests(t, l, got, 0, 1, 8)
		require.NoError(t, l.Close())
		if s == packed {
			want = got
		}
		assert.Equal(t, want, got)
	}
	second := filepath.Join(dir, "again.safetensors")
	require.NoError(t, again.Save(second))
	one, err := os.ReadFile(path)
	require.NoError(t, err)
	two, err := os.ReadFile(second)
	require.NoError(t, err)
	assert.Equal(t, one, two, "equal stores give equal bytes")
}

func TestWhatIsNoStoreIsRefused(t *testing.T) {
	packed := inMemory(t, recordings(t))
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, packed.Save(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for what, change := range map[string][2]string{
		"another version": {`\"version\":2`, `\"version\":1`}, "no index": {"robocache.store", "robocache.other"},
		"a broken index": {`\"episodes\":[`, `\"episodes\":(`},
	} {
		text := strings.Replace(string(whole), change[0], change[1], 1)
		require.NotEqual(t, string(whole), text, what)
		require.NoError(t, os.WriteFile(path, filetest.Reseal(t, []byte(text)), 0o600))
		_, err := store.Open(path)
		var bad *dataset.FormatError
		assert.ErrorAs(t, err, &bad, what)
		assert.NotContains(t, err.Error(), "checksum", what)
	}
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-100], 0o600))
	_, err = store.Open(path)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	_, err = store.Open(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestAStoreKnowsWhenItIsStale(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", ".hidden"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	packed := &store.Store{}
	var err error
	packed.Sources, err = store.SourcesOf(ctx, dir)
	require.NoError(t, err)
	assert.Len(t, packed.Sources, 2)
	require.NoError(t, packed.Fresh(ctx, dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("c"), 0o600))
	require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "d")))
	err = packed.Fresh(ctx, dir)
	var stale *store.StaleError
	require.ErrorAs(t, err, &stale)
	assert.ElementsMatch(t, []string{"a", "b", "d"}, stale.Changed)
}

// Stores on disks have the old name of lossy.
func TestInexactOfAnOlderStoreIsLossy(t *testing.T) {
	packed := inMemory(t, recordings(t))
	packed.Streams[0].Inexact = 3
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, packed.Save(path))
	whole := string(filetest.Read(t, path))
	require.Contains(t, whole, `\"lossy\":3`)
	old := strings.Replace(whole, `\"lossy\":3`, `\"inexact\":3      `, 1) // the header grows by 8 bytes
	length := binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64([]byte(whole))+8)
	filetest.Write(t, path, filetest.Reseal(t, append(length, old[8:]...)))
	for range 2 { // the second store is written with the new name
		s, err := store.Open(path)
		require.NoError(t, err)
		assert.Equal(t, 3, s.Streams[0].Inexact)
		path = filepath.Join(t.TempDir(), "s.safetensors")
		require.NoError(t, s.Save(path))
		require.NoError(t, s.Close())
	}
	assert.NotContains(t, string(filetest.Read(t, path)), "inexact")
}
