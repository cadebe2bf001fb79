package dataset

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/memory"
)

// A reader that has no memory ends the command; its file is not damaged.
func TestGuardReturnsTheErrorOfMust(t *testing.T) {
	memory.Set(64 << 20)
	defer memory.Set(0)
	take := func() error { memory.Must[float64]("rows", 8<<20); return nil }
	for name, read := range map[string]func() error{
		"this goroutine": take,
		"another one":    func() error { panic(caught.Do(take)) },
	} {
		err := func() (err error) {
			defer Guard("csv", "a.csv", &err)()
			return read()
		}()
		assert.True(t, IsFatal(err), name)
		_, broken := AsBroken(err)
		assert.False(t, broken, name)
		assert.ErrorContains(t, err, "rows: out of memory: got 64 MiB", name)
	}
}
