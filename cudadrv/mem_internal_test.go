package cudadrv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTextForCMayBeReadByWords(t *testing.T) {
	for n := range 40 {
		b := cstring(strings.Repeat("x", n))
		assert.Equal(t, strings.Repeat("x", n)+"\x00", string(b))
		assert.GreaterOrEqual(t, cap(b), (n+8)&^7)
	}
}
