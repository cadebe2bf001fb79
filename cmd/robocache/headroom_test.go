package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGarbageStaysWithinTheHeadroom(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 1 << 20: 100, headroom: 100, 2 * headroom: 50, 4 * headroom: 25, 1 << 40: 10} {
		assert.Equal(t, want, gcPercent(live), live)
	}
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	c := newCollector()
	c.adjust()
	held := make([]byte, 4*headroom) // never written: it takes no memory
	runtime.GC()
	c.adjust()
	got := debug.SetGCPercent(100)
	assert.InDelta(t, 20, got, 5, "25 less what else is in use")
	runtime.KeepAlive(held)
	t.Setenv("GOGC", "100")
	c.adjust()
	assert.Equal(t, 100, debug.SetGCPercent(100), "the user has decided")
}
