package driver

import (
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/exec"
)

func cuModuleLoadDataEx(d *Device, a []uintptr) code {
	m, c := d.loadModule(a, a[1], a[2], a[3], a[4])
	if c != cudadrv.Success {
		return c
	}
	m.handle = d.add(kindModule, m, 0)
	return put64(a[0], uint64(m.handle))
}

func cuModuleUnload(d *Device, m *module, a []uintptr) code {
	if m.handle != a[0] {
		return cudadrv.ErrInvalidHandle
	}
	return d.unload(m)
}

func cuLibraryLoadData(d *Device, a []uintptr) code {
	m, c := d.loadModule(a, a[1], a[4], a[2], a[3])
	if c != cudadrv.Success {
		return c
	}
	m.handle = d.add(kindModule, &library{m}, 0)
	m.inner = d.add(kindInner, m, 0)
	return put64(a[0], uint64(m.handle))
}

func cuLibraryUnload(d *Device, l *library, a []uintptr) code {
	return d.unload(l.module)
}

func cuLibraryGetModule(d *Device, l *library, a []uintptr) code {
	return put64(a[0], uint64(l.module.inner))
}

func cuModuleGetFunction(d *Device, m *module, a []uintptr) code {
	f, ok := d.function(m, cudadrv.CString(a[2]))
	if !ok {
		return cudadrv.ErrNotFound
	}
	return put64(a[0], uint64(f.inner))
}

func cuLibraryGetKernel(d *Device, l *library, a []uintptr) code {
	f, ok := d.function(l.module, cudadrv.CString(a[2]))
	if !ok {
		return cudadrv.ErrNotFound
	}
	return put64(a[0], uint64(f.handle))
}

func cuKernelGetFunction(d *Device, f *function, a []uintptr) code {
	if f.handle != a[1] {
		return cudadrv.ErrInvalidHandle
	}
	return put64(a[0], uint64(f.inner))
}

// cuGetParamInfo serves kernels and functions.
func cuGetParamInfo(d *Device, f *function, a []uintptr) code {
	if a[1] >= uintptr(len(f.kernel.Params)) || a[2] == 0 {
		return cudadrv.ErrInvalidValue
	}
	p := f.kernel.Params[a[1]]
	if a[3] != 0 {
		put64(a[3], uint64(p.Size))
	}
	return put64(a[2], uint64(p.Offset))
}

// cuFuncGetAttribute serves kernels and functions.
func cuFuncGetAttribute(_ *Device, f *function, a []uintptr) code {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := 0
	switch cudadrv.FuncAttr(int32(a[1])) {
	case cudadrv.FuncMaxThreadsPerBlock:
		v = f.maxThreads()
	case cudadrv.FuncSharedSize:
		v = int(f.kernel.Shared)
	case cudadrv.FuncConstSize, 7: // 7 is the caching mode
	case cudadrv.FuncLocalSize:
		v = int(f.kernel.Local)
	case cudadrv.FuncRegisters:
		v = registersOf(f.kernel)
	case cudadrv.FuncPTXVersion, cudadrv.FuncBinaryVersion:
		v = 10*ccMajor + ccMinor
	case cudadrv.FuncMaxDynamicShared:
		v = f.dynamic
	case cudadrv.FuncSharedCarveout:
		v = f.carveout
	default:
		return cudadrv.ErrInvalidValue
	}
	return put32(a[0], uint32(int32(v)))
}

func cuFuncSetAttribute(d *Device, f *function, a []uintptr) code {
	return d.setAttribute(f, a[1], a[2])
}

func cuKernelSetAttribute(d *Device, f *function, a []uintptr) code {
	return d.setAttribute(f, a[0], a[1])
}

func (d *Device) setAttribute(f *function, attr, value uintptr) code {
	v := int(int32(value))
	switch cudadrv.FuncAttr(int32(attr)) {
	case cudadrv.FuncMaxDynamicShared:
		if v < 0 || v+int(f.kernel.Shared) > d.sharedOptin() {
			return cudadrv.ErrInvalidValue
		}
		f.mu.Lock()
		f.dynamic = v
		f.mu.Unlock()
	case cudadrv.FuncSharedCarveout:
		if v < -1 || v > 100 {
			return cudadrv.ErrInvalidValue
		}
		f.mu.Lock()
		f.carveout = v
		f.mu.Unlock()
	default:
		return cudadrv.ErrInvalidValue
	}
	return cudadrv.Success
}

// cuOccupancyMaxActiveBlocksPerMultiprocessor counts by threads, blocks, shared memory and the estimate of registers.
func cuOccupancyMaxActiveBlocksPerMultiprocessor(d *Device, f *function, a []uintptr) code {
	threads := int(int32(a[2]))
	if threads <= 0 {
		return cudadrv.ErrInvalidValue
	}
	shared := int(a[3]) + int(f.kernel.Shared)
	if threads > f.maxThreads() || shared > d.sharedOptin() {
		return put32(a[0], 0)
	}
	threads = (threads + 31) / 32 * 32
	return put32(a[0], uint32(min(exec.ThreadsPerSM/threads, exec.BlocksPerSM, exec.SharedPerSM/(shared+exec.ReservedShared),
		max(exec.RegistersPerSM/(registersOf(f.kernel)*threads), 1))))
}
