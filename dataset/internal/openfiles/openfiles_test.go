package openfiles

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// closing counts how often it is closed.
type closing struct{ n *int }

func (c closing) Close() error { *c.n++; return nil }

func TestAFileThatIsSlowToOpenKeepsNoOtherWaiting(t *testing.T) {
	begun, slow := make(chan bool), make(chan bool)
	closed, opened := 0, 0
	var mu sync.Mutex
	c := Cache[closing]{Format: "test", Most: 1, Open: func(path string) (closing, error) {
		mu.Lock()
		opened++
		mu.Unlock()
		if path == "slow" {
			close(begun)
			<-slow
		}
		return closing{&closed}, nil
	}}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			o, err := c.Get("slow")
			if assert.NoError(t, err) {
				c.Give(o)
			}
		})
	}
	<-begun
	o, err := c.Get("other")
	require.NoError(t, err)
	c.Give(o)
	close(slow)
	wait.Wait()
	assert.Equal(t, 2, opened, "each once")
	assert.Equal(t, 1, closed)
	c.Close()
	assert.Equal(t, 2, closed)
	_, err = c.Get("other")
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestAFileThatCouldNotBeOpenedIsTriedAgain(t *testing.T) {
	tries, closed := 0, 0
	c := Cache[closing]{Format: "test", Most: 1, Open: func(string) (closing, error) {
		if tries++; tries == 1 {
			return closing{}, errors.New("busy")
		}
		return closing{&closed}, nil
	}}
	_, err := c.Get("a")
	assert.EqualError(t, err, "busy")
	o, err := c.Get("a")
	require.NoError(t, err)
	c.Close()
	assert.Zero(t, closed, "it is in use")
	c.Give(o)
	assert.Equal(t, 1, closed)
}
