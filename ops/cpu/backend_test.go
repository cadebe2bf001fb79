package cpu

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/caught"
)

// A panic of a thread is the calling goroutine's, and comes when nobody works on the task any more: who catches it may use the memory again.
func TestAPanicOfAThreadIsTheCallers(t *testing.T) {
	b := New(4)
	defer b.Close()
	for range 50 {
		var now, done atomic.Int64
		var both sync.WaitGroup
		both.Add(2)
		err := caught.Do(func() error {
			b.parallel(&task{pieces: 200, do: func(piece, _ int) {
				now.Add(1)
				defer now.Add(-1)
				if piece < 2 { // each on a thread of its own
					both.Done()
					both.Wait()
					panic("a mistake")
				}
			}})
			return nil
		})
		assert.ErrorContains(t, err, "a mistake")
		assert.Zero(t, now.Load())
		b.parallel(&task{pieces: 50, do: func(int, int) { done.Add(1) }})
		assert.EqualValues(t, 50, done.Load(), "it works on")
	}
}
