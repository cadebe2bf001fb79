package s3test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// Server is an S3 server that keeps its objects in memory.
type Server struct {
	URL     string
	backend *s3mem.Backend
	fake    http.Handler
	server  *httptest.Server

	requests, bytes atomic.Int64

	mu    sync.Mutex
	first func(w http.ResponseWriter, r *http.Request) bool
}

// Start starts a server, and closes it at the end of the test.
func Start(t testing.TB) *Server {
	s := start()
	t.Cleanup(s.server.Close)
	return s
}

func start() *Server {
	s := &Server{backend: s3mem.New()}
	s.fake = gofakes3.New(s.backend).Server()
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		counted := &counter{w, &s.bytes}
		s.mu.Lock()
		first := s.first
		s.mu.Unlock()
		if first != nil && first(counted, r) {
			return
		}
		s.fake.ServeHTTP(counted, r)
	}))
	s.URL = s.server.URL
	return s
}

// shared is one server for the whole process. It is for tests that read s3:// paths through the registered scheme, which reads the
// environment only once.
var shared = sync.OnceValue(func() *Server {
	s := start()
	for name, value := range s.Environment() {
		os.Setenv(name, value)
	}
	return s
})

// Shared returns the process's shared server. The first call starts it and sets the environment, so that s3:// paths refer to it.
func Shared() *Server { return shared() }

// Environment returns the environment variables that make a program use the server, without a signature for requests.
func (s *Server) Environment() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true", "AWS_NO_SIGN_REQUEST": ""}
}

// Intercept makes the server call do before it handles a request. If do returns true, it has answered the request. A nil do removes
// the function.
func (s *Server) Intercept(do func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = do
}

// Through returns a function for Intercept. It answers a request through a response writer made by with.
func (s *Server) Through(with func(http.ResponseWriter) http.ResponseWriter) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		s.fake.ServeHTTP(with(w), r)
		return true
	}
}

// Put stores an object. It creates the bucket if it does not exist.
func (s *Server) Put(t testing.TB, bucket, key string, data []byte) {
	if there, err := s.backend.BucketExists(bucket); err == nil && !there {
		require.NoError(t, s.backend.CreateBucket(bucket))
	}
	_, err := s.backend.PutObject(bucket, key, nil, bytes.NewReader(data), int64(len(data)), nil)
	require.NoError(t, err)
}

// PutFolder stores the files in a folder and its subfolders as objects. Their keys are prefix and the relative path.
func (s *Server) PutFolder(t testing.TB, bucket, prefix, dir string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		s.Put(t, bucket, strings.Trim(prefix+"/"+filepath.ToSlash(name), "/"), data)
		return err
	}))
}

// Count returns the number of requests and the bytes of their answers since the last call of Count.
func (s *Server) Count() (requests, bytes int64) { return s.requests.Swap(0), s.bytes.Swap(0) }

// counter is a response writer that counts the bytes written.
type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// Unwrap returns the inner writer, for http.ResponseController.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counter) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}
