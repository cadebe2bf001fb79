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
	backend.Register(backend.Opener{Name: "sim", Count: count, Open: func(arg string) (backend.Backend, error) {
		n, err := count()
		if err != nil {
			return nil, err
		}
		i := 0
		if arg != "" {
			if i, err = strconv.Atoi(arg); err != nil || i < 0 || i >= n {
				return nil, fmt.Errorf("sim: device number: got %q, want less than %d, the devices there are", arg, n)
			}
		}
		s, err := at(i)
		if err != nil {
			return nil, err
		}
		return cuda.NewAs(fmt.Sprintf("sim:%d", i), s.driver, s.ordinal)
	}})
}

// simulated is a simulated device that ops.Open can open.
type simulated struct {
	device  *cudasim.Device
	driver  *cudadrv.Driver
	ordinal int
}

// shared has the simulated devices of this process by number. The devices that CountEnv requests when the first is opened have one
// driver. If CountEnv is larger later, the further devices have other drivers.
var shared struct {
	sync.Mutex
	list []simulated
}

// at returns device number i, and creates it and those before it if necessary. It returns an error if an environment variable is
// invalid.
func at(i int) (simulated, error) {
	shared.Lock()
	defer shared.Unlock()
	if i < len(shared.list) {
		return shared.list[i], nil
	}
	cfg, err := config()
	if err != nil {
		return simulated{}, err
	}
	n, err := count()
	if err != nil {
		return simulated{}, err
	}
	devices := cudasim.NewDevices(max(n, i+1)-len(shared.list), cfg)
	driver, err := cudadrv.NewDriver(devices[0].FunctionTable())
	if err != nil {
		return simulated{}, err
	}
	for ordinal, d := range devices {
		shared.list = append(shared.list, simulated{d, driver, ordinal})
	}
	return shared.list[i], nil
}

// Device returns the simulated device that ops.Open("sim") opens. Use it to read faults, leaks, and launch counters.
func Device() (*cudasim.Device, error) {
	s, err := at(0)
	if err != nil {
		return nil, err
	}
	return s.device, nil
}

// CountEnv is the environment variable with the number of simulated devices, 1 if unset. It lets one machine test
// programs for several GPUs. The devices are named sim:0, sim:1 and so on. If the variable is set before the first is
// opened, they share one driver, and ops.Connect can connect them.
const CountEnv = "ROBOCACHE_SIM_DEVICES"

// mostDevices limits CountEnv to the number of GPUs in the largest machines.
const mostDevices = 16

func count() (int, error) {
	text := os.Getenv(CountEnv)
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostDevices {
		return 0, fmt.Errorf("sim: %s: got %q, want a number of devices, 1 to %d", CountEnv, text, mostDevices)
	}
	return n, nil
}

// SeedEnv is the environment variable with a seed. If it is set and not 0, blocks and warps on the shared device take
// turns in a random order from the seed.
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

// New opens the CUDA backend on a simulated device, with the name "sim:0".
func New(d *cudasim.Device) (backend.Backend, error) {
	drv, err := cudadrv.NewDriver(d.FunctionTable())
	if err != nil {
		return nil, err
	}
	return cuda.NewAs("sim:0", drv, 0)
}
