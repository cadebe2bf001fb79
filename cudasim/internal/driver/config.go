package driver

import "github.com/robocache/robocache/cudasim/internal/exec"

// Config configures devices. Its fields are those of cudasim.Config.
type Config struct {
	exec.Options // options for each launch
	Rewrite      func(text []byte) []byte
	Memory       uint64
	Shared       int
}

// Name is the name of the device.
const Name = "Simulated GPU"

// CUDAVersion is the CUDA version that cuDriverGetVersion returns: 12.8.
const CUDAVersion = 12080

// ISAVersion is the newest .version of PTX that the device accepts: 8.7, as in CUDA 12.8.
const ISAVersion = 87

// The device's limits are those of compute capability 9.0.
const (
	ccMajor, ccMinor = 9, 0
	maxThreads       = 1024
	maxShared        = 48 << 10
	maxSharedOptin   = 227 << 10
	defaultMemory    = 2 << 30
)

func (c Config) memory() uint64 {
	if c.Memory > 0 {
		return c.Memory
	}
	return defaultMemory
}

func (d *Device) multiprocessors() int {
	if d.cfg.Multiprocessors > 0 {
		return d.cfg.Multiprocessors
	}
	return exec.DefaultMultiprocessors
}

// sharedOptin returns the largest shared memory of a block in bytes.
func (d *Device) sharedOptin() int {
	if d.cfg.Shared > 0 {
		return min(d.cfg.Shared, maxSharedOptin)
	}
	return maxSharedOptin
}
