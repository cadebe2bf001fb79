package driver

import (
	"runtime"
	"slices"

	"github.com/robocache/robocache/cudadrv"
)

// kind is a kind of object that can be open on a device.
type kind string

const (
	kindMemory     kind = "device memory"
	kindHost       kind = "host memory"
	kindRegistered kind = "registered host memory"
	kindContext    kind = "hold on the primary context"
	kindStream     kind = "stream"
	kindEvent      kind = "event"
	kindModule     kind = "module"
	kindGraph      kind = "graph"
	kindGraphExec  kind = "graph exec"
	kindInner      kind = "" // part of an object that is counted itself: kernels, functions, pools
)

// object is the value of a handle.
type object struct {
	dev   *Device
	kind  kind
	value any
	size  int64
	stack []uintptr
}

// add returns a new handle for a value.
func (d *Device) add(k kind, value any, size int64) uintptr {
	stack := callers()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next += 0x10
	d.open[d.next] = &object{d, k, value, size, stack}
	return d.next
}

// lookup returns the value of a handle, or false if the handle is unknown or its value has another type than T.
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

// drop removes a handle.
func (r *driver) drop(h uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, h)
}

// text returns the address of a copy of s as a C string, which lives as long as the driver. Equal strings share one copy.
func (d *Device) text(s string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts[s] == nil {
		d.texts[s] = append([]byte(s), 0)
	}
	return uint64(cudadrv.Addr(d.texts[s]))
}

// callers returns the stack of the program's call to the driver.
func callers() []uintptr {
	var pcs [24]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}
