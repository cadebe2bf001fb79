package driver

import "github.com/robocache/robocache/cudadrv"

// need is the set of conditions that a call checks first.
type need uint8

const (
	needInit    need = 1 << iota // cuInit has been called
	needContext                  // a context is current on the thread
	needHealthy                  // no kernel has met a fault
	needSafe                     // no capture forbids the call, which may wait for the device
)

// entry is one function of the table. args is the number of its arguments; run also gets the call's device.
type entry struct {
	args int
	need need
	of   which
	run  func(d *Device, a []uintptr) code
}

// which locates a call's device: 0 means the thread's current context, n the handle in the n-th argument, and -n the device ordinal
// in the n-th argument.
type which int8

const (
	current    which = 0
	configured which = 127 // the stream in the launch configuration, which the first argument points to
)

func handle(arg which) which  { return arg + 1 }
func ordinal(arg which) which { return -arg - 1 }

// call is a function of the table that takes the object of one of its handles.
type call[T any] func(d *Device, object T, a []uintptr) code

// typed returns a function that looks up the object for the handle in argument arg. If the handle has no object of type T, the
// function returns the code missing.
func typed[T any](arg which, missing code, run call[T]) func(d *Device, a []uintptr) code {
	return func(d *Device, a []uintptr) code {
		v, ok := lookup[T](d, a[arg])
		if !ok {
			return missing
		}
		return run(d, v, a)
	}
}

// onHandle returns the entry of a call on an object: argument arg is its handle, and also determines the device.
func onHandle[T any](args int, need need, arg which, run call[T]) entry {
	return entry{args, need, handle(arg), typed(arg, cudadrv.ErrInvalidHandle, run)}
}

// onValue is onHandle for graphs and pools: the driver returns "invalid value" if their handle is wrong.
func onValue[T any](args int, need need, arg which, run call[T]) entry {
	return entry{args, need, handle(arg), typed(arg, cudadrv.ErrInvalidValue, run)}
}

// device returns the device of a call. If the arguments name none, it is the first device, which returns the error.
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
	if e.of < 0 && int32(a[-e.of-1]) != int32(d.owner.Index) {
		return cudadrv.ErrInvalidDevice
	}
	return e.run(d, a)
}
