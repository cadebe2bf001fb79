package sim_test

import (
	"os"
	"testing"

	"github.com/robocache/robocache/internal/test/opstest"
)

func TestMain(m *testing.M) { os.Exit(opstest.Main(m)) }
