package replay_test

import (
	"os"
	"testing"

	"github.com/robocache/robocache/ops/opstest"
)

func TestMain(m *testing.M) { os.Exit(opstest.Main(m)) }
