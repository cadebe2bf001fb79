package record

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ptx"
)

// table returns the world's driver functions, only those needed for planning and running: no memory pools, no library API, no capture
// queries.
func (w *world) table() *cudadrv.FunctionTable {
	return &cudadrv.FunctionTable{Path: "recorded by package record", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
		fn, ok := procs[name]
		if !ok || version > w.target.Driver {
			return nil, false
		}
		return func(args []uintptr) uintptr {
			w.mu.Lock()
			defer w.mu.Unlock()
			return uintptr(fn(w, args))
		}, true
	}}
}

// procs are the driver's functions. The caller holds the world's lock.
var procs = map[string]func(w *world, a []uintptr) cudadrv.Code{
	"cuInit":               nothing,
	"cuDriverGetVersion":   func(w *world, a []uintptr) cudadrv.Code { return put32(a[0], uint32(w.target.Driver)) },
	"cuDeviceGetCount":     func(_ *world, a []uintptr) cudadrv.Code { return put32(a[0], 1) },
	"cuDeviceGet":          func(_ *world, a []uintptr) cudadrv.Code { return put32(a[0], 0) },
	"cuDeviceGetName":      deviceName,
	"cuDeviceTotalMem_v2":  func(_ *world, a []uintptr) cudadrv.Code { return put64(a[0], most) },
	"cuDeviceGetAttribute": deviceAttribute,

	"cuDevicePrimaryCtxRetain":     newHandle,
	"cuDevicePrimaryCtxRelease_v2": nothing,
	"cuCtxPushCurrent_v2":          nothing,
	"cuCtxPopCurrent_v2":           nothing,
	"cuCtxSynchronize":             nothing,

	"cuMemGetInfo_v2":              memInfo,
	"cuMemAlloc_v2":                memAlloc,
	"cuMemFree_v2":                 memFree,
	"cuMemHostAlloc":               memHostAlloc,
	"cuMemFreeHost":                memFreeHost,
	"cuMemHostGetDevicePointer_v2": memHostGetDevicePointer,
	"cuMemcpyHtoDAsync_v2":         func(w *world, a []uintptr) cudadrv.Code { return w.upload(uint64(a[0]), cudadrv.View(a[1], int(a[2]))) },
	"cuMemcpyDtoHAsync_v2": func(w *world, a []uintptr) cudadrv.Code {
		return w.download(uint64(a[1]), cudadrv.View(a[0], int(a[2])))
	},
	"cuMemcpyDtoDAsync_v2": func(w *world, a []uintptr) cudadrv.Code {
		return w.refuse("a copy of %d bytes on the device: a plan only launches kernels", a[2])
	},
	"cuMemsetD8Async": func(w *world, a []uintptr) cudadrv.Code { return w.set(uint64(a[0]), byte(a[1]), int64(a[2])) },
	"cuMemsetD32Async": func(w *world, a []uintptr) cudadrv.Code {
		return w.refuse("a memset of %d words: a plan fills with bytes", a[2])
	},

	"cuStreamCreateWithPriority": newHandle,
	"cuStreamDestroy_v2":         nothing,
	"cuStreamSynchronize":        nothing,
	"cuStreamQuery":              nothing,
	"cuStreamWaitEvent":          nothing,
	"cuEventCreate":              newHandle,
	"cuEventDestroy_v2":          nothing,
	"cuEventRecord":              nothing,
	"cuEventQuery":               nothing,
	"cuEventSynchronize":         nothing,

	"cuStreamBeginCapture_v2":     func(w *world, a []uintptr) cudadrv.Code { w.capturing[a[0]] = true; return cudadrv.Success },
	"cuStreamEndCapture":          func(w *world, a []uintptr) cudadrv.Code { delete(w.capturing, a[0]); return newHandle(w, a[1:]) },
	"cuGraphInstantiateWithFlags": newHandle,
	"cuGraphLaunch":               func(w *world, _ []uintptr) cudadrv.Code { return w.refuse("a launch of a graph") },
	"cuGraphExecDestroy":          nothing,
	"cuGraphDestroy":              nothing,

	"cuModuleLoadDataEx":  moduleLoad,
	"cuModuleUnload":      moduleUnload,
	"cuModuleGetFunction": moduleGetFunction,
	"cuFuncGetAttribute":  funcGetAttribute,
	"cuFuncSetAttribute":  funcSetAttribute,
	"cuLaunchKernel":      launchKernel,
	"cuLaunchKernelEx":    launchKernelEx,
}

func put32(at uintptr, v uint32) cudadrv.Code {
	binary.NativeEndian.PutUint32(cudadrv.View(at, 4), v)
	return cudadrv.Success
}

func put64(at uintptr, v uint64) cudadrv.Code {
	binary.NativeEndian.PutUint64(cudadrv.View(at, 8), v)
	return cudadrv.Success
}

func nothing(*world, []uintptr) cudadrv.Code { return cudadrv.Success }

// newHandle creates an object that consists only of a handle.
func newHandle(w *world, a []uintptr) cudadrv.Code {
	w.handles += 16
	return put64(a[0], uint64(w.handles))
}

func deviceName(w *world, a []uintptr) cudadrv.Code {
	b := cudadrv.View(a[0], int(int32(a[1])))
	clear(b)
	copy(b[:max(len(b)-1, 0)], w.target.Name)
	return cudadrv.Success
}

// noAttributes lists attributes for driver functions that this driver lacks.
var noAttributes = map[cudadrv.Attr]bool{cudadrv.MemoryPoolsSupported: true}

func deviceAttribute(w *world, a []uintptr) cudadrv.Code {
	v, ok := w.target.Attributes[int(int32(a[1]))]
	switch {
	case noAttributes[cudadrv.Attr(int32(a[1]))]:
		v = 0
	case !ok:
		return cudadrv.ErrInvalidValue
	}
	return put32(a[0], uint32(int32(v)))
}

func memInfo(_ *world, a []uintptr) cudadrv.Code {
	put64(a[0], most)
	return put64(a[1], most)
}

func memAlloc(w *world, a []uintptr) cudadrv.Code {
	switch {
	case uint64(a[1]) > most:
		return cudadrv.ErrOutOfMemory
	case w.recording:
		return w.refuse("an allocation of %d bytes in a run", a[1])
	}
	return put64(a[0], w.add(int64(a[1]), false, 0).base)
}

func memFree(w *world, a []uintptr) cudadrv.Code {
	if !w.remove(uint64(a[0])) {
		return cudadrv.ErrInvalidValue
	}
	return cudadrv.Success
}

// mostPinned limits an allocation of pinned memory, which has real bytes. Plans need four bytes each.
const mostPinned = 1 << 20

func memHostAlloc(w *world, a []uintptr) cudadrv.Code {
	if uint64(a[1]) > mostPinned {
		return w.refuse("%d bytes of pinned memory: a plan has none but its flag", a[1])
	}
	m := w.add(int64(a[1]), false, 0)
	m.host = make([]byte, a[1])
	return put64(a[0], uint64(cudadrv.Addr(m.host)))
}

func (w *world) pinned(at uintptr) *memory {
	for _, m := range w.memories {
		if m.host != nil && cudadrv.Addr(m.host) == at {
			return m
		}
	}
	return nil
}

func memFreeHost(w *world, a []uintptr) cudadrv.Code {
	if m := w.pinned(a[0]); m != nil {
		w.remove(m.base)
		return cudadrv.Success
	}
	return cudadrv.ErrInvalidValue
}

func memHostGetDevicePointer(w *world, a []uintptr) cudadrv.Code {
	if m := w.pinned(a[1]); m != nil {
		return put64(a[0], m.base)
	}
	return cudadrv.ErrInvalidValue
}

// moduleLoad accepts every image of the kind that the target forces, or any image. Package kernels tries the best image first.
func moduleLoad(w *world, a []uintptr) cudadrv.Code {
	kind := kindOf(a[1])
	if force := w.target.Kernels; force != "" && force != kind {
		return cudadrv.ErrNoBinaryForGPU
	}
	newHandle(w, a)
	w.modules[w.handles] = kind
	return cudadrv.Success
}

// kindOf returns an image's kind by its first bytes, in the spelling of ptx.Forces.
func kindOf(at uintptr) string {
	const elf = "\x7fELF"
	if bytes.Equal(cudadrv.View(at, len(elf)), []byte(elf)) {
		return "cubin"
	}
	_, target, _ := strings.Cut(cudadrv.CString(at), ".target ")
	name, _, _ := strings.Cut(target, "\n")
	name, _, _ = strings.Cut(strings.TrimSpace(name), ",")
	return name + ".ptx"
}

func moduleUnload(w *world, a []uintptr) cudadrv.Code {
	delete(w.modules, a[0])
	return cudadrv.Success
}

func moduleGetFunction(w *world, a []uintptr) cudadrv.Code {
	family, entry, ok := ptx.Lookup(cudadrv.CString(a[2]))
	if !ok {
		return cudadrv.ErrNotFound
	}
	for _, im := range ptx.Images(family) {
		if im.Force() == w.modules[a[1]] {
			newHandle(w, a)
			w.functions = append(w.functions, &function{handle: w.handles, image: im, entry: entry})
			return cudadrv.Success
		}
	}
	return cudadrv.ErrNotFound
}

// funcGetAttribute returns the maximum threads per block, and values that planning set. Attributes of compiled code, such as registers,
// are 0 because planning does not use them.
func funcGetAttribute(w *world, a []uintptr) cudadrv.Code {
	f := w.function(a[2])
	if f == nil {
		return cudadrv.ErrInvalidHandle
	}
	v := int32(0)
	switch cudadrv.FuncAttr(int32(a[1])) {
	case cudadrv.FuncMaxThreadsPerBlock:
		if v = int32(f.entry.MaxThreads); v == 0 {
			v = int32(w.target.Attributes[int(cudadrv.MaxThreadsPerBlock)])
		}
	case cudadrv.FuncMaxDynamicShared:
		v = f.dynamic
	}
	return put32(a[0], uint32(v))
}

func funcSetAttribute(w *world, a []uintptr) cudadrv.Code {
	f, v := w.function(a[0]), int32(a[2])
	if f == nil {
		return cudadrv.ErrInvalidHandle
	}
	switch cudadrv.FuncAttr(int32(a[1])) {
	case cudadrv.FuncMaxDynamicShared:
		if v < 0 || int(v) > w.target.Attributes[int(cudadrv.MaxSharedPerBlockOptin)] {
			return cudadrv.ErrInvalidValue
		}
		f.dynamic = v
	case cudadrv.FuncSharedCarveout:
		percent := int(v)
		f.carveout = &percent
	default:
		return w.refuse("attribute %d of %s", int32(a[1]), f.entry.Name)
	}
	return cudadrv.Success
}
