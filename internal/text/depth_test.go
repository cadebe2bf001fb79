package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/text"
)

func TestTheDepthOfYAMLIsBounded(t *testing.T) {
	assert.Equal(t, 2, text.Depth([]byte("a: [1, [2]]\nb: {}\n- c - d\n")))
	assert.Equal(t, 1000, text.Depth([]byte(strings.Repeat("- ", 1000))))
	assert.Equal(t, 1000, text.Depth([]byte("a: "+strings.Repeat("[", 1000))))
}
