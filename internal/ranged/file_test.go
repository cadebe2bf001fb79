package ranged

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/storage"
)

// counted is a source of bytes in memory, which counts requests and the bytes of their answers.
type counted struct {
	data            []byte
	requests, bytes atomic.Int64
}

func (c *counted) source() Source {
	return Source{URL: "mem://a", Wait: time.Millisecond, Get: func(_ context.Context, _ string, off, n int64) (io.ReadCloser, int64, error) {
		b := c.data[off:min(off+n, int64(len(c.data)))]
		c.requests.Add(1)
		c.bytes.Add(int64(len(b)))
		return io.NopCloser(bytes.NewReader(b)), int64(len(c.data)), nil
	}}
}

func (c *counted) count() (requests, bytes int64) { return c.requests.Swap(0), c.bytes.Swap(0) }

func TestAFileIsReadOnceAndKeepsNoMoreThanItsBound(t *testing.T) {
	c := &counted{data: make([]byte, kept+kept/2)}
	_, _ = rand.NewChaCha8([32]byte{7}).Read(c.data)
	size := int64(len(c.data))
	f := New(c.source(), size, nil)
	defer f.Close()
	var got bytes.Buffer
	_, err := io.Copy(&got, struct{ io.Reader }{io.NewSectionReader(f, 0, f.Size())})
	require.NoError(t, err)
	assert.True(t, bytes.Equal(c.data, got.Bytes()))
	requests, read := c.count()
	assert.InDelta(t, size, read, 1<<16, "once, and not in part twice")
	assert.Less(t, requests, int64(30))
	f.mu.Lock()
	assert.LessOrEqual(t, f.held, int64(kept))
	f.mu.Unlock()

	f = New(c.source(), size, c.data[:least])
	defer f.Close()
	for i := range 20 { // far from each other, and the first one in the head
		_, err := f.ReadAt(make([]byte, 100), int64(i)<<20)
		require.NoError(t, err)
	}
	requests, read = c.count()
	assert.EqualValues(t, 19, requests)
	assert.InDelta(t, 19*least, read, least)
	for i := range 20 {
		_, err := f.ReadAt(make([]byte, 100), int64(i)<<20+200)
		require.NoError(t, err)
	}
	requests, _ = c.count()
	assert.Zero(t, requests, "they are kept")
}

func TestAnswersHaveARange(t *testing.T) {
	for _, c := range []struct {
		header            string
		length, off, size int64
	}{{"bytes 0-9/100", 10, 0, 100}, {"bytes 5-9/10", 5, 5, 10}, {"", 100, 0, 100}, {"", 0, 0, 0},
		{"", -1, 0, -1}, {"", 100, 5, -1}, {"bytes 6-9/10", 5, 5, -1}, {"bytes 5-10/10", 5, 5, -1}, {"bytes 5-4/10", 5, 5, -1}, {"bytes 0-9/*", 10, 0, -1}, {"bytes */10", 10, 0, -1}} {
		size, err := ParseRange(c.header, c.length, c.off)
		if c.size < 0 {
			var e *storage.RequestError
			require.ErrorAs(t, err, &e, c.header)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.size, size)
	}
}
