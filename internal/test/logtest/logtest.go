package logtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// stuck is a file on a network. While silent is set, reads get no answer until their context ends.
type stuck struct {
	storage.File
	silent atomic.Bool
	asked  chan struct{} // receives a value for each read without an answer
}

func (s *stuck) ReadAtContext(ctx context.Context, b []byte, at int64) (int, error) {
	if s.silent.Load() {
		s.asked <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.File.ReadAt(b, at)
}

// ReadsEnd fails the test unless a read without an answer ends with its caller's context. It tests opening a log, reading a part (a
// block of messages that is read at once), reading a message, and waiting for a message that another call is reading.
func ReadsEnd(t *testing.T, paths []string, open func(ctx context.Context, file storage.File, path string) (topics.Log, error)) {
	for _, path := range paths {
		local, err := storage.Open(t.Context(), path)
		require.NoError(t, err)
		file := &stuck{File: local, asked: make(chan struct{}, 9)}
		file.silent.Store(true)
		ended := func(what string, do func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			defer cancel()
			assert.ErrorIs(t, do(ctx), context.DeadlineExceeded, "%s: %s", path, what)
		}
		ended("open", func(ctx context.Context) error {
			_, err := open(ctx, file, path)
			return err
		})
		file.silent.Store(false)
		log, err := open(t.Context(), file, path)
		require.NoError(t, err)
		var at topics.At
		var want []byte
		for part := range log.Parts() {
			require.NoError(t, log.Each(t.Context(), part, new(dataset.Notes), func(m topics.Message) error {
				at, want = m.At, append([]byte{}, m.Data...)
				return nil
			}))
		}
		file.silent.Store(true)
		ended("a part", func(ctx context.Context) error {
			return log.Each(ctx, at.Part, new(dataset.Notes), func(topics.Message) error { return nil })
		})
		for len(file.asked) > 0 {
			<-file.asked
		}
		// One call reads and gets no answer. A second call that waits for it ends with its own context; a third reads the message
		// once the first has ended.
		first, end := context.WithCancel(t.Context())
		failed, read := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := log.Message(first, at)
			failed <- err
		}()
		<-file.asked
		ended("who waits", func(ctx context.Context) error {
			_, err := log.Message(ctx, at)
			return err
		})
		file.silent.Store(false)
		go func() {
			got, err := log.Message(t.Context(), at)
			assert.Equal(t, want, got, path)
			read <- err
		}()
		end()
		assert.ErrorIs(t, <-failed, context.Canceled)
		assert.NoError(t, <-read)
		require.NoError(t, local.Close())
	}
}
