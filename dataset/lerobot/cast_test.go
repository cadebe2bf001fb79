package lerobot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/tensor"
)

// A table of float64 that is declared as float32 is read as LeRobot reads it, and values that change are counted.
func TestValuesAreCastToTheDeclaredType(t *testing.T) {
	s := open(t, recording(t, "lerobot_studio/lerobotv2"), lerobot.Options{})
	e := episode(t, s, 0)
	st := e.Stream("observation.state")
	assert.Equal(t, tensor.F32, st.Values.DType())
	assert.Equal(t, []float64{0, float64(float32(0.1)), float64(float32(0.2))}, floats(t, st))
	n := e.Notes.Find(dataset.CodeValuesCast)
	require.NotNil(t, n)
	assert.Equal(t, []any{2, 3, "float64", "float32"}, []any{n.Count, n.Of, n.Got, n.Want})
}
