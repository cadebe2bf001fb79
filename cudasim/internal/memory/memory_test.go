package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreAlignedApartAndNotGivenTwice(t *testing.T) {
	sp := New(10000)
	a, err := sp.Alloc(1, "one")
	require.NoError(t, err)
	b, err := sp.Alloc(9000, "two")
	require.NoError(t, err)
	assert.Zero(t, a%512)
	assert.Zero(t, b%512)
	assert.GreaterOrEqual(t, b, a+1+guardGap)
	_, err = sp.Alloc(1000, "three")
	assert.ErrorIs(t, err, ErrNoMemory)
	require.NoError(t, sp.Free(b))
	assert.ErrorIs(t, sp.Free(b), errNoAlloc)
	assert.ErrorIs(t, sp.Free(a+512), errNoAlloc)
	c, err := sp.Alloc(9000, "four")
	require.NoError(t, err)
	assert.Greater(t, c, b)
	_, ok := sp.Find(c + 8999)
	assert.True(t, ok)
	_, ok = sp.Find(c + 9000)
	assert.False(t, ok)
	assert.Len(t, *sp.list.Load(), 2)
}

func TestTheHostReachesOneAllocationAtATime(t *testing.T) {
	sp := New(1 << 20)
	a, err := sp.Alloc(100, "test")
	require.NoError(t, err)
	b, err := sp.Bytes(a+10, 90, true)
	require.NoError(t, err)
	assert.Len(t, b, 90)
	_, err = sp.Bytes(a+10, 91, false)
	assert.ErrorContains(t, err, "outside of the 100 bytes of test memory")
	m, _ := sp.Find(a)
	assert.True(t, m.Written(10, 90))
	assert.False(t, m.Written(9, 1))
	require.NoError(t, sp.Free(a))
	_, err = sp.Bytes(a, 1, false)
	assert.ErrorContains(t, err, "use after free")
}

func TestACopyWithinTheDeviceCarriesWhatWasWritten(t *testing.T) {
	sp := New(1 << 20)
	a, err := sp.Alloc(64, "from")
	require.NoError(t, err)
	b, err := sp.Alloc(64, "to")
	require.NoError(t, err)
	from, err := sp.Bytes(a, 8, true)
	require.NoError(t, err)
	copy(from, "01234567")
	_, err = sp.Bytes(b, 64, true)
	require.NoError(t, err)
	require.NoError(t, sp.Move(b+20, a+4, 8))
	m, _ := sp.Find(b)
	assert.True(t, m.Written(0, 24))
	assert.False(t, m.Written(24, 1))
	assert.False(t, m.Written(27, 1))
	assert.True(t, m.Written(28, 36))
	assert.Equal(t, "4567", string(m.Data[20:24]))
}
