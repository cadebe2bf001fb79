package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/faultsweep"
	"github.com/robocache/robocache/internal/test/gputest"
)

// Every driver call of a whole run fails in turn; the driver beneath is the real one. What a lost device does is left to
// the simulated one: memory that cannot be freed is gone for the rest of the process here.
func TestEveryDriverCallMayFail(t *testing.T) {
	gputest.Require(t)
	table, err := cudadrv.SystemFunctionTable()
	require.NoError(t, err)
	for _, code := range []cudadrv.Code{cudadrv.ErrOutOfMemory, cudadrv.ErrUnknown} {
		s := &faultsweep.Sweep{FunctionTable: func() *cudadrv.FunctionTable { return table }, Run: faultsweep.Pipeline, Code: code}
		t.Logf("code %d: %d calls", code, s.Do(t))
	}
}
