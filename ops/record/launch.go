package record

import (
	"encoding/binary"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ptx"
)

// function is a kernel in a module.
type function struct {
	handle   uintptr
	image    ptx.Image
	entry    ptx.Entry
	dynamic  int32
	carveout *int // set during a recording
}

// launch is a recorded launch.
type launch struct {
	fn          *function
	grid, block [3]uint32
	shared      uint32
	carveout    *int
	dependent   bool
	params      [][]byte
}

// attrDependent is the launch attribute for programmatic stream serialisation, the only attribute that is recorded.
const attrDependent = 6

// Sizes of CUlaunchConfig and CUlaunchAttribute in bytes.
const (
	configBytes    = 56
	attributeBytes = 72
)

func launchKernel(w *world, a []uintptr) cudadrv.Code {
	u := func(i int) uint32 { return uint32(a[i]) }
	return w.launch(a[0], launch{grid: [3]uint32{u(1), u(2), u(3)}, block: [3]uint32{u(4), u(5), u(6)}, shared: u(7)}, a[8], a[9], a[10])
}

func launchKernelEx(w *world, a []uintptr) cudadrv.Code {
	b := cudadrv.View(a[0], configBytes)
	if b == nil {
		return cudadrv.ErrInvalidValue
	}
	u := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	l := launch{grid: [3]uint32{u(0), u(1), u(2)}, block: [3]uint32{u(3), u(4), u(5)}, shared: u(6)}
	at := uintptr(binary.NativeEndian.Uint64(b[40:]))
	for i := range u(12) {
		one := cudadrv.View(at+uintptr(i)*attributeBytes, attributeBytes)
		if id := binary.NativeEndian.Uint32(one); id != attrDependent {
			return w.refuse("a launch with attribute %d", id)
		}
		l.dependent = binary.NativeEndian.Uint32(one[8:]) != 0
	}
	return w.launch(a[1], l, uintptr(binary.NativeEndian.Uint64(b[32:])), a[2], a[3])
}

// launch records a launch while a recording is active. Launches in a capture are ignored, because this device never launches a graph.
// list is the address of the parameter addresses.
func (w *world) launch(h uintptr, l launch, stream, list, extra uintptr) cudadrv.Code {
	f := w.function(h)
	switch {
	case f == nil || extra != 0:
		return cudadrv.ErrInvalidHandle
	case w.capturing[stream]:
		return cudadrv.Success
	case !w.recording:
		return w.refuse("a launch of %s outside a run", f.entry.Name)
	}
	l.fn, l.carveout = f, f.carveout
	for i, p := range f.entry.Params {
		at := binary.NativeEndian.Uint64(cudadrv.View(list+uintptr(8*i), 8))
		l.params = append(l.params, append([]byte(nil), cudadrv.View(uintptr(at), p.Size)...))
	}
	w.launches = append(w.launches, l)
	return cudadrv.Success
}

func (w *world) function(h uintptr) *function {
	for _, f := range w.functions {
		if f.handle == h {
			return f
		}
	}
	return nil
}
