package hf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/internal/test/hubtest"
	"github.com/robocache/robocache/storage"
)

// newStore returns a store that has read nothing yet.
func newStore() *store { return &store{wait: 50 * time.Microsecond} }

// noise is bytes that differ.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func read(t testing.TB, s *store, url string) ([]byte, error) {
	f, err := s.Open(t.Context(), url)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
}

func mustRead(t testing.TB, s *store, url string) []byte {
	t.Helper()
	b, err := read(t, s, url)
	require.NoError(t, err, url)
	return b
}

// set is a dataset with a small file, one in LFS, one that is read by ranges, and names that must not be taken for escapes.
var set = map[string][]byte{
	"meta/info.json": []byte(`{"fps": 10}`), "data/a.parquet": noise(2 << 20), "videos/b.mp4": noise(mostWhole + 5<<20), "empty": {},
	"run #1/100%/ü+?&.csv": []byte("x"), "data.json": []byte("{}"),
}

const base = "hf://datasets/lab/walk"

func TestFilesHaveTheirBytesFromEitherHost(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	server.Commit("lab/walk", "main", set)
	for _, page := range []int{1000, 2} {
		server.Page = page
		s = newStore()
		for name, want := range set {
			for range 2 {
				assert.True(t, bytes.Equal(want, mustRead(t, s, base+"/"+name)), name)
			}
			st, err := s.Stat(t.Context(), base+"/"+name)
			require.NoError(t, err)
			assert.Equal(t, storage.Info{Name: storage.Base(name), Size: int64(len(want)), Modified: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}, st)
		}
		for dir, want := range map[string]string{"": "data data.json empty meta run #1 videos", "/": "data data.json empty meta run #1 videos", "/run #1": "100%", "/run #1/100%": "ü+?&.csv"} {
			list, err := s.List(t.Context(), base+dir, -1)
			require.NoError(t, err)
			var names []string
			for _, i := range list {
				names = append(names, i.Name)
				assert.Equal(t, i.Name == "data" || i.Name == "meta" || i.Name == "videos" || strings.HasPrefix(i.Name, "run") || i.Name == "100%", i.IsDir())
			}
			assert.Equal(t, want, strings.Join(names, " "))
			st, err := s.Stat(t.Context(), base+dir)
			require.NoError(t, err)
			assert.True(t, st.IsDir())
		}
		list, err := s.List(t.Context(), base, 2)
		require.NoError(t, err)
		assert.Len(t, list, 2)
	}
	f, err := s.Open(t.Context(), base+"/videos/b.mp4")
	require.NoError(t, err)
	defer f.Close()
	want := set["videos/b.mp4"]
	var tasks sync.WaitGroup
	for i := range uint64(4) {
		tasks.Go(func() {
			r := rand.New(rand.NewPCG(3, i))
			for range 20 {
				at, b := r.Int64N(int64(len(want))), make([]byte, r.IntN(3<<20))
				n, err := f.ReadAt(b, at)
				if n < len(b) {
					assert.ErrorIs(t, err, io.EOF)
				}
				assert.True(t, bytes.Equal(want[at:][:n], b[:n]))
			}
		})
	}
	tasks.Wait()
}

// The second host refuses tokens, so reading there shows that it gets none.
func TestOnlyTheHubGetsTheToken(t *testing.T) {
	server := hubtest.Start(t)
	server.Token = "hf_secret"
	server.Commit("lab/walk", "main", set)
	server.Page = 2
	_, err := newStore().Stat(t.Context(), base)
	require.ErrorIs(t, err, fs.ErrNotExist, "a private dataset")
	assert.ErrorContains(t, err, "HF_TOKEN, or hf auth login")
	t.Setenv("HF_TOKEN", "another")
	_, err = newStore().Stat(t.Context(), base)
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, err, "Invalid credentials")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("hf_secret\n"), 0o600))
	for _, env := range [][2]string{{"hf_secret", os.DevNull}, {"", file}} {
		t.Setenv("HF_TOKEN", env[0])
		t.Setenv("HF_TOKEN_PATH", env[1])
		for name, want := range set {
			assert.True(t, bytes.Equal(want, mustRead(t, newStore(), base+"/"+name)), name)
		}
		require.NoError(t, os.RemoveAll(filepath.Join(server.Cache, "datasets--lab--walk")))
	}
	server.Gated = true
	_, err = newStore().Stat(t.Context(), base)
	require.ErrorIs(t, err, fs.ErrPermission)
	var e *storage.RequestError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "a token of an account that has accepted the terms at "+server.URL+"/datasets/lab/walk: HF_TOKEN, or hf auth login", e.Want)
}

func TestOneCommitIsReadUntilTheEnd(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	old := server.Commit("lab/walk", "main", map[string][]byte{"a": []byte("old"), "b": []byte("old too")})
	assert.Equal(t, "old", string(mustRead(t, s, base+"/a")))
	server.Commit("lab/walk", "main", map[string][]byte{"a": []byte("new")})
	server.Commit("lab/walk", "refs/pr/1", map[string][]byte{"a": []byte("proposed")})
	server.Commit("lab/walk", "v1.0", map[string][]byte{"a": []byte("tagged")})
	assert.Equal(t, "old too", string(mustRead(t, s, base+"/b")), "after a push")
	for revision, want := range map[string]string{"": "new", "@main": "new", "@refs/pr/1": "proposed", "@refs%2Fpr%2F1": "proposed", "@v1.0": "tagged", "@" + old: "old"} {
		s := newStore()
		assert.Equal(t, want, string(mustRead(t, s, base+revision+"/a")), revision)
		st, err := s.Stat(t.Context(), base+revision)
		require.NoError(t, err)
		assert.Equal(t, "walk", st.Name)
	}
	for revision, want := range map[string]string{"main": "new", "refs/pr/1": "proposed", "v1.0": "tagged"} {
		sha, err := os.ReadFile(filepath.Join(server.Cache, "datasets--lab--walk", "refs", filepath.FromSlash(revision)))
		require.NoError(t, err)
		content, err := os.ReadFile(filepath.Join(server.Cache, "datasets--lab--walk", "snapshots", string(sha), "a"))
		require.NoError(t, err)
		assert.Equal(t, want, string(content))
	}
}

func TestNamesThatDoNotExist(t *testing.T) {
	server, s := hubtest.Start(t), newStore()
	server.Commit("lab/walk", "main", set)
	for url, want := range map[string]string{
		base + "/none": `no "none"`, base + "/meta/none/deeper": `no "meta/none/deeper"`, base + "/meta/info.json/x": "no", base + "@v9": "no revision v9",
		"hf://datasets/lab/none": "no dataset lab/none",
	} {
		for _, page := range []int{1000, 2} {
			server.Page = page
			_, err := s.Stat(t.Context(), url)
			require.ErrorIs(t, err, fs.ErrNotExist, url)
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, "stat "+url)
			_, err = s.List(t.Context(), url, -1)
			require.ErrorIs(t, err, fs.ErrNotExist, url)
			_, err = s.Open(t.Context(), url)
			require.ErrorIs(t, err, fs.ErrNotExist, url)
			s = newStore()
		}
	}
	for _, url := range []string{"hf://lab/walk", "hf://datasets/walk", "hf://models/lab/walk", "hf://datasets/../walk", base + "/../x", base + "/a//b", base + "@..%2f..%2fx", base + "@%zz"} {
		_, err := s.Open(t.Context(), url)
		require.ErrorIs(t, err, fs.ErrInvalid, url)
		assert.ErrorContains(t, err, "want hf://datasets/ORG/NAME@REVISION/PATH")
	}
	_, err := s.Open(t.Context(), base+"/meta")
	require.ErrorIs(t, err, fs.ErrInvalid)
	_, err = storage.Open(t.Context(), base+"/none")
	require.ErrorIs(t, err, fs.ErrNotExist, "the scheme is registered")
}

// times makes the server fail the first requests whose path contains part.
func times(server *hubtest.Server, n int, part string, fail func(w http.ResponseWriter, r *http.Request)) {
	var mu sync.Mutex
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		now := n > 0 && strings.Contains(r.URL.Path, part)
		if now {
			n--
		}
		mu.Unlock()
		if now {
			fail(w, r)
		}
		return now
	})
}

// cutting ends an answer after some bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func TestABusyHubAndCutAnswersAreTriedAgain(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	failures := map[string]func(w http.ResponseWriter, r *http.Request){
		"429":   func(w http.ResponseWriter, _ *http.Request) { hubtest.Fail(w, 429, "", "Too Many Requests") },
		"503":   func(w http.ResponseWriter, _ *http.Request) { hubtest.Fail(w, 503, "", "Service Unavailable") },
		"cut":   func(w http.ResponseWriter, r *http.Request) { server.Handle(&cutting{w, 5}, r) },
		"abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for kind, fail := range failures {
		for _, part := range []string{"/revision/", "/tree/", "/resolve/", "lab/walk"} {
			for _, name := range []string{"meta/info.json", "data/a.parquet", "videos/b.mp4"} {
				require.NoError(t, os.RemoveAll(filepath.Join(server.Cache, "datasets--lab--walk")))
				times(server, ranged.Tries-1, part, fail)
				f, err := newStore().Open(t.Context(), base+"/"+name)
				require.NoError(t, err)
				b := make([]byte, min(f.Size(), 2<<20))
				_, err = f.ReadAt(b, f.Size()-int64(len(b)))
				require.NoError(t, err)
				assert.True(t, bytes.HasSuffix(set[name], b), "%s %s %s", kind, part, name)
				require.NoError(t, f.Close())
			}
			require.NoError(t, os.RemoveAll(filepath.Join(server.Cache, "datasets--lab--walk")))
			times(server, 100, part, func(w http.ResponseWriter, r *http.Request) {
				if kind == "cut" {
					w.Header().Set("Content-Length", "5") // without progress there is no end to the tries
					w.WriteHeader(200)
					return
				}
				fail(w, r)
			})
			_, err := read(t, newStore(), base+"/data/a.parquet")
			require.ErrorIs(t, err, storage.ErrSystem, "%s %s", kind, part)
			assert.ErrorContains(t, err, "data/a.parquet")
		}
	}
	times(server, 1, "lab/walk", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		hubtest.Fail(w, 429, "", "Too Many Requests")
	})
	start := time.Now()
	mustRead(t, newStore(), base+"/meta/info.json")
	assert.Greater(t, time.Since(start), time.Second)
	times(server, 1, "lab/walk", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"api";r=0;t=100000`)
		hubtest.Fail(w, 429, "", "Too Many Requests")
	})
	_, err := read(t, newStore(), base+"/meta/info.json")
	assert.ErrorContains(t, err, "too many requests", "it waits not so long")
	t.Setenv("HF_ENDPOINT", "http://127.0.0.1:1")
	_, err = read(t, newStore(), base+"/meta/info.json")
	assert.ErrorContains(t, err, "got no answer, want a Hub: HF_ENDPOINT is its address; HF_HUB_OFFLINE=1 reads only its cache")
}

func TestAnAddressThatHasExpiredIsRenewed(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	server.Count()
	assert.True(t, bytes.Equal(set["videos/b.mp4"], mustRead(t, newStore(), base+"/videos/b.mp4")))
	requests, _ := server.Count()
	assert.Equal(t, 1, strings.Count(strings.Join(requests, "\n"), "/resolve/"), "further requests go to the second host")
	server.Expire = true
	assert.True(t, bytes.Equal(set["videos/b.mp4"], mustRead(t, newStore(), base+"/videos/b.mp4")))
}

func TestAnswersThatDoNotFitAreErrors(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	text := func(s string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	for _, c := range []struct{ part, answer, file, want string }{
		{"/revision/", "<html>", "meta/info.json", "want JSON from a Hub"},
		{"/revision/", `{"sha":"../../x"}`, "meta/info.json", `got commit "../../x"`},
		{"/tree/", `{}`, "meta/info.json", "want JSON from a Hub"},
		{"/tree/", `[{"type":"file","path":"../x","oid":"` + strings.Repeat("a", 40) + `"}]`, "meta/info.json", "../x"},
		{"/tree/", `[{"type":"file","path":"x","oid":"../` + strings.Repeat("a", 40) + `"}]`, "meta/info.json", "with hash"},
		{"/tree/", `[{"type":"file","path":"x","size":-1,"oid":"` + strings.Repeat("a", 40) + `"}]`, "meta/info.json", "-1 bytes"},
		{"/resolve/", `{"fps": 11}`, "meta/info.json", "got content with hash"},
		{"/resolve/", `{"fps": 100}`, "meta/info.json", "got 12 bytes, want 11, as listed"},
	} {
		times(server, 100, c.part, text(c.answer))
		_, err := read(t, newStore(), base+"/"+c.file)
		require.ErrorIs(t, err, storage.ErrSystem, c.answer)
		assert.ErrorContains(t, err, c.want)
		_, err = os.Stat(filepath.Join(server.Cache, "datasets--lab--walk", "snapshots"))
		assert.ErrorIs(t, err, fs.ErrNotExist, "nothing is kept")
	}
	times(server, 100, "lab/walk", func(w http.ResponseWriter, r *http.Request) { // a host without ranges
		r.Header.Del("Range")
		server.Handle(w, r)
	})
	assert.True(t, bytes.Equal(set["data/a.parquet"], mustRead(t, newStore(), base+"/data/a.parquet")))
	_, err := read(t, newStore(), base+"/videos/b.mp4")
	assert.ErrorContains(t, err, "of a service that reads ranges")
	times(server, 100, "lab/walk", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			r.Header.Set("Range", "bytes=100000000-")
		}
		server.Handle(w, r)
	})
	_, err = read(t, newStore(), base+"/videos/b.mp4")
	require.ErrorIs(t, err, storage.ErrSystem)
	assert.ErrorContains(t, err, "(HTTP 416)")
	times(server, 100, "/resolve/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	})
	_, err = read(t, newStore(), base+"/empty2")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = read(t, newStore(), base+"/data.json")
	assert.ErrorContains(t, err, "10 redirects")
}

func TestCancellingEndsARequest(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", set)
	for _, part := range []string{"/revision/", "/tree/", "/resolve/"} {
		times(server, 1, part, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := newStore().Open(ctx, base+"/data/a.parquet")
		assert.True(t, errors.Is(err, context.DeadlineExceeded), "%s: %v", part, err)
		cancel()
	}
}
