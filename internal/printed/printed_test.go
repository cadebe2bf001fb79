package printed

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestControlCharactersAreWrittenOut(t *testing.T) {
	assert.Equal(t, `a\x1b[2J\n\tä`, Text("a\x1b[2J\n\tä"))
	assert.Equal(t, "pose/ä b", Text("pose/ä b"))
}
