package cudasim

import (
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
)

// Device is a simulated device, with what stands in for its driver. Its methods may be called from any goroutine.
type Device struct {
	*driver
	index    int // its ordinal
	cfg      Config
	counting Config // cfg, with counters
	poison   atomic.Int32
	memory   memory

	// driver.mu guards what follows.
	retained int     // holds on the primary context
	context  uintptr // its handle
	streams  map[*stream]struct{}
	fault    *Fault
	report   string // what cuGetErrorString adds to the text of the poisoning code
	observe  func(*Launch)
	counts   bool // what observe sees has counters
}

// driver is what the devices of one driver have in common.
type driver struct {
	devices []*Device
	space   *space
	hosts   hosts
	started atomic.Bool // cuInit was called
	running sync.Mutex  // held while a kernel runs: one at a time
	tasks   taskPool

	mu       sync.Mutex // of what follows
	next     uintptr    // the handle given last
	open     map[uintptr]*object
	texts    map[string][]byte // C strings that were given out
	current  map[int][]uintptr // contexts current on a thread, the latest last
	captures map[*capture]struct{}
	lastID   uint64 // of a capture
}

// object is something with a handle.
type object struct {
	dev   *Device
	kind  kind
	value any
	size  int64
	stack []uintptr
}

// New makes a device that is alone with its driver. Nothing of it is shared with others.
func New(cfg Config) *Device { return NewDevices(1, cfg)[0] }

// NewDevices makes n devices of one driver, 1 to 64, each with its own memory of cfg's size. They can reach each other's memory pools: a pool that is
// opened to a device by cuMemPoolSetAccess is memory for its kernels and copies like its own. Kernels of all of them take turns.
func NewDevices(n int, cfg Config) []*Device {
	r := &driver{
		space: newSpace(uint64(n) * cfg.memory()), next: 0x5100_0000,
		open: map[uintptr]*object{}, texts: map[string][]byte{}, current: map[int][]uintptr{}, captures: map[*capture]struct{}{},
		hosts: hosts{blocks: map[uintptr]*hostBlock{}},
	}
	r.tasks.fill()
	for i := range n {
		d := &Device{driver: r, index: i, cfg: cfg, counting: cfg, streams: map[*stream]struct{}{}}
		d.counting.Counters = true
		d.memory.init(d)
		r.devices = append(r.devices, d)
	}
	return r.devices
}

// FunctionTable is what cudadrv.NewDriver takes. NewDriver may be called again: it finds the same devices. The table is that of all devices of the driver.
func (d *Device) FunctionTable() *cudadrv.FunctionTable {
	return &cudadrv.FunctionTable{Path: "simulated by package cudasim", NCCL: d.driver.nccl, Lookup: func(name string, version int) (cudadrv.Proc, bool) {
		e, ok := entries[name]
		if !ok || version > CUDAVersion {
			return nil, false
		}
		return func(args []uintptr) uintptr { return uintptr(uint32(d.driver.call(&e, args))) }, true
	}}
}

// LastFault gives the fault that a kernel met, nil if none did. After it the device is lost, as a real one is: every
// call that uses its context returns the fault's code.
func (d *Device) LastFault() *Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// need says what a call wants before it does anything.
type need uint8

const (
	needInit    need = 1 << iota // cuInit has been called
	needContext                  // a context is current on the thread
	needHealthy                  // no kernel has met a fault
	needSafe                     // no capture forbids it: it may wait for the device
)

// entry is one function of the table. args is the number of arguments that it takes; run gets the device that the call is for.
type entry struct {
	args int
	need need
	of   which
	run  func(d *Device, a []uintptr) code
}

// which says how a call finds its device: 0 by the thread's current context, n by the handle that is its n-th argument, -n by the ordinal that is.
type which int8

const (
	current    which = 0
	configured which = 127 // by the stream in the launch configuration that is the first argument
)

func handle(arg which) which  { return arg + 1 }
func ordinal(arg which) which { return -arg - 1 }

// device is the device that a call is for; the first where it names none, to say so.
func (r *driver) device(of which, a []uintptr) *Device {
	switch d := r.devices[0]; {
	case len(r.devices) == 1:
		return d
	case of < 0:
		if i := int32(a[-of-1]); i >= 0 && int(i) < len(r.devices) {
			return r.devices[i]
		}
		return d
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var h uintptr
	switch of {
	case current:
		if d := r.bound(); d != nil {
			return d
		}
	case configured:
		if b := cudadrv.View(a[0], configBytes); b != nil {
			h = configuredStream(b)
		}
	default:
		h = a[of-1]
	}
	if o := r.open[h]; o != nil {
		return o.dev
	}
	return r.devices[0]
}

func (r *driver) call(e *entry, a []uintptr) code {
	if len(a) < e.args {
		return cudadrv.ErrInvalidValue
	}
	if e.need&needInit != 0 && !r.started.Load() {
		return cudadrv.ErrNotInitialized
	}
	if e.need&needContext != 0 && !r.hasCurrent() {
		return cudadrv.ErrInvalidContext
	}
	d := r.device(e.of, a)
	if e.need&needHealthy != 0 {
		if p := code(d.poison.Load()); p != 0 {
			return p
		}
	}
	if e.need&needSafe != 0 && d.forbidden() {
		return cudadrv.ErrCaptureUnsupported
	}
	return e.run(d, a)
}

// lose poisons the context with a fault.
func (d *Device) lose(c code, f *Fault, report string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.poison.CompareAndSwap(0, int32(c)) {
		d.fault, d.report = f, report
	}
}

// lost is the poisoning code, Success if there is none.
func (d *Device) lost() code { return code(d.poison.Load()) }

// add gives a value a handle.
func (d *Device) add(k kind, value any, size int64) uintptr {
	stack := callers()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next += 0x10
	d.open[d.next] = &object{d, k, value, size, stack}
	return d.next
}

// lookup finds the value behind a handle.
func lookup[T any](d *Device, h uintptr) (T, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.open[h]; o != nil {
		v, ok := o.value.(T)
		return v, ok
	}
	var none T
	return none, false
}

// drop ends a handle.
func (r *driver) drop(h uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, h)
}

// text keeps a C string for as long as the device lives and gives its address.
func (d *Device) text(s string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts[s] == nil {
		d.texts[s] = append([]byte(s), 0)
	}
	return uint64(cudadrv.Addr(d.texts[s]))
}
