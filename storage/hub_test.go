package storage_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/storage"
)

func TestADatasetOfTheHubIsFoundByItsID(t *testing.T) {
	home := t.TempDir()
	t.Chdir(t.TempDir())
	for _, name := range []string{"HF_HUB_CACHE", "HF_LEROBOT_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HF_HOME", home)
	folder := func(names ...string) string {
		path := filepath.Join(names...)
		require.NoError(t, os.MkdirAll(path, 0o700))
		return path
	}
	find := func(name string) string {
		path, err := storage.Find(name)
		require.NoError(t, err)
		return path
	}
	_, err := storage.Find("me/walk")
	require.ErrorIs(t, err, fs.ErrNotExist)
	cached, own := filepath.Join(home, "hub", "datasets--me--walk"), filepath.Join(home, "lerobot", "me", "walk")
	for _, part := range []string{cached, own, "hf download me/walk --repo-type dataset", "hf://datasets/me/walk"} {
		assert.ErrorContains(t, err, part)
	}
	folder(own)
	assert.Equal(t, own, find("me/walk"))
	only := folder(cached, "snapshots", "aaa")
	assert.Equal(t, only, find("me/walk"), "the only revision")
	main := folder(cached, "snapshots", "bbb")
	assert.Equal(t, own, find("me/walk"), "neither of two revisions is known to be the main one")
	require.NoError(t, os.WriteFile(filepath.Join(folder(cached, "refs"), "main"), []byte("bbb\n"), 0o600))
	assert.Equal(t, main, find("me/walk"))
	for folder, name := range map[string]string{"datasets--me--walk": "walk", "datasets--squad": "squad", "datasets--": "aaa"} {
		assert.Equal(t, name, storage.Base(filepath.Join(home, "hub", folder, "snapshots", "aaa")))
	}
	for _, outside := range []string{"", ".", "..", "../..", "../../../robots", home, "bbb/deeper", "none", "a\x00b", strings.Repeat("a", 300)} {
		folder(main, "deeper")
		require.NoError(t, os.WriteFile(filepath.Join(cached, "refs", "main"), []byte(outside), 0o600))
		assert.Equal(t, own, find("me/walk"), "refs/main with %q is no revision", outside)
	}

	t.Setenv("HF_LEROBOT_HOME", filepath.Join(home, "robots"))
	t.Setenv("HF_HUB_CACHE", filepath.Join(home, "cache"))
	_, err = storage.Find("me/walk")
	assert.Error(t, err)
	there := folder(home, "robots", "me", "walk")
	assert.Equal(t, there, find("me/walk"))
	there = folder(home, "cache", "datasets--me--walk", "snapshots", "ccc")
	assert.Equal(t, there, find("me/walk"))

	for _, name := range []string{"walk", "a/b/c", "./me/walk", "/me/walk", "s3://me/walk", "../walk", "-", "me/"} {
		assert.Equal(t, name, find(name), "no id")
	}
	folder("me", "walk")
	assert.Equal(t, "me/walk", find("me/walk"), "a path that exists")
}

func TestTheURLOfADatasetHasParts(t *testing.T) {
	for name, want := range map[string][3]string{
		"hf://datasets/me/walk": {"me/walk", "main", ""}, "hf://datasets/me/walk/": {"me/walk", "main", ""}, "hf://datasets/me/walk@v1.0": {"me/walk", "v1.0", ""},
		"hf://datasets/me/walk@v1/meta/a@b.json": {"me/walk", "v1", "meta/a@b.json"}, "hf://datasets/me/walk@refs/pr/7/a": {"me/walk", "refs/pr/7", "a"},
		"hf://datasets/me/walk@refs%2Fpr%2F7/a": {"me/walk", "refs/pr/7", "a"}, "hf://datasets/me/walk/a/b": {"me/walk", "main", "a/b"},
	} {
		id, revision, path, ok := storage.ParseHubURL(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, [3]string{id, revision, path}, name)
		if want[2] == "" {
			assert.Equal(t, "walk", storage.Base(name))
		} else {
			assert.Equal(t, filepath.Base(want[2]), storage.Base(name))
		}
	}
	for _, name := range []string{"me/walk", "hf://me/walk", "hf://datasets/walk", "hf://models/me/walk", "hf://datasets/me/walk@%zz", "s3://datasets/me/walk", "hf://datasets/me/walk@"} {
		_, _, _, ok := storage.ParseHubURL(name)
		assert.False(t, ok, name)
	}
}
