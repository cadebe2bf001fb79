package nn

import (
	"os"
	"testing"

	"github.com/robocache/robocache/ops/sim"
)

// Two simulated devices are there from the beginning, so that they are of one driver.
func TestMain(m *testing.M) {
	if err := os.Setenv(sim.CountEnv, "2"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
