package driver

import "github.com/robocache/robocache/cudadrv"

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

// which says how a call finds its device: 0 by the thread's current context, n by the handle that is its n-th argument, -n by
// the ordinal that is.
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
