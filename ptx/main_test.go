package ptx

import (
	"os"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestMain(m *testing.M) {
	code := thorough.SkipRacePackage(m, thorough.OneRoutine)
	os.RemoveAll(smallRoot)
	os.Exit(code)
}
