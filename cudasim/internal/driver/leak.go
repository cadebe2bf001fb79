package driver

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/cudasim/report"
)

// Leaks lists the open objects, the oldest first.
func (d *Device) Leaks() []report.Leak {
	d.mu.Lock()
	var handles []uintptr
	for h, o := range d.open {
		if o.kind != kindInner && o.dev == d {
			handles = append(handles, h)
		}
	}
	slices.Sort(handles)
	out := make([]report.Leak, len(handles))
	for i, h := range handles {
		o := d.open[h]
		out[i] = report.Leak{Kind: string(o.kind), Size: o.size, Stack: frames(o.stack)}
	}
	d.mu.Unlock()
	return out
}

// frames formats a stack, one frame per line, without the frames of this package and of cudadrv.
func frames(pcs []uintptr) string {
	var b strings.Builder
	list := runtime.CallersFrames(pcs)
	for {
		f, more := list.Next()
		dir := path.Dir(f.File) // by the file, because an inlined function may have another's name
		inner := (strings.HasSuffix(dir, "/cudasim/internal/driver") || path.Base(dir) == "cudadrv") && !strings.HasSuffix(f.File, "_test.go")
		if f.Function != "" && (!inner || b.Len() > 0) {
			b.WriteString(f.Function + " " + f.File + ":" + strconv.Itoa(f.Line) + "\n")
		}
		if !more {
			return b.String()
		}
	}
}
