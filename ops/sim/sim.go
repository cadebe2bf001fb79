package sim

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
)

func init() {
	backend.Register(backend.Opener{Name: "sim", Open: func(arg string) (backend.Backend, error) {
		if arg != "" && arg != "0" {
			return nil, fmt.Errorf("sim: device number: got %q, want 0: there is one", arg)
		}
		if _, err := Device(); err != nil {
			return nil, err
		}
		return cuda.NewAs("sim", shared.driver, 0)
	}})
}

// shared is the device behind ops.Open.
var shared struct {
	once   sync.Once
	device *cudasim.Device
	driver *cudadrv.Driver
	err    error
}

// Device gives the device that ops.Open("sim") opens, for its faults, its leaks, and the counters of its launches.
func Device() (*cudasim.Device, error) {
	shared.once.Do(func() {
		var cfg cudasim.Config
		if cfg, shared.err = config(); shared.err == nil {
			shared.device = cudasim.New(cfg)
			shared.driver, shared.err = cudadrv.NewDriver(shared.device.Table())
		}
	})
	return shared.device, shared.err
}

// SeedEnv is a variable whose number, if it is not 0, makes the blocks and warps of the shared device take turns in an
// order drawn from it.
const SeedEnv = "ROBOCACHE_SIM_SEED"

func config() (cudasim.Config, error) {
	var cfg cudasim.Config
	if text := os.Getenv(SeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return cfg, fmt.Errorf("sim: %s: got %q, want a number", SeedEnv, text)
		}
		cfg.Seed = seed
	}
	return cfg, nil
}

// New opens the CUDA backend on a simulated device, under the name "sim:0".
func New(d *cudasim.Device) (backend.Backend, error) {
	drv, err := cudadrv.NewDriver(d.Table())
	if err != nil {
		return nil, err
	}
	return cuda.NewAs("sim", drv, 0)
}
