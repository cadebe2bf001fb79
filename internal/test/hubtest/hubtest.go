package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Server is a Hub with datasets in memory, and a second host for their large files. Paths and headers are the ones that
// huggingface_hub uses: the tree API with the header Link, X-Repo-Commit, X-Linked-Etag, X-Linked-Size, X-Error-Code.
type Server struct {
	URL    string
	Cache  string        // an empty folder for HF_HUB_CACHE
	Page   int           // maximum names in a page of a listing
	LFS    int           // size from which on a file that is committed is in LFS, at the second host; 0 for none
	Delay  time.Duration // time before each answer
	Token  string        // if not empty, requests need it
	Gated  bool          // whether the token's account has not accepted the terms
	Expire bool          // whether addresses at the second host are valid for one request

	hub, content *httptest.Server

	mu       sync.Mutex
	datasets map[string]*dataset
	first    func(w http.ResponseWriter, r *http.Request) bool
	requests []string
	spent    map[string]bool
	serial   int
	bytes    atomic.Int64
}

type dataset struct {
	revisions map[string]string          // commits, by revision
	commits   map[string]map[string]file // by commit
}

type file struct {
	data []byte
	hash string // SHA-256 in LFS, else git's hash
	lfs  bool
}

// Start starts a server, makes hf:// refer to it through the environment, and closes it when the test ends.
func Start(t testing.TB) *Server {
	s := &Server{Cache: t.TempDir(), Page: 1000, LFS: 1 << 20, datasets: map[string]*dataset{}, spent: map[string]bool{}}
	s.hub = httptest.NewServer(s.counted(s.serveHub))
	s.content = httptest.NewServer(s.counted(s.serveContent))
	s.URL = s.hub.URL
	t.Cleanup(s.hub.Close)
	t.Cleanup(s.content.Close)
	for name, value := range map[string]string{"HF_ENDPOINT": s.URL, "HF_HUB_CACHE": s.Cache, "HF_TOKEN": "", "HF_TOKEN_PATH": os.DevNull, "HF_HUB_OFFLINE": ""} {
		t.Setenv(name, value)
	}
	return s
}

// Commit adds a commit to a dataset's revision, and returns its name. The commit has only these files.
func (s *Server) Commit(id, revision string, files map[string][]byte) (sha string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.datasets[id]
	if d == nil {
		d = &dataset{map[string]string{}, map[string]map[string]file{}}
		s.datasets[id] = d
	}
	s.serial++
	sha = fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, id, s.serial)))
	d.revisions[revision], d.revisions[sha], d.commits[sha] = sha, sha, map[string]file{}
	for name, data := range files {
		f := file{data, fmt.Sprintf("%x", sha256.Sum256(data)), s.LFS > 0 && len(data) >= s.LFS}
		if !f.lfs {
			f.hash = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
		}
		d.commits[sha][name] = f
	}
	return sha
}

// CommitFolder adds a commit with the files in a folder and its subfolders.
func (s *Server) CommitFolder(t testing.TB, id, revision, dir string) (sha string) {
	files := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err == nil {
			files[filepath.ToSlash(below)], err = os.ReadFile(name)
		}
		return err
	}))
	return s.Commit(id, revision, files)
}

// Intercept makes the server call do before it handles a request to either host. If do returns true, it has answered the request. A nil
// do removes the function.
func (s *Server) Intercept(do func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = do
}

// Handle answers a request to either host as without Intercept.
func (s *Server) Handle(w http.ResponseWriter, r *http.Request) {
	if "http://"+r.Host == s.URL {
		s.serveHub(w, r)
	} else {
		s.serveContent(w, r)
	}
}

// Count returns the paths of the requests, and the bytes of their answers, since the last call of Count.
func (s *Server) Count() (requests []string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests = s.requests
	s.requests = nil
	return requests, s.bytes.Swap(0)
}

func (s *Server) counted(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(s.Delay)
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		first := s.first
		s.mu.Unlock()
		w = &counter{w, s}
		if first == nil || !first(w, r) {
			handle(w, r)
		}
	}
}

// counter counts the bytes written.
type counter struct {
	http.ResponseWriter
	s *Server
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.s.bytes.Add(int64(n))
	return n, err
}

// Unwrap returns the inner writer, for http.ResponseController.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Fail answers with an error as the Hub does.
func Fail(w http.ResponseWriter, status int, code, message string) {
	if code != "" {
		w.Header().Set("X-Error-Code", code)
	}
	w.Header().Set("X-Error-Message", message)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"`+message+`"}`)
}

// serveHub answers /api/datasets/ORG/NAME/revision|tree/REVISION and /datasets/ORG/NAME/resolve/REVISION/PATH.
func (s *Server) serveHub(w http.ResponseWriter, r *http.Request) {
	rest, api := strings.CutPrefix(r.URL.EscapedPath(), "/api")
	parts := strings.SplitN(strings.TrimPrefix(rest, "/datasets/"), "/", 5)
	if len(parts) < 4 {
		Fail(w, http.StatusNotFound, "", "Sorry, we can't find the page you are looking for.")
		return
	}
	for len(parts) < 5 {
		parts = append(parts, "")
	}
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	sha, files, serial, there := s.find(parts[0]+"/"+parts[1], parts[3])
	authorised := s.Token == "" || r.Header.Get("Authorization") == "Bearer "+s.Token
	switch {
	case !there && s.Token != "" || !authorised && r.Header.Get("Authorization") == "":
		Fail(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
		return
	case !authorised:
		Fail(w, http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return
	case !there:
		Fail(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
		return
	case s.Gated:
		Fail(w, http.StatusForbidden, "GatedRepo", "Access to dataset is restricted and you are not in the authorized list")
		return
	case sha == "":
		Fail(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+parts[3])
		return
	}
	w.Header().Set("X-Repo-Commit", sha)
	switch {
	case api && parts[2] == "revision":
		if r.URL.Query().Has("expand") {
			answer(w, map[string]any{"id": parts[0] + "/" + parts[1], "sha": sha, "lastModified": "2026-03-04T05:06:07.000Z"})
			return
		}
		siblings := []map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			siblings = append(siblings, map[string]string{"rfilename": name})
		}
		answer(w, map[string]any{"id": parts[0] + "/" + parts[1], "sha": sha, "lastModified": "2026-03-04T05:06:07.000Z", "siblings": siblings,
			"private": false, "downloads": 0, "likes": 0, "tags": []string{}})
	case api && parts[2] == "tree":
		s.serveTree(w, r, files, parts[4])
	default:
		f, there := files[parts[4]]
		switch {
		case !there:
			Fail(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		case f.lfs:
			w.Header().Set("X-Linked-Size", strconv.Itoa(len(f.data)))
			w.Header().Set("X-Linked-Etag", `"`+f.hash+`"`)
			w.Header().Set("Location", fmt.Sprintf("%s/%s/%s?commit=%s&path=%s&Signature=%d", s.content.URL, parts[0], parts[1], sha, url.QueryEscape(parts[4]), serial))
			w.WriteHeader(http.StatusFound)
		default:
			w.Header().Set("ETag", `W/"`+f.hash+`"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
		}
	}
}

// find returns a revision's commit, empty if there is none, its files, and a number that no other call returns. there is whether the
// dataset exists.
func (s *Server) find(id, revision string) (sha string, files map[string]file, serial int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	d := s.datasets[id]
	if d == nil {
		return "", nil, s.serial, false
	}
	sha = d.revisions[revision]
	return sha, d.commits[sha], s.serial, true
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(value)
}

// serveTree answers with a page of a folder's content. The cursor of the next page is in the header Link.
func (s *Server) serveTree(w http.ResponseWriter, r *http.Request, files map[string]file, dir string) {
	query := r.URL.Query()
	entries := map[string]map[string]any{}
	for name, f := range files {
		if dir != "" && !strings.HasPrefix(name, dir+"/") {
			continue
		}
		e := map[string]any{"type": "file", "oid": f.hash, "size": len(f.data), "path": name}
		if f.lfs { // the object in git is the pointer
			e["oid"], e["lfs"] = f.hash[:40], map[string]any{"oid": f.hash, "size": len(f.data), "pointerSize": 134}
		}
		for at := name; at != "." && at != dir; at = path.Dir(at) {
			if query.Get("recursive") == "true" || path.Dir(at) == path.Clean(dir) {
				entries[at] = e
			}
			e = map[string]any{"type": "directory", "oid": fmt.Sprintf("%x", sha1.Sum([]byte(at))), "size": 0, "path": path.Dir(at)}
		}
	}
	if len(entries) == 0 && dir != "" {
		Fail(w, http.StatusNotFound, "EntryNotFound", dir+" does not exist on \"main\"")
		return
	}
	names := slices.Sorted(maps.Keys(entries))
	from, _ := strconv.Atoi(strings.TrimPrefix(query.Get("cursor"), "c/+="))
	to := min(len(names), from+s.Page)
	if to < len(names) {
		query.Set("cursor", "c/+="+strconv.Itoa(to))
		query.Set("limit", strconv.Itoa(s.Page))
		w.Header().Set("Link", fmt.Sprintf(`<https://huggingface.co%s?%s>; rel="next"`, r.URL.EscapedPath(), query.Encode()))
	}
	list := []any{}
	for _, name := range names[from:to] {
		list = append(list, entries[name])
	}
	answer(w, list)
}

// serveContent answers at the second host, which refuses tokens and addresses that have expired.
func (s *Server) serveContent(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	s.mu.Lock()
	spent := s.Expire && s.spent[query.Get("Signature")]
	s.spent[query.Get("Signature")] = true
	s.mu.Unlock()
	_, files, _, _ := s.find(strings.TrimPrefix(r.URL.Path, "/"), query.Get("commit"))
	switch {
	case r.Header.Get("Authorization") != "":
		http.Error(w, "<Error><Code>InvalidArgument</Code><Message>Only one auth mechanism allowed</Message></Error>", http.StatusBadRequest)
	case spent || files == nil:
		http.Error(w, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>", http.StatusForbidden)
	default:
		w.Header().Set("ETag", `"of-the-content-host"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(files[query.Get("path")].data))
	}
}
