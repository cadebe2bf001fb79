package schema

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSchemaIsTheFirstKey(t *testing.T) {
	text, err := JSON(View, map[string]any{"a": "<"}, "")
	require.NoError(t, err)
	assert.Equal(t, `{"schema":{"name":"robocache.view","version":1},"a":"<"}`+"\n", string(text))
	text, err = JSON(View, map[string]any{"a": 1}, " ")
	require.NoError(t, err)
	assert.Equal(t, "{\n \"schema\": {\n  \"name\": \"robocache.view\",\n  \"version\": 1\n },\n \"a\": 1\n}\n", string(text))
	_, err = JSON(View, map[string]any{"a": math.NaN()}, " ")
	assert.Error(t, err)
}
