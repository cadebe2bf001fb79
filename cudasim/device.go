package cudasim

import (
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/driver"
	"github.com/robocache/robocache/cudasim/internal/exec"
)

// The versions and the name that the simulated driver returns.
const (
	CUDAVersion = driver.CUDAVersion // the CUDA version: 12.8
	ISAVersion  = driver.ISAVersion  // the newest .version in PTX: 8.7
	Name        = driver.Name        // the device's name
)

// Config configures launches. The zero value runs with every check, with blocks and warps in order.
type Config struct {
	// Seed, if not 0, selects a random order for blocks, for warps and for nodes in graphs. Turns are then short, and
	// several blocks run at the same time.
	Seed            uint64
	Workers         int    // goroutines that run blocks, 0 for GOMAXPROCS; the race check runs on one
	Skip            Check  // checks to leave out
	Counters        bool   // count instructions and memory traffic
	Lines           bool   // with Counters: count the instructions that ran for each line in the module's text
	Multiprocessors int    // 0 is 132; with the block size it limits how many blocks are resident
	MaxSteps        uint64 // instructions that a block's warps may run before it counts as hung, 0 for 2^31

	// Rewrite, if not nil, receives the text of every loaded module, and returns the text to load instead. It is for
	// tests that need a defective kernel.
	Rewrite func(text []byte) []byte
	Memory  uint64 // device memory in bytes, 0 for 2 GiB
	Shared  int    // the most shared memory in bytes that a block may have, 0 for 227 KB, which is the maximum
}

// Device is a simulated device with its simulated driver. Its methods may be called from any goroutine.
type Device struct{ d *driver.Device }

// New returns the only device on a new driver. It shares nothing with other devices.
func New(cfg Config) *Device { return NewDevices(1, cfg)[0] }

// NewDevices returns n devices on one driver, 1 to 64, each with its own memory (cfg.Memory). Each can access another's
// memory pool after cuMemPoolSetAccess opened it: kernels and copies then use that memory like their own. Kernels on
// all devices take turns.
func NewDevices(n int, cfg Config) []*Device {
	c := driver.Config{Options: exec.Options{Seed: cfg.Seed, Workers: cfg.Workers, Skip: cfg.Skip, Counters: cfg.Counters, Lines: cfg.Lines,
		Multiprocessors: cfg.Multiprocessors, MaxSteps: cfg.MaxSteps}, Rewrite: cfg.Rewrite, Memory: cfg.Memory, Shared: cfg.Shared}
	list := make([]*Device, n)
	for i, d := range driver.New(n, c) {
		list[i] = &Device{d}
	}
	return list
}

// FunctionTable returns the argument for cudadrv.NewDriver, a table for all devices on the driver. NewDriver may be
// called again: it finds the same devices.
func (d *Device) FunctionTable() *cudadrv.FunctionTable { return d.d.FunctionTable() }

// LastFault returns the last kernel fault, or nil if no kernel failed. After a fault the device is lost, as a real one
// is: every call that uses its context returns the fault's code.
func (d *Device) LastFault() *Fault { return d.d.LastFault() }

// Leaks lists the open objects, the oldest first.
func (d *Device) Leaks() []Leak { return d.d.Leaks() }

// Observe calls fn after every launch that ends without a fault, with its counters, in the order of their ends. If fn
// is nil, the calls stop. fn must not call the device.
func (d *Device) Observe(fn func(*Launch)) { d.d.Observe(fn, fn != nil) }

// Watch is Observe without the cost of counting: Counters is nil unless the Config enables them.
func (d *Device) Watch(fn func(*Launch)) { d.d.Observe(fn, false) }
