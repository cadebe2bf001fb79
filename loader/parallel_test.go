package loader

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An end of the context is no end of the list: who takes the list for whole sees the error first.
func TestAnEndedContextDoesNotShortenAList(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := 0
	for i, err := range inOrder(ctx, 10, 3, func(ctx context.Context, _ int) error { return ctx.Err() }) {
		seen++
		if i == 4 {
			assert.NoError(t, err)
			cancel()
		}
		if i > 7 { // those that had begun may have been done
			assert.ErrorIs(t, err, context.Canceled)
		}
	}
	assert.Equal(t, 10, seen)
}
