package caught_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/caught"
)

func fails() { panic(io.ErrNoProgress) }

func TestAPanicIsAnErrorWithItsStack(t *testing.T) {
	assert.NoError(t, caught.Do(func() error { return nil }))
	assert.Equal(t, io.EOF, caught.Do(func() error { return io.EOF }))
	err := caught.Do(func() error { fails(); return nil })
	var p *caught.Panic
	require.ErrorAs(t, err, &p)
	assert.ErrorIs(t, err, io.ErrNoProgress)
	assert.Contains(t, err.Error(), "caught_test.fails")
	assert.Same(t, p, caught.Do(func() error { panic(p) }), "as it was in the goroutine that panicked")
	assert.Nil(t, errors.Unwrap(caught.Do(func() error { panic("a word") })))
}
