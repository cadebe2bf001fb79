package ops_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/ops"
)

// devices returns the CPU, and the GPU if its backend is linked in and finds one.
func devices(f *testing.F) []*ops.Device {
	f.Helper()
	var devs []*ops.Device
	for _, name := range []string{"cpu", "cuda"} {
		dev, err := ops.Open(name)
		if name == "cuda" && (errors.Is(err, ops.ErrUnknownBackend) || errors.Is(err, ops.ErrNoDevice)) {
			continue
		}
		require.NoError(f, err)
		f.Cleanup(func() { dev.Close() })
		devs = append(devs, dev)
	}
	return devs
}

func FuzzTimes(f *testing.F)   { opstest.FuzzTimes(f, devices(f)...) }
func FuzzShapes(f *testing.F)  { opstest.FuzzShapes(f, devices(f)...) }
func FuzzOptions(f *testing.F) { opstest.FuzzOptions(f, devices(f)...) }
func FuzzVoxels(f *testing.F)  { opstest.FuzzVoxels(f, devices(f)...) }
func FuzzFuse(f *testing.F)    { opstest.FuzzFuse(f, devices(f)...) }
func FuzzDraw(f *testing.F)    { opstest.FuzzDraw(f, devices(f)...) }
func FuzzFrames(f *testing.F)  { opstest.FuzzFrames(f, devices(f)...) }

func FuzzGradients(f *testing.F) { opstest.FuzzGradients(f, devices(f)...) }
