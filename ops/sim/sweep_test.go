package sim_test

import (
	"testing"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/faultsweep"
	"github.com/robocache/robocache/internal/test/thorough"
)

// sweep fails every driver call of a whole run in turn, each on a fresh device.
func sweep(t *testing.T, code cudadrv.Code, after bool, run func(*cudadrv.Driver) error, quiet string) {
	t.Parallel()
	var dev *cudasim.Device
	s := &faultsweep.Sweep{
		FunctionTable: func() *cudadrv.FunctionTable {
			dev = cudasim.New(cudasim.Config{Skip: cudasim.CheckRaces}) // other tests look for races in the same kernels
			return dev.FunctionTable()
		},
		Open: func() (open []string) {
			for _, l := range dev.Leaks() {
				open = append(open, string(l.Kind)+" made at\n"+l.Stack)
			}
			return open
		},
		Run: run, Quiet: quiet, Code: code, After: after,
	}
	t.Logf("%d calls", s.Do(t))
}

func TestEveryCallMayRunOutOfMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrOutOfMemory, false, faultsweep.Pipeline, "")
}
func TestEveryCallMayFailForNoReason(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrUnknown, false, faultsweep.Pipeline, "")
}
func TestEveryCallMayReportWhatFailed(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrUnknown, true, faultsweep.Pipeline, "")
}
func TestEveryCallMayFindTheDeviceLost(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrLaunchFailed, false, faultsweep.Pipeline, "")
}
func TestEveryCallMayReportALostDevice(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrIllegalAddress, true, faultsweep.Pipeline, "")
}

// dependent is what tells whether launches can be dependent: without an answer they are not.
const dependent = "cuDeviceGetAttribute"

func TestEveryCallOfTrainingMayRunOutOfMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrOutOfMemory, false, faultsweep.Training, dependent)
}
func TestEveryCallOfTrainingMayReportWhatFailed(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	sweep(t, cudadrv.ErrUnknown, true, faultsweep.Training, dependent)
}
