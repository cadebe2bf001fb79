package hf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/hubtest"
)

// A reader takes fs.ErrNotExist for a file that the dataset lacks. A revision or dataset that is gone, and a listed file that is refused,
// are other errors.
func TestADatasetThatIsGoneHasNoMissingFiles(t *testing.T) {
	for code, status := range map[string]int{"RepoNotFound": http.StatusUnauthorized, "RevisionNotFound": http.StatusNotFound, "": http.StatusNotFound} {
		for _, page := range []int{1000, 2} {
			server, s := hubtest.Start(t), newStore()
			server.Page = page
			server.Commit("lab/walk", "main", set)
			mustRead(t, s, base+"/data.json")
			server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				hubtest.Fail(w, status, code, "gone")
				return true
			})
			_, err := read(t, s, base+"/meta/info.json")
			require.Error(t, err)
			assert.NotErrorIs(t, err, fs.ErrNotExist, "%s, pages of %d", code, page)
			_, err = newStore().Open(t.Context(), base+"/data.json")
			assert.ErrorIs(t, err, fs.ErrNotExist, "nothing was there")
		}
	}
	server, s := hubtest.Start(t), newStore()
	server.Commit("lab/walk", "main", set)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		refused := strings.Contains(r.URL.Path, "/resolve/")
		if refused {
			hubtest.Fail(w, http.StatusNotFound, "EntryNotFound", "gone")
		}
		return refused
	})
	_, err := read(t, s, base+"/data.json")
	require.Error(t, err)
	assert.NotErrorIs(t, err, fs.ErrNotExist, "a listed file")

	t.Setenv("HF_TOKEN", "")
	t.Setenv("HF_TOKEN_PATH", t.TempDir())
	_, err = newStore().Open(t.Context(), base+"/data.json")
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.NotErrorIs(t, err, fs.ErrNotExist, "a token that cannot be read")
}

// The cache has the revision that the Hub gave last, also if its files were fetched by the commit's name.
func TestTheCacheFollowsARevision(t *testing.T) {
	server := hubtest.Start(t)
	ref := func() string {
		text, _ := os.ReadFile(filepath.Join(server.Cache, "datasets--lab--walk", "refs", "main"))
		return string(text)
	}
	before := server.Commit("lab/walk", "main", set)
	old := newStore()
	mustRead(t, old, base+"/data.json")
	assert.Equal(t, before, ref())
	after := server.Commit("lab/walk", "main", map[string][]byte{"data.json": []byte("{1}"), "meta/info.json": set["meta/info.json"]})
	mustRead(t, newStore(), base+"@"+after+"/data.json")
	assert.Equal(t, before, ref())
	mustRead(t, newStore(), base+"/data.json")
	assert.Equal(t, after, ref())
	mustRead(t, old, base+"/meta/info.json")
	assert.Equal(t, after, ref(), "a program that still reads the earlier commit")
}

func TestWaitersEndWithTheirContext(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	server.Commit("lab/walk", "main", set)
	asked, released := make(chan struct{}), make(chan struct{})
	server.Intercept(func(http.ResponseWriter, *http.Request) bool {
		close(asked)
		server.Intercept(nil)
		<-released
		return false
	})
	first := make(chan error)
	go func() {
		_, err := s.Open(t.Context(), base+"/data.json")
		first <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := s.Open(ctx, base+"/data.json")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	close(released)
	assert.NoError(t, <-first)
}

// A host that knows no ranges, and gives no length, has the file from its beginning.
func TestAHostWithoutRangesHasWholeFiles(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	want := set["data/a.parquet"]
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("Signature") {
			return false
		}
		_, _ = w.Write(want[:1])
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(want[1:])
		return true
	})
	blobs := filepath.Join(server.Cache, "datasets--lab--walk", "blobs")
	require.NoError(t, os.MkdirAll(blobs, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(blobs, fmt.Sprintf("%x.incomplete", sha256.Sum256(want))), want[:1<<20], 0o600))
	assert.True(t, bytes.Equal(want, mustRead(t, newStore(), base+"/data/a.parquet")))
}

func TestNoErrorHasASignedAddress(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("Signature") {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	_, err := read(t, newStore(), base+"/data/a.parquet")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "Signature")
	assert.Contains(t, err.Error(), "127.0.0.1")
}

// Without the network, a file that cannot be read is not a file that the dataset lacks, and a commit without a copy is no folder.
func TestOfflineAnUnreadableFileIsAnError(t *testing.T) {
	server := hubtest.Start(t)
	sha := server.Commit("lab/walk", "main", set)
	mustRead(t, newStore(), base+"/data.json")
	t.Setenv("HF_HUB_OFFLINE", "1")
	name := filepath.Join(server.Cache, "datasets--lab--walk", "snapshots", sha, "data.json")
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink(name, name)) // a loop
	_, err := read(t, newStore(), base+"/data.json")
	require.Error(t, err)
	assert.NotErrorIs(t, err, fs.ErrNotExist)
	_, err = newStore().Stat(t.Context(), base+"@"+strings.Repeat("0", 40))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = newStore().Open(t.Context(), base+"/data.json/below")
	assert.Error(t, err)
}

func TestTheFoldersOfTheEnvironmentAreExpanded(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HF_HUB_CACHE", "")
	for _, path := range []string{"~/hub", "$HOME/hub"} {
		t.Setenv("HF_HOME", path)
		mustRead(t, newStore(), base+"/data.json")
		assert.DirExists(t, filepath.Join(home, "hub", "hub", "datasets--lab--walk"))
		require.NoError(t, os.RemoveAll(filepath.Join(home, "hub")))
	}
}
