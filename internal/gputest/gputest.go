package gputest

import (
	"os"
	"testing"

	"github.com/robocache/robocache/cudadrv"
)

// RequireEnv is the variable that turns skips into failures.
const RequireEnv = "ROBOCACHE_REQUIRE_GPU"

// Require gives the driver, or ends the test.
func Require(t testing.TB) *cudadrv.Driver {
	t.Helper()
	d, err := cudadrv.Open()
	if err == nil {
		return d
	}
	if os.Getenv(RequireEnv) == "1" {
		t.Fatalf("a GPU is required (%s=1): %v", RequireEnv, err)
	}
	t.Skipf("no GPU or driver: %v", err)
	return nil
}

// Context gives the primary context of device 0, closed at the end of the test. The test fails if it left
// something open.
func Context(t testing.TB) *cudadrv.Context {
	t.Helper()
	dev, err := Require(t).Device(0)
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
