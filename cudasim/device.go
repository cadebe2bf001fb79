package cudasim

import (
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
)

// Device is a simulated device, with what stands in for its driver. Its methods may be called from any goroutine.
type Device struct {
	cfg      Config
	counting Config // cfg, with counters
	space    *space
	started  atomic.Bool // cuInit was called
	poison   atomic.Int32

	mu       sync.Mutex // of what follows
	next     uintptr    // the handle given last
	open     map[uintptr]*object
	texts    map[string][]byte // C strings that were given out
	current  map[int][]uintptr // contexts current on a thread, the latest last
	retained int               // holds on the primary context
	context  uintptr           // its handle
	streams  map[*stream]struct{}
	captures map[*capture]struct{}
	lastID   uint64 // of a capture
	fault    *Fault
	report   string // what cuGetErrorString adds to the text of the poisoning code
	observe  func(*Launch)
	counts   bool // what observe sees has counters
	memory   memory

	running sync.Mutex // held while a kernel runs: one at a time
	tasks   taskPool
}

// object is something with a handle.
type object struct {
	kind  kind
	value any
	size  int64
	stack []uintptr
}

// New makes a device. Nothing of it is shared with others.
func New(cfg Config) *Device {
	d := &Device{
		cfg: cfg, next: 0x5100_0000,
		open: map[uintptr]*object{}, texts: map[string][]byte{}, current: map[int][]uintptr{},
		streams: map[*stream]struct{}{}, captures: map[*capture]struct{}{},
	}
	d.counting = cfg
	d.counting.Counters = true
	d.space = newSpace(cfg.memory())
	d.memory.init(d)
	d.tasks.fill()
	return d
}

// FunctionTable is what cudadrv.NewDriver takes. NewDriver may be called again: it finds the same device.
func (d *Device) FunctionTable() *cudadrv.FunctionTable {
	return &cudadrv.FunctionTable{Path: "simulated by package cudasim", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
		e, ok := entries[name]
		if !ok || version > CUDAVersion {
			return nil, false
		}
		return func(args []uintptr) uintptr { return uintptr(uint32(d.call(&e, args))) }, true
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

// entry is one function of the table. args is the number of arguments that it takes.
type entry struct {
	args int
	need need
	run  func(d *Device, a []uintptr) code
}

func (d *Device) call(e *entry, a []uintptr) code {
	if len(a) < e.args {
		return cudadrv.ErrInvalidValue
	}
	if e.need&needInit != 0 && !d.started.Load() {
		return cudadrv.ErrNotInitialized
	}
	if e.need&needContext != 0 && !d.hasCurrent() {
		return cudadrv.ErrInvalidContext
	}
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
	d.open[d.next] = &object{k, value, size, stack}
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
func (d *Device) drop(h uintptr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, h)
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
