package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/storage"
)

// started returns a server, and a store that reads from it.
func started(t testing.TB) (*s3test.Server, *store) {
	s := s3test.Start(t)
	for name, value := range s.Environment() {
		t.Setenv(name, value)
	}
	return s, &store{wait: time.Millisecond}
}

// noise is bytes that differ.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func open(t testing.TB, s *store, url string) storage.File {
	f, err := s.Open(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReadsOfAnySizeAndPlaceGiveTheObjectsBytes(t *testing.T) {
	server, s := started(t)
	for _, size := range []int{0, 1, headSize - 1, headSize, headSize + 1, 11<<20 + 77} {
		want := noise(size)
		server.Put(t, "lab", "a", want)
		f := open(t, s, "s3://lab/a")
		assert.EqualValues(t, size, f.Size())
		all, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, all), size)
		r := rand.New(rand.NewPCG(1, uint64(size)))
		for range 200 {
			off := r.Int64N(int64(size) + 10)
			b := make([]byte, r.IntN(1<<r.IntN(24)))
			n, err := f.ReadAt(b, off)
			rest := want[min(off, int64(size)):]
			require.Equal(t, min(len(b), len(rest)), n)
			require.True(t, bytes.Equal(rest[:n], b[:n]), "%d bytes at %d of %d", len(b), off, size)
			if n < len(b) {
				require.ErrorIs(t, err, io.EOF)
			} else {
				require.NoError(t, err)
			}
		}
		require.NoError(t, f.Close())
		_, err = f.ReadAt(make([]byte, 1), 0)
		if size > 0 {
			assert.ErrorIs(t, err, fs.ErrClosed)
		}
		assert.NoError(t, f.Close(), "twice")
	}
}

func TestManyGoroutinesReadOneFile(t *testing.T) {
	server, s := started(t)
	want := noise(9 << 20)
	server.Put(t, "lab", "a", want)
	f := open(t, s, "s3://lab/a")
	var tasks sync.WaitGroup
	for i := range 16 {
		tasks.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			at := r.Int64N(8 << 20)
			for range 60 {
				b := make([]byte, r.IntN(200<<10))
				n, err := f.ReadAt(b, at)
				if !assert.NoError(t, err) || !assert.True(t, bytes.Equal(want[at:][:n], b)) {
					return
				}
				if at += int64(n); i%2 == 0 || at > 8<<20 {
					at = r.Int64N(8 << 20)
				}
			}
		})
	}
	tasks.Wait()
}

func TestNamesAreKeysAsTheyAre(t *testing.T) {
	server, s := started(t)
	ctx := context.Background()
	keys := []string{"run 1/a#b.csv", "run 1/100%.csv", "run 1/plus+.csv", "run 1/ü/x.csv", "run 1.csv", "both", "both/below.csv", "run 1/q?x=1&y.csv"}
	for _, key := range keys {
		server.Put(t, "lab", key, []byte(key))
		f := open(t, s, "s3://lab/"+key)
		b := make([]byte, f.Size())
		_, err := f.ReadAt(b, 0)
		require.NoError(t, err)
		assert.Equal(t, key, string(b))
		st, err := s.Stat(ctx, "s3://lab/"+key)
		require.NoError(t, err)
		assert.Equal(t, storage.Info{Name: storage.Base(key), Size: int64(len(key))}, st)
	}
	server.Put(t, "lab", "run 1/", nil) // that stands for the folder
	list, err := s.List(ctx, "s3://lab/run 1", -1)
	require.NoError(t, err)
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
		assert.Equal(t, i.Name == "ü", i.IsDir())
	}
	assert.Equal(t, []string{"100%.csv", "a#b.csv", "plus+.csv", "q?x=1&y.csv", "ü"}, names)
	list, err = s.List(ctx, "s3://lab", -1)
	require.NoError(t, err)
	for i := range list {
		if !list[i].IsDir() {
			assert.Less(t, time.Since(list[i].Modified), time.Hour, list[i].Name)
		}
		list[i].Modified = time.Time{}
	}
	assert.Equal(t, []storage.Info{{Name: "both", Size: 4}, {Name: "run 1", Mode: fs.ModeDir}, {Name: "run 1.csv", Size: 9}}, list, "an object before a folder")
	for url, dir := range map[string]bool{"s3://lab": true, "s3://lab/": true, "s3://lab/both": false, "s3://lab/both/": true, "s3://lab/run 1": true, "s3://lab/run 1/ü": true} {
		st, err := s.Stat(ctx, url)
		require.NoError(t, err, url)
		assert.Equal(t, dir, st.IsDir(), url)
		assert.Equal(t, storage.Base(url), st.Name)
	}
}

func TestAFolderOfManyNamesIsListedInPages(t *testing.T) {
	server, s := started(t)
	for i := range 2345 {
		server.Put(t, "lab", "many/"+strconv.Itoa(i), nil)
	}
	server.Count()
	list, err := s.List(context.Background(), "s3://lab/many", -1)
	require.NoError(t, err)
	assert.Len(t, list, 2345)
	requests, _ := server.Count()
	assert.EqualValues(t, 3, requests)
	list, err = s.List(context.Background(), "s3://lab/many", 7)
	require.NoError(t, err)
	assert.Len(t, list, 7)
	requests, _ = server.Count()
	assert.EqualValues(t, 1, requests)
}

func TestErrorsSayWhatThereIsNotAndWhatToDo(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a/b", []byte("x"))
	ctx := context.Background()
	_, err := s.Open(ctx, "s3://lab/a/c")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, `open s3://lab/a/c: got no object "a/c" and none below it, want a key or prefix of bucket lab`, err.Error())
	_, err = s.Stat(ctx, "s3://lab/a/c")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.List(ctx, "s3://lab/a/c", -1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.Open(ctx, "s3://other/a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "no bucket other")
	_, err = s.Open(ctx, "s3://lab/a/")
	assert.ErrorContains(t, err, "a folder")
	for _, url := range []string{"s3://", "s3:///a"} {
		_, err = s.Stat(ctx, url)
		assert.ErrorContains(t, err, "want s3://BUCKET/KEY")
	}
	for code, status := range map[string]int{"AccessDenied": 403, "SignatureDoesNotMatch": 403, "InvalidAccessKeyId": 403, "ExpiredToken": 400} {
		server.Intercept(refuse(status, code))
		_, err = s.Open(ctx, "s3://lab/a/b")
		require.ErrorIs(t, err, fs.ErrPermission, code)
		assert.ErrorContains(t, err, code)
		assert.ErrorContains(t, err, "credentials")
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		assert.Equal(t, "s3://lab/a/b", path.Path)
	}
}

func refuse(status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>as the test wants</Message></Error>")
		return true
	}
}

func TestNobodyAnsweringIsAnError(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for name, value := range s3test.Start(t).Environment() {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	_, err := (&store{}).Open(context.Background(), "s3://lab/a")
	assert.ErrorContains(t, err, "open s3://lab/a: got no answer, want a service: AWS_ENDPOINT_URL_S3")
}

func TestWithoutCredentialsItSaysWhichThereCanBe(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a", []byte("x"))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := s.Open(context.Background(), "s3://lab/a")
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, err, "got no credentials, want AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or for public buckets AWS_NO_SIGN_REQUEST=1")

	t.Setenv("AWS_NO_SIGN_REQUEST", "1")
	signed := false
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		signed = r.Header.Get("Authorization") != ""
		return false
	})
	open(t, s, "s3://lab/a")
	assert.False(t, signed)
}

func TestABucketOfAnotherRegionIsAskedThere(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a", []byte("x"))
	moved := 0
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.Header.Get("Authorization"), "/eu-north-1/") {
			return false
		}
		moved++
		w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
		return refuse(301, "PermanentRedirect")(w, r)
	})
	open(t, s, "s3://lab/a")
	_, err := s.Stat(context.Background(), "s3://lab/a")
	require.NoError(t, err)
	assert.Equal(t, 1, moved, "and it is remembered")
}

func TestAnObjectThatChangesIsAnErrorAndNotAMixture(t *testing.T) {
	server, s := started(t)
	for _, length := range []int{1 << 20, 1<<20 + 1} {
		server.Put(t, "lab", "a", noise(1<<20))
		f := open(t, s, "s3://lab/a")
		server.Put(t, "lab", "a", make([]byte, length))
		_, err := f.ReadAt(make([]byte, 10), 500_000)
		var changed *ChangedError
		require.ErrorAs(t, err, &changed)
		assert.ErrorContains(t, err, "read s3://lab/a: the object has changed while it was read")
	}
	f := open(t, s, "s3://lab/a")
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		assert.NotEmpty(t, r.Header.Get("If-Match"))
		return refuse(412, "PreconditionFailed")(w, r)
	})
	_, err := f.ReadAt(make([]byte, 10), 500_000)
	var changed *ChangedError
	require.ErrorAs(t, err, &changed)
}

// cutting ends each answer after so many bytes.
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

func TestAnswersThatBreakOffAreAskedForAgain(t *testing.T) {
	server, s := started(t)
	want := noise(3 << 20)
	server.Put(t, "lab", "a", want)
	for _, length := range []int{100, 40 << 10} {
		server.Intercept(server.Through(func(w http.ResponseWriter) http.ResponseWriter { return &cutting{w, length} }))
		f := open(t, s, "s3://lab/a")
		b := make([]byte, 300_000)
		if length == 100 {
			b = b[:5000]
		}
		_, err := f.ReadAt(b, 1_000_000)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want[1_000_000:][:len(b)], b))
	}
	server.Intercept(nil)
	f := open(t, s, "s3://lab/a")
	server.Intercept(server.Through(func(w http.ResponseWriter) http.ResponseWriter { return &cutting{w, 0} }))
	server.Count()
	_, err := f.ReadAt(make([]byte, 10), 1_000_000)
	assert.ErrorContains(t, err, "broken off")
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	requests, _ := server.Count()
	assert.EqualValues(t, ranged.Tries, requests)
	server.Intercept(nil)
	_, err = f.ReadAt(make([]byte, 10), 1_000_000)
	assert.NoError(t, err, "and again when somebody asks")
}

func TestAnAnswerThatSaysNoSizeIsAnError(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a", noise(100))
	length := ""
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", length)
		if length == "" { // what is sent in chunks has no length
			w.Header().Del("Content-Length")
			assert.NoError(t, http.NewResponseController(w).Flush())
		}
		_, err := w.Write(noise(100))
		assert.NoError(t, err)
		return true
	})
	_, err := s.Open(t.Context(), "s3://lab/a")
	var e *storage.RequestError
	require.ErrorAs(t, err, &e, "and no object of 0 bytes")
	assert.Equal(t, [2]string{`range ""`, "bytes 0- of a service that reads ranges"}, [2]string{e.Got, e.Want})
	length = "100"
	assert.EqualValues(t, 100, open(t, s, "s3://lab/a").Size(), "all of it, of a service that knows no ranges")
}

func TestCancellingEndsAReadAndNotTheFile(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a", noise(8<<20))
	f := open(t, s, "s3://lab/a")
	held := make(chan struct{})
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-held:
		case <-r.Context().Done():
		}
		return false
	})
	for _, size := range []int{10, 3 << 20} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := storage.Bound(ctx, f).ReadAt(make([]byte, size), 1<<20)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.Open(ctx, "s3://lab/a")
	assert.ErrorIs(t, err, context.Canceled)
	close(held)
	_, err = f.ReadAt(make([]byte, 10), 1<<20)
	assert.NoError(t, err)
}

func TestCloseEndsWhatIsRead(t *testing.T) {
	server, s := started(t)
	server.Put(t, "lab", "a", noise(8<<20))
	for _, size := range []int{10, 3 << 20} {
		f := open(t, s, "s3://lab/a")
		asked := make(chan struct{}, 100)
		server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			asked <- struct{}{}
			<-r.Context().Done()
			return true
		})
		failed := make(chan error)
		go func() {
			_, err := f.ReadAt(make([]byte, size), 1<<20)
			failed <- err
		}()
		<-asked
		require.NoError(t, f.Close())
		assert.ErrorIs(t, <-failed, fs.ErrClosed)
		server.Intercept(nil)
	}
}

func TestTheSchemeIsRegistered(t *testing.T) {
	assert.Contains(t, storage.Schemes(), "s3")
	_, err := storage.Open(context.Background(), "gs://lab/a")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "want a path, or file://, s3://")
}

func TestAListingThatRepeatsATokenIsRefused(t *testing.T) {
	server, s := started(t)
	pages := 0
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		pages++
		fmt.Fprintf(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken><Contents><Key>a/%d</Key></Contents></ListBucketResult>`, pages%3, pages)
		return true
	})
	_, err := s.List(t.Context(), "s3://lab/a", -1)
	assert.ErrorContains(t, err, `got token "1" after 4 pages`)
	assert.ErrorIs(t, err, storage.ErrSystem)
	assert.Equal(t, 4, pages)
}
