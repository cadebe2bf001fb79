package main

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTakesTopicsToAnMCAPFile(t *testing.T) {
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "aligned.mcap")
	require.NoError(t, run("../data/turtles.bag", "log", "cpu", file, []string{"/turtle1/pose", "/tf.turtle2"}, &out))
	assert.Equal(t, `remark: /tf: frames move in their parents: turtle1 in world, turtle2 in world
/turtle1/pose: 1344 samples become [1075 5], of which 1075 are valid
/tf.turtle2: 1344 samples become [1075 7], of which 1075 are valid
wrote `+file+`
computed on cpu
`, out.String())

	d := settest.Open(t, file)
	e := settest.Episode(t, d, 0)
	assert.Equal(t, []string{"x", "y", "theta", "linear_velocity", "angular_velocity"}, e.Stream("/turtle1/pose").ColumnNames())
	assert.Equal(t, 1075, e.Stream("/tf.turtle2").Len())
}

func TestUnknownBackendWritesNothing(t *testing.T) {
	exampletest.UnknownBackendWritesNothing(t, func(backend string, out io.Writer) error {
		return run("../data/turtles.bag", "log", backend, "", []string{"/turtle1/pose"}, out)
	})
}
