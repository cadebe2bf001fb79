package cudadrv

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Memory that is not Go's, such as a mapped file, is registered as it is: there is nothing to pin.
func TestMappedMemoryIsRegistered(t *testing.T) {
	b, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	k := newFake()
	c := k.open(t)
	s := stream(t, c)
	m, err := c.Malloc(context.Background(), 100)
	require.NoError(t, err)
	h, err := c.RegisterHost(b, RegisterOptions{})
	require.NoError(t, err)
	copy(b[500:], "mapped")
	require.NoError(t, s.CopyToDevice(m.Ptr(), h, 500, 6))
	require.NoError(t, s.CopyToHost(h, 1000, m.Ptr(), 6))
	require.NoError(t, s.Synchronize(context.Background()))
	assert.Equal(t, "mapped", string(b[1000:1006]))
	for _, x := range []interface{ Close() error }{h, m, s, c} {
		require.NoError(t, x.Close())
	}
	require.NoError(t, syscall.Munmap(b))
}
