package cudadrv

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPoolIsOpenedToDevicesThatReachIt(t *testing.T) {
	k := newFake()
	k.devices = 3 // number 2 reaches nobody
	d, err := NewDriver(k.table())
	require.NoError(t, err)
	dev := d.devices
	c, err := dev[0].Primary()
	require.NoError(t, err)
	defer c.Close()

	ok, err := dev[0].CanAccess(dev[1])
	require.NoError(t, err)
	assert.True(t, ok)
	ok, err = dev[2].CanAccess(dev[1])
	require.NoError(t, err)
	assert.False(t, ok)

	var unsupported *UnsupportedError
	require.ErrorAs(t, c.OpenPool(dev[1], dev[2]), &unsupported)
	assert.Contains(t, unsupported.Error(), "device 2 to the memory of device 0")
	assert.Empty(t, k.opened, "nothing is opened if not all can be")
	require.NoError(t, c.OpenPool(dev[1]))
	assert.Equal(t, [][3]uint32{{1, 1, 3}}, k.opened)
	require.NoError(t, c.OpenPool())

	other, err := NewDriver(newFake().table())
	require.NoError(t, err)
	for _, wrong := range []*Device{nil, dev[0], other.devices[0]} {
		var e *ValueError
		require.ErrorAs(t, c.OpenPool(wrong), &e)
		_, err = dev[0].CanAccess(wrong)
		require.ErrorAs(t, err, &e)
	}
	k.missing["cuMemPoolSetAccess"] = true
	old, err := NewDriver(k.table())
	require.NoError(t, err)
	c2, err := old.devices[0].Primary()
	require.NoError(t, err)
	defer c2.Close()
	require.ErrorIs(t, c2.OpenPool(old.devices[1]), ErrUnsupported)
	k.missing["cuMemPoolSetAccess"] = false
	k.attrs[MemoryPoolsSupported] = 0
	none, err := NewDriver(k.table())
	require.NoError(t, err)
	c3, err := none.devices[0].Primary()
	require.NoError(t, err)
	defer c3.Close()
	require.ErrorIs(t, c3.OpenPool(none.devices[1]), ErrUnsupported)
}
