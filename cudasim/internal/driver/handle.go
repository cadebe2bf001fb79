package driver

import (
	"runtime"
	"slices"

	"github.com/robocache/robocache/cudadrv"
)

// kind is what can be open on a device.
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
	kindInner      kind = "" // belongs to something else that is counted: kernels, functions, pools
)

// object is something with a handle.
type object struct {
	dev   *Device
	kind  kind
	value any
	size  int64
	stack []uintptr
}

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

// callers notes where the program called the driver.
func callers() []uintptr {
	var pcs [24]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}
