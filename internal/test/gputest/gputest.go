package gputest

import (
	"os"
	"testing"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

// requireEnv is the variable that turns skips into failures.
const requireEnv = "ROBOCACHE_REQUIRE_GPU"

// simulated is the driver that Require returns in place of the real one after Simulate, and functions is its function table. Both are
// nil without Simulate.
var (
	simulated *cudadrv.Driver
	functions *cudadrv.FunctionTable
)

// Simulate makes Require and Context use a simulated device until the end of the test, so that a GPU test runs on it unchanged.
// Parallel tests must not call it.
func Simulate(t testing.TB, cfg cudasim.Config) *cudasim.Device {
	t.Helper()
	return SimulateSeveral(t, 1, cfg)[0]
}

// SimulateSeveral is Simulate with n devices.
func SimulateSeveral(t testing.TB, n int, cfg cudasim.Config) []*cudasim.Device {
	t.Helper()
	devices := cudasim.NewDevices(n, cfg)
	dev := devices[0]
	d, err := cudadrv.NewDriver(dev.FunctionTable())
	if err != nil {
		t.Fatal(err)
	}
	before, beforeTable := simulated, functions
	simulated, functions = d, dev.FunctionTable()
	t.Cleanup(func() { simulated, functions = before, beforeTable })
	return devices
}

// Both runs a test on a simulated device, and then on the GPU if the machine has one.
func Both(t *testing.T, test func(t *testing.T)) {
	t.Run("sim", func(t *testing.T) {
		closed(t, []*cudasim.Device{Simulate(t, cudasim.Config{})})
		test(t)
	})
	t.Run("gpu", func(t *testing.T) {
		Require(t)
		test(t)
	})
}

// Several is Both for a test with n devices that can access each other's memory. The test on GPUs is skipped if there are fewer than
// n; it fails if there are none and ROBOCACHE_REQUIRE_GPU is 1.
func Several(t *testing.T, n int, test func(t *testing.T, contexts []*cudadrv.Context)) {
	all := func(t *testing.T) {
		var contexts []*cudadrv.Context
		for i := range n {
			contexts = append(contexts, contextOf(t, i))
		}
		test(t, contexts)
	}
	t.Run("sim", func(t *testing.T) {
		closed(t, SimulateSeveral(t, n, cudasim.Config{}))
		all(t)
	})
	t.Run("gpu", func(t *testing.T) {
		d := Require(t)
		if count, err := d.DeviceCount(); err != nil || count < n {
			t.Skipf("%d GPUs, and %d are needed: %v", count, n, err)
		}
		for i := range n {
			for j := range i {
				a, err := d.Device(i)
				if err != nil {
					t.Fatal(err)
				}
				b, err := d.Device(j)
				if err != nil {
					t.Fatal(err)
				}
				if ok, err := a.CanAccess(b); err != nil || !ok {
					t.Skipf("GPU %d does not reach the memory of GPU %d: %v", i, j, err)
				}
			}
		}
		all(t)
	})
}

// closed fails the test at its end if it left objects open on simulated devices.
func closed(t *testing.T, devices []*cudasim.Device) {
	t.Cleanup(func() {
		for _, dev := range devices {
			for _, l := range dev.Leaks() {
				t.Errorf("left open: %s, %d bytes, made at\n%s", l.Kind, l.Size, l.Stack)
			}
		}
	})
}

// Require returns the driver. Without a GPU it skips or fails the test.
func Require(t testing.TB) *cudadrv.Driver {
	t.Helper()
	if simulated != nil {
		return simulated
	}
	d, err := cudadrv.Open()
	if err == nil {
		return d
	}
	if os.Getenv(requireEnv) == "1" {
		t.Fatalf("a GPU is required (%s=1): %v", requireEnv, err)
	}
	t.Skipf("no GPU or driver: %v", err)
	return nil
}

// FunctionTable returns the functions of the driver that Require returns.
func FunctionTable(t testing.TB) *cudadrv.FunctionTable {
	t.Helper()
	Require(t)
	if simulated != nil {
		return functions
	}
	table, err := cudadrv.SystemFunctionTable()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Context returns the primary context of device 0 and closes it at the end of the test. The test fails if it left objects open in the
// context.
func Context(t testing.TB) *cudadrv.Context {
	t.Helper()
	return contextOf(t, 0)
}

func contextOf(t testing.TB, i int) *cudadrv.Context {
	t.Helper()
	dev, err := Require(t).Device(i)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.Primary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
			for _, l := range dev.Driver().Leaks() {
				t.Logf("open: %s, %d bytes, made at\n%s", l.Kind, l.Size, l.Stack)
			}
		}
	})
	return c
}
