package rosbag2_test

import (
	"os"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestMain(m *testing.M) { os.Exit(thorough.SkipRacePackage(m, thorough.OneRoutine)) }
