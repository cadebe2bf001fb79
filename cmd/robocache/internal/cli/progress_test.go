package cli

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALongStepIsShownAndTakenAway(t *testing.T) {
	shown := &firstWrite{first: make(chan struct{})}
	done := (&screen{w: shown}).ticking(time.Millisecond, elapsed("reading"))
	<-shown.first
	done()
	assert.Regexp(t, "^(\rreading, 0 s\x1b\\[K)+\r\x1b\\[K$", shown.b.String())

	var quick bytes.Buffer
	(&screen{w: &quick}).ticking(time.Hour, elapsed("reading"))()
	assert.Empty(t, quick.String(), "a short step leaves no trace")
}

// firstWrite closes first at the first write.
type firstWrite struct {
	b     bytes.Buffer
	first chan struct{}
}

func (s *firstWrite) Write(p []byte) (int, error) {
	if s.b.Len() == 0 {
		close(s.first)
	}
	return s.b.Write(p)
}

func TestStepsAreForTerminalsOnly(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/stderr")
	require.NoError(t, err)
	defer file.Close()
	assert.Nil(t, (&screen{w: file}).announcing())
	assert.Nil(t, (&screen{w: &bytes.Buffer{}}).announcing())
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	assert.NotNil(t, (&screen{w: null}).announcing(), "a device, as a terminal is")
}
