package cudasim

import (
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/driver"
	"github.com/robocache/robocache/cudasim/internal/exec"
)

// The driver that the device models.
const (
	CUDAVersion = driver.CUDAVersion // the CUDA version that it states: 12.8
	ISAVersion  = driver.ISAVersion  // the newest .version of PTX that it takes: 8.7
	Name        = driver.Name        // the name of the device
)

// Config says how launches run. The zero value runs with every check, in order of block and warp.
type Config struct {
	// Seed, if it is not 0, gives the order of blocks, of warps and of the nodes of graphs: it is drawn from the seed, turns are short, and
	// several blocks run next to each other.
	Seed            uint64
	Workers         int    // goroutines that run blocks, 0 for GOMAXPROCS; the race check runs on one
	Skip            Check  // checks to leave out
	Counters        bool   // count instructions and memory traffic
	Lines           bool   // with Counters: count what ran for each line of the module's text
	Multiprocessors int    // 0 is 132; with the block size it limits how many blocks are resident
	MaxSteps        uint64 // instructions that a block's warps may run before it counts as hung, 0 for 2^31

	// Rewrite, if there is one, is given the text of every module that is loaded, and returns what is loaded in its place. It is
	// for tests that want a kernel with a defect.
	Rewrite func(text []byte) []byte
	Memory  uint64 // bytes of device memory, 0 for 2 GiB
	Shared  int    // bytes of shared memory that a block may have, 0 for 227 KB, which is the most
}

// Device is a simulated device, with what stands in for its driver. Its methods may be called from any goroutine.
type Device struct{ d *driver.Device }

// New makes a device that is alone with its driver. Nothing of it is shared with others.
func New(cfg Config) *Device { return NewDevices(1, cfg)[0] }

// NewDevices makes n devices of one driver, 1 to 64, each with its own memory of cfg's size. They can reach each other's memory
// pools: a pool that is opened to a device by cuMemPoolSetAccess is memory for its kernels and copies like its own. Kernels of
// all of them take turns.
func NewDevices(n int, cfg Config) []*Device {
	c := driver.Config{Options: exec.Options{Seed: cfg.Seed, Workers: cfg.Workers, Skip: cfg.Skip, Counters: cfg.Counters, Lines: cfg.Lines,
		Multiprocessors: cfg.Multiprocessors, MaxSteps: cfg.MaxSteps}, Rewrite: cfg.Rewrite, Memory: cfg.Memory, Shared: cfg.Shared}
	list := make([]*Device, n)
	for i, d := range driver.New(n, c) {
		list[i] = &Device{d}
	}
	return list
}

// FunctionTable is what cudadrv.NewDriver takes. NewDriver may be called again: it finds the same devices. The table is that of
// all devices of the driver.
func (d *Device) FunctionTable() *cudadrv.FunctionTable { return d.d.FunctionTable() }

// LastFault gives the fault that a kernel met, nil if none did. After it the device is lost, as a real one is: every
// call that uses its context returns the fault's code.
func (d *Device) LastFault() *Fault { return d.d.LastFault() }

// Leaks lists what is open now, the oldest first.
func (d *Device) Leaks() []Leak { return d.d.Leaks() }

// Observe makes fn see every launch that ends well, with its counters, in the order in which they end; nil ends that. fn
// must not call the device.
func (d *Device) Observe(fn func(*Launch)) { d.d.Observe(fn, fn != nil) }

// Watch is Observe without the counting, which takes time: Counters is nil unless the Config asks for them.
func (d *Device) Watch(fn func(*Launch)) { d.d.Observe(fn, false) }
