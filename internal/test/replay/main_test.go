package replay_test

import (
	"os"
	"testing"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/replay"
	"github.com/robocache/robocache/ops/backend"
)

// opened is the device for ops.Open("replay"), because the suite opens its device a second time.
var opened struct {
	driver  *cudadrv.Driver
	kernels string
}

func TestMain(m *testing.M) {
	backend.Register(backend.Opener{Name: "replay", Open: func(string) (backend.Backend, error) {
		b, err := replay.New(opened.driver, 0, opened.kernels)
		if err != nil {
			return nil, err
		}
		return b, nil
	}})
	os.Exit(opstest.Main(m))
}
