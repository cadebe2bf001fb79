package cudasim

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// Leak is something that was made on the device and not ended.
type Leak struct {
	Kind  string // device memory, host memory, registered host memory, hold on the primary context, stream, event, module, graph, graph exec
	Size  int64  // bytes, of memory
	Stack string // where it was made, one frame a line
}

// Leaks lists what is open now, the oldest first.
func (d *Device) Leaks() []Leak {
	d.mu.Lock()
	var handles []uintptr
	for h, o := range d.open {
		if o.kind != kindInner && o.dev == d {
			handles = append(handles, h)
		}
	}
	slices.Sort(handles)
	out := make([]Leak, len(handles))
	for i, h := range handles {
		o := d.open[h]
		out[i] = Leak{string(o.kind), o.size, frames(o.stack)}
	}
	d.mu.Unlock()
	return out
}

// callers notes where the program called the driver.
func callers() []uintptr {
	var pcs [24]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}

// frames writes a stack without the part of it that lies in this package and in cudadrv.
func frames(pcs []uintptr) string {
	var b strings.Builder
	list := runtime.CallersFrames(pcs)
	for {
		f, more := list.Next()
		dir := path.Base(path.Dir(f.File)) // a name of a function inlined elsewhere would not tell
		inner := (dir == "cudasim" || dir == "cudadrv") && !strings.HasSuffix(f.File, "_test.go")
		if f.Function != "" && (!inner || b.Len() > 0) {
			b.WriteString(f.Function + " " + f.File + ":" + strconv.Itoa(f.Line) + "\n")
		}
		if !more {
			return b.String()
		}
	}
}
