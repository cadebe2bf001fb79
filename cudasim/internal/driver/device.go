package driver

import (
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// Device is a simulated device. Its methods may be called from any goroutine.
type Device struct {
	*driver
	owner  memory.Owner // the device's identity in the space
	cfg    Config
	poison atomic.Int32
	memory deviceMemory

	// driver.mu guards the fields below.
	retained int     // holds on the primary context
	context  uintptr // handle of the primary context
	streams  map[*stream]struct{}
	fault    *report.Fault
	report   string // text that cuGetErrorString adds to the sentence of the poisoning code
	observe  func(*report.Launch)
	counts   bool // launches that observe gets have counters
}

// driver is the state that the devices of one driver share.
type driver struct {
	devices []*Device
	space   *memory.Space
	machine exec.Machine // runs kernels in space
	hosts   hosts
	started atomic.Bool // cuInit was called
	running sync.Mutex  // held while a kernel runs: one at a time
	tasks   taskPool

	mu       sync.Mutex // guards the fields below
	next     uintptr    // the last handle
	open     map[uintptr]*object
	texts    map[string][]byte // C strings that programs have pointers to
	current  map[int][]uintptr // contexts current on a thread, the latest last
	captures map[*capture]struct{}
}

// New makes n devices of one driver, 1 to 64.
func New(n int, cfg Config) []*Device {
	sp := memory.New(uint64(n) * cfg.memory())
	r := &driver{
		space: sp, machine: exec.Machine{Space: sp}, next: 0x5100_0000,
		open: map[uintptr]*object{}, texts: map[string][]byte{}, current: map[int][]uintptr{}, captures: map[*capture]struct{}{},
		hosts: hosts{blocks: map[uintptr]*hostBlock{}},
	}
	r.tasks.fill()
	for i := range n {
		d := &Device{driver: r, cfg: cfg, streams: map[*stream]struct{}{}}
		d.owner.Index, d.owner.Several = i, n > 1
		d.memory.init(d)
		r.devices = append(r.devices, d)
	}
	return r.devices
}

// LastFault returns the fault by which the device was lost, nil if there is none.
func (d *Device) LastFault() *report.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// lose poisons the context with a fault.
func (d *Device) lose(c code, f *report.Fault, report string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.poison.CompareAndSwap(0, int32(c)) {
		d.fault, d.report = f, report
	}
}

// lost returns the poisoning code, Success if there is none.
func (d *Device) lost() code { return code(d.poison.Load()) }

// Observe calls fn for every launch that ends without a fault; nil ends that. With counts, launches have their counters.
func (d *Device) Observe(fn func(*report.Launch), counts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observe, d.counts = fn, counts
}
