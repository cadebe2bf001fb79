package driver

import (
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/cudadrv"
)

// configOf checks a launch configuration as the driver does.
func (f *function) configOf(grid, block [3]uint32, shared uint32) code {
	threads := uint64(1)
	for i := range 3 {
		if grid[i] == 0 || block[i] == 0 {
			return cudadrv.ErrInvalidValue
		}
		threads *= uint64(min(block[i], 1<<16))
	}
	if grid[0] > math.MaxInt32 || grid[1] > math.MaxUint16 || grid[2] > math.MaxUint16 || threads > maxThreads || block[2] > 64 {
		return cudadrv.ErrInvalidValue
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if int(shared) > f.dynamic {
		return cudadrv.ErrInvalidValue
	}
	if threads > uint64(f.maxThreads()) || int(shared)+int(f.kernel.Shared) > maxSharedOptin {
		return cudadrv.ErrLaunchOutOfResources
	}
	return cudadrv.Success
}

// set fills in the launch of a function: it checks the shape, and copies the parameters from the addresses in list.
func (l *launch) set(f *function, grid, block [3]uint32, shared uint32, list uintptr) code {
	if c := f.configOf(grid, block, shared); c != cudadrv.Success {
		return c
	}
	k := f.kernel
	l.Kernel, l.Grid, l.Block, l.Shared = k, grid, block, shared
	f.mu.Lock()
	l.prefers = f.carveout
	f.mu.Unlock()
	if cap(l.Params) < int(k.ParamBytes) {
		l.Params = make([]byte, k.ParamBytes)
	}
	l.Params = l.Params[:k.ParamBytes]
	clear(l.Params)
	if len(k.Params) > 0 && list == 0 {
		return cudadrv.ErrInvalidValue
	}
	for i := range k.Params {
		p := &k.Params[i]
		addr := uintptr(get64(list + uintptr(8*i)))
		if addr == 0 {
			return cudadrv.ErrInvalidValue
		}
		copy(l.Params[p.Offset:p.Offset+p.Size], cudadrv.View(addr, int(p.Size)))
	}
	return cudadrv.Success
}

func cuLaunchKernel(d *Device, a []uintptr) code {
	u := func(i int) uint32 { return uint32(a[i]) }
	return d.launch(a[0], [3]uint32{u(1), u(2), u(3)}, [3]uint32{u(4), u(5), u(6)}, u(7), a[8], a[9], a[10], false)
}

// launch queues a launch without allocations.
func (d *Device) launch(h uintptr, grid, block [3]uint32, shared uint32, on, list, extra uintptr, early bool) code {
	f, ok := lookup[*function](d, h)
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	s, ok := lookup[*stream](d, on)
	if !ok || h == f.inner && f.dev != s.d { // a library's kernel belongs to every device
		return cudadrv.ErrInvalidHandle
	}
	if extra != 0 {
		return cudadrv.ErrUnsupported
	}
	o := d.tasks.get()
	o.kind, o.launch.Early = taskLaunch, early
	if c := o.launch.set(f, grid, block, shared, list); c != cudadrv.Success {
		d.tasks.put(o)
		return c
	}
	if done, c := s.captureWork(o); done {
		return c
	}
	return s.push(o)
}

// Launch attributes (CUlaunchAttributeID).
const (
	attrIgnore                = 0
	attrCooperative           = 2
	attrClusterDimension      = 4
	attrClusterScheduling     = 5
	attrProgrammaticSerialise = 6
	attrProgrammaticEvent     = 7
	attrPriority              = 8

	configBytes    = 56 // CUlaunchConfig
	attributeBytes = 72 // CUlaunchAttribute
)

func configuredStream(config []byte) uintptr { return uintptr(binary.NativeEndian.Uint64(config[32:])) }

// cuLaunchKernelEx accepts attributes that do not change the result. A launch that may begin early begins no earlier here,
// but one of its threads must have waited when it ends. Clusters of more than one block are not modelled.
func cuLaunchKernelEx(d *Device, a []uintptr) code {
	b := cudadrv.View(a[0], configBytes)
	if b == nil {
		return cudadrv.ErrInvalidValue
	}
	u := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	early := false
	attributes := uintptr(binary.NativeEndian.Uint64(b[40:]))
	if n := u(12); n > 0 {
		if attributes == 0 || n > 64 {
			return cudadrv.ErrInvalidValue
		}
		for i := range n {
			one := cudadrv.View(attributes+uintptr(i)*attributeBytes, attributeBytes)
			if c := attribute(one); c != cudadrv.Success {
				return c
			}
			early = early || binary.NativeEndian.Uint32(one) == attrProgrammaticSerialise && binary.NativeEndian.Uint32(one[8:]) != 0
		}
	}
	return d.launch(a[1], [3]uint32{u(0), u(1), u(2)}, [3]uint32{u(3), u(4), u(5)}, u(6), configuredStream(b), a[2], a[3], early)
}

// attribute checks one launch attribute.
func attribute(b []byte) code {
	u := func(i int) uint32 { return binary.NativeEndian.Uint32(b[8+4*i:]) }
	switch binary.NativeEndian.Uint32(b) {
	case attrIgnore, attrClusterScheduling, attrProgrammaticSerialise, attrPriority:
		return cudadrv.Success
	case attrClusterDimension:
		if u(0) == 0 || u(1) == 0 || u(2) == 0 {
			return cudadrv.ErrInvalidValue
		}
		if u(0)*u(1)*u(2) == 1 {
			return cudadrv.Success
		}
	case attrCooperative:
		if u(0) == 0 {
			return cudadrv.Success
		}
	}
	return cudadrv.ErrUnsupported
}
