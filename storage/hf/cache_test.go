package hf

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/test/hubtest"
	"github.com/robocache/robocache/storage"
)

func TestTheCacheHasTheHubsLayout(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	sha := server.Commit("lab/walk", "main", set)
	for name := range set {
		mustRead(t, s, base+"/"+name)
	}
	top := filepath.Join(server.Cache, "datasets--lab--walk")
	ref, err := os.ReadFile(filepath.Join(top, "refs", "main"))
	require.NoError(t, err)
	assert.Equal(t, sha, string(ref))
	link, err := os.Readlink(filepath.Join(top, "snapshots", sha, "data", "a.parquet"))
	require.NoError(t, err)
	assert.Equal(t, "../../../blobs/"+fmt.Sprintf("%x", sha256.Sum256(set["data/a.parquet"])), filepath.ToSlash(link))
	link, err = os.Readlink(filepath.Join(top, "snapshots", sha, "empty"))
	require.NoError(t, err)
	assert.Equal(t, "../../blobs/e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", filepath.ToSlash(link), "git's hash of no bytes")
	_, err = os.Lstat(filepath.Join(top, "snapshots", sha, "videos"))
	require.ErrorIs(t, err, fs.ErrNotExist, "what is read by ranges is not kept")
	var names []string
	require.NoError(t, filepath.WalkDir(server.Cache, func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() && filepath.Base(filepath.Dir(name)) != "blobs" && e.Type()&fs.ModeSymlink == 0 {
			names = append(names, filepath.Base(name))
		}
		return err
	}))
	assert.Equal(t, []string{"main"}, names, "no lock and no temporary file is left")
	at, err := storage.Find("lab/walk")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(top, "snapshots", sha), at)

	server.Count()
	s = newStore()
	pinned := base + "@" + sha
	assert.Equal(t, set["meta/info.json"], mustRead(t, s, pinned+"/meta/info.json"))
	requests, _ := server.Count()
	assert.Empty(t, requests, "a commit in the cache needs no network")
	server.Commit("lab/walk", "main", map[string][]byte{"renamed": set["data/a.parquet"]})
	s = newStore()
	assert.True(t, bytes.Equal(set["data/a.parquet"], mustRead(t, s, base+"/renamed")))
	requests, _ = server.Count()
	assert.NotContains(t, strings.Join(requests, "\n"), "resolve", "the content is there from another commit")
}

func TestOfflineReadsOnlyTheCache(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	mustRead(t, newStore(), base+"/meta/info.json")
	mustRead(t, newStore(), base+"/data.json")
	server.Count()
	for _, on := range []string{"1", "true", "Yes", "ON"} {
		t.Setenv("HF_HUB_OFFLINE", on)
		s := newStore()
		assert.Equal(t, set["meta/info.json"], mustRead(t, s, base+"/meta/info.json"))
		list, err := s.List(t.Context(), base, -1)
		require.NoError(t, err)
		assert.Equal(t, []storage.Info{{Name: "data.json", Size: 2}, {Name: "meta", Mode: fs.ModeDir}}, list)
		for _, url := range []string{base + "/data/a.parquet", base + "@v1", "hf://datasets/lab/none"} {
			_, err = s.Stat(t.Context(), url)
			require.ErrorIs(t, err, fs.ErrNotExist)
			assert.ErrorContains(t, err, "HF_HUB_OFFLINE")
			_, err = s.List(t.Context(), url, -1)
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	}
	requests, _ := server.Count()
	assert.Empty(t, requests)
}

func TestADownloadThatWasInterruptedIsContinued(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	want := set["data/a.parquet"]
	blobs := filepath.Join(server.Cache, "datasets--lab--walk", "blobs")
	require.NoError(t, os.MkdirAll(blobs, 0o700))
	left := filepath.Join(blobs, fmt.Sprintf("%x.incomplete", sha256.Sum256(want)))
	for _, part := range [][]byte{want[:1<<20], want, append(bytes.Clone(want), 0), noise(3 << 20)[1<<20:], {}} {
		require.NoError(t, os.WriteFile(left, part, 0o600))
		server.Count()
		assert.True(t, bytes.Equal(want, mustRead(t, newStore(), base+"/data/a.parquet")))
		_, bytes := server.Count()
		if len(part) == 1<<20 {
			assert.Less(t, bytes, int64(1<<20+1<<16), "half of it")
		}
		_, err := os.Stat(left)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Join(blobs, "..", "snapshots", "x"))))
		require.NoError(t, os.Remove(strings.TrimSuffix(left, ".incomplete")))
	}
}

// The cache is a help and no condition: a file in its place, a folder without permission, and another program's lock.
func TestACacheThatCannotBeWrittenIsNoError(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	check := func() {
		t.Helper()
		for _, name := range []string{"data/a.parquet", "meta/info.json"} {
			assert.True(t, bytes.Equal(set[name], mustRead(t, newStore(), base+"/"+name)))
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("HF_HUB_CACHE", file)
	check()
	t.Setenv("HF_HUB_CACHE", server.Cache)
	locks := filepath.Join(server.Cache, ".locks", "datasets--lab--walk")
	require.NoError(t, os.MkdirAll(locks, 0o700))
	unlock, err := atomicfile.Lock(filepath.Join(locks, fmt.Sprintf("%x.lock", sha256.Sum256(set["data/a.parquet"]))))
	require.NoError(t, err)
	check()
	_, err = os.Stat(filepath.Join(server.Cache, "datasets--lab--walk", "blobs", fmt.Sprintf("%x", sha256.Sum256(set["data/a.parquet"]))))
	assert.ErrorIs(t, err, fs.ErrNotExist, "another program downloads it")
	unlock()
	check()
	require.NoError(t, os.Truncate(filepath.Join(server.Cache, "datasets--lab--walk", "blobs", fmt.Sprintf("%x", sha256.Sum256(set["data/a.parquet"]))), 5))
	server.Commit("lab/walk", "main", set)
	assert.True(t, bytes.Equal(set["data/a.parquet"], mustRead(t, newStore(), base+"/data/a.parquet")), "a damaged blob is replaced")
}

func TestManyReadersFetchAFileOnce(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	server.Commit("lab/walk", "main", set)
	var tasks sync.WaitGroup
	for range 8 {
		tasks.Go(func() {
			b, err := read(t, s, base+"/data/a.parquet")
			assert.NoError(t, err)
			assert.True(t, bytes.Equal(set["data/a.parquet"], b))
		})
	}
	tasks.Wait()
	requests, _ := server.Count()
	assert.Len(t, requests, 4, "revision, tree, resolve and the second host: %v", requests)
}
