package sim_test

import (
	"testing"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/faultsweep"
)

// sweep fails every driver call of a whole run in turn, each on a fresh device.
func sweep(t *testing.T, code cudadrv.Code, after bool) {
	t.Parallel()
	var dev *cudasim.Device
	s := &faultsweep.Sweep{
		FunctionTable: func() *cudadrv.FunctionTable {
			dev = cudasim.New(cudasim.Config{})
			return dev.FunctionTable()
		},
		Open: func() (open []string) {
			for _, l := range dev.Leaks() {
				open = append(open, string(l.Kind)+" made at\n"+l.Stack)
			}
			return open
		},
		Run: faultsweep.Pipeline, Code: code, After: after,
	}
	t.Logf("%d calls", s.Do(t))
}

func TestEveryCallMayRunOutOfMemory(t *testing.T)    { sweep(t, cudadrv.ErrOutOfMemory, false) }
func TestEveryCallMayFailForNoReason(t *testing.T)   { sweep(t, cudadrv.ErrUnknown, false) }
func TestEveryCallMayReportWhatFailed(t *testing.T)  { sweep(t, cudadrv.ErrUnknown, true) }
func TestEveryCallMayFindTheDeviceLost(t *testing.T) { sweep(t, cudadrv.ErrLaunchFailed, false) }
func TestEveryCallMayReportALostDevice(t *testing.T) { sweep(t, cudadrv.ErrIllegalAddress, true) }
