package cudasim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreAlignedApartAndNotGivenTwice(t *testing.T) {
	sp := newSpace(10000)
	a, err := sp.alloc(1, "one")
	require.NoError(t, err)
	b, err := sp.alloc(9000, "two")
	require.NoError(t, err)
	assert.Zero(t, a%512)
	assert.Zero(t, b%512)
	assert.GreaterOrEqual(t, b, a+1+guardGap)
	_, err = sp.alloc(1000, "three")
	assert.ErrorIs(t, err, errNoMemory)
	require.NoError(t, sp.free(b))
	assert.ErrorIs(t, sp.free(b), errNoAlloc)
	assert.ErrorIs(t, sp.free(a+512), errNoAlloc)
	c, err := sp.alloc(9000, "four")
	require.NoError(t, err)
	assert.Greater(t, c, b)
	_, ok := sp.find(c + 8999)
	assert.True(t, ok)
	_, ok = sp.find(c + 9000)
	assert.False(t, ok)
	assert.Len(t, sp.live(), 2)
}

func TestTheHostReachesOneAllocationAtATime(t *testing.T) {
	sp := newSpace(1 << 20)
	a, err := sp.alloc(100, "test")
	require.NoError(t, err)
	b, err := sp.bytes(a+10, 90, true)
	require.NoError(t, err)
	assert.Len(t, b, 90)
	_, err = sp.bytes(a+10, 91, false)
	assert.ErrorContains(t, err, "outside of the 100 bytes of test memory")
	m, _ := sp.find(a)
	assert.True(t, m.written(10, 90))
	assert.False(t, m.written(9, 1))
	require.NoError(t, sp.free(a))
	_, err = sp.bytes(a, 1, false)
	assert.ErrorContains(t, err, "use after free")
}

func TestACopyWithinTheDeviceCarriesWhatWasWritten(t *testing.T) {
	sp := newSpace(1 << 20)
	a, err := sp.alloc(64, "from")
	require.NoError(t, err)
	b, err := sp.alloc(64, "to")
	require.NoError(t, err)
	from, err := sp.bytes(a, 8, true)
	require.NoError(t, err)
	copy(from, "01234567")
	_, err = sp.bytes(b, 64, true)
	require.NoError(t, err)
	require.NoError(t, sp.move(b+20, a+4, 8))
	m, _ := sp.find(b)
	assert.True(t, m.written(0, 24))
	assert.False(t, m.written(24, 1))
	assert.False(t, m.written(27, 1))
	assert.True(t, m.written(28, 36))
	assert.Equal(t, "4567", string(m.data[20:24]))
}

// live returns the allocations that were not freed, by address.
func (s *space) live() []*allocation { return slices.Clone(*s.list.Load()) }
