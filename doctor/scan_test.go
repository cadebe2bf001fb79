package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The first rows hold still, and what follows is elsewhere from the first of another block on.
func TestSumsAreThoseOfAllBlocks(t *testing.T) {
	v := &values{rows: 3 * block, width: 1, f32: make([]float32, 3*block)}
	for i := range v.f32 {
		if v.f32[i] = 5; i >= block {
			v.f32[i] = 8
		}
	}
	var m moments
	var all tally
	v.scan(&all)
	m.take(&all.columns[0], v.rows)
	assert.InDelta(t, 7, m.Mean, 1e-12)
	assert.InDelta(t, 1.4142135623730951, m.Std(), 1e-12)
}
