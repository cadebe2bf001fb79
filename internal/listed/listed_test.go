package listed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTwentyNamesAreListed(t *testing.T) {
	assert.Equal(t, "", Names(nil))
	assert.Equal(t, "a, b", Names([]string{"a", "b"}))
	many := strings.Split(strings.Repeat("x", 20), "")
	assert.Equal(t, strings.Join(many, ", "), Names(many))
	assert.Equal(t, strings.Join(many, ", ")+" and 2 more", Names(append(many, "y", "z")))
}
