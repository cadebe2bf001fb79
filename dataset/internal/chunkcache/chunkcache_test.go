package chunkcache

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChunksThatAreKeptAreBounded(t *testing.T) {
	var c Cache[int]
	for i := range 10 {
		c.Put(i, make([]byte, maxKept/4))
		c.Put(i, make([]byte, maxKept/4)) // another goroutine had it, too
		assert.LessOrEqual(t, c.bytes, maxKept)
	}
	assert.Equal(t, 4, c.byUse.Len())
	assert.Nil(t, c.Get(5))
	assert.NotNil(t, c.Get(6))
	c.Put(20, make([]byte, maxKept/2))
	assert.NotNil(t, c.Get(6), "it was used since")
	assert.Nil(t, c.Get(7))
	c.Put(30, make([]byte, 2*maxKept))
	assert.Equal(t, 1, c.byUse.Len(), "the last one is kept, however large")
}
