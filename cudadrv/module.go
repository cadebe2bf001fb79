package cudadrv

import (
	"bytes"
	"fmt"
	"runtime"
)

// Module is a loaded image with kernels.
type Module struct {
	handle           // of a library where the driver has them (12.0), else of a module
	library bool     // whether it is one of a library
	jit     *jitLogs // the driver may write to them as long as the module is loaded
	kernels map[string]*Kernel
}

// jitLogs is the memory that the driver's compiler reads its options from and writes its words to.
type jitLogs struct {
	options []uint64 // four 4-byte option numbers
	values  []uint64
	info    []byte
	err     []byte
}

const jitLogBytes = 16 << 10

func newJITLogs() *jitLogs {
	j := &jitLogs{info: make([]byte, jitLogBytes), err: make([]byte, jitLogBytes)}
	// CU_JIT_INFO_LOG_BUFFER, its size, CU_JIT_ERROR_LOG_BUFFER, its size
	j.options = []uint64{3 | 4<<32, 5 | 6<<32}
	j.values = []uint64{uint64(Addr(j.info)), jitLogBytes, uint64(Addr(j.err)), jitLogBytes}
	return j
}

func (j *jitLogs) text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(bytes.TrimSpace(b))
}

// LoadModule loads a cubin or PTX text. The driver compiles PTX and keeps the result in its cache on disk; the first time takes
// milliseconds. If the driver rejects the image, the error is a *[ModuleError] with its compiler's message.
func (c *Context) LoadModule(image []byte) (*Module, error) {
	if len(image) == 0 {
		return nil, &ValueError{Op: "LoadModule", What: "the image", Kind: ErrMissing, Got: "empty", Want: "PTX or a cubin"}
	}
	if err := c.enter("LoadModule"); err != nil {
		return nil, err
	}
	defer c.leave()
	m := &Module{jit: newJITLogs(), kernels: map[string]*Kernel{}}
	f := getFrame()
	defer f.put()
	defer runtime.KeepAlive(m.jit)
	code := f.bytesAddr(0, cstring(image)) // PTX must end in a zero byte
	options, values := Addr(wordBytes(m.jit.options)), Addr(wordBytes(m.jit.values))
	fail := func(s slot, code Code) error {
		err := c.dev.check(s, code)
		if err == nil {
			return nil
		}
		return &ModuleError{Err: err, ErrorLog: m.jit.text(m.jit.err), InfoLog: m.jit.text(m.jit.info)}
	}
	if c.drv.has(fnLibraryLoadData, fnLibraryUnload, fnLibraryGetKernel, fnKernelGetAttribute, fnKernelSetAttribute) {
		if err := fail(fnLibraryLoadData, c.bound(fnLibraryLoadData, f, f.outAddr(0), code, options, values, 4, 0, 0, 0)); err != nil {
			return nil, err
		}
		m.library, m.h = true, uintptr(f.out[0])
		// A library may be loaded lazily; asking for its module loads it, so that a bad image shows here.
		if c.drv.has(fnLibraryGetModule) {
			if err := fail(fnLibraryGetModule, c.bound(fnLibraryGetModule, f, f.outAddr(1), m.h)); err != nil {
				c.bound(fnLibraryUnload, f, m.h)
				return nil, err
			}
		}
	} else {
		if err := fail(fnModuleLoadDataEx, c.bound(fnModuleLoadDataEx, f, f.outAddr(0), code, 4, options, values)); err != nil {
			return nil, err
		}
		m.h = uintptr(f.out[0])
	}
	m.child = c.adopt(kindModule, int64(len(image)))
	return m, nil
}

// Log returns the messages of the driver's compiler for the image. It is empty for a cubin.
func (m *Module) Log() string { return m.jit.text(m.jit.info) }

// Close unloads the module. No launch of its kernels may be queued or running, and no graph with its kernels may be launched
// later. A [Launch] from a closed module is an error. A second Close does nothing.
func (m *Module) Close() error {
	s := fnModuleUnload
	if m.library {
		s = fnLibraryUnload
	}
	return m.destroy(s, m.ctx.bound)
}

// Kernel returns the kernel with that name, the same one each time. An unknown name is ErrNotFound.
func (m *Module) Kernel(name string) (*Kernel, error) {
	m.mu.Lock() // for the map, too
	defer m.mu.Unlock()
	if m.closed {
		return nil, &ClosedError{Op: "Kernel", What: "module"}
	}
	if k := m.kernels[name]; k != nil {
		return k, nil
	}
	c := m.ctx
	if err := c.dev.Lost(); err != nil {
		return nil, err
	}
	k := &Kernel{mod: m, name: name}
	f := getFrame()
	defer f.put()
	s := fnModuleGetFunction
	if m.library {
		s = fnLibraryGetKernel
	}
	if err := c.dev.check(s, c.bound(s, f, f.outAddr(0), m.h, f.bytesAddr(0, cstring(name)))); err != nil {
		return nil, fmt.Errorf("cudadrv: kernel %q: %w", name, err)
	}
	k.h = uintptr(f.out[0])
	if m.library && c.drv.has(fnKernelGetFunction) { // loads the code now, not at the first launch
		if err := c.dev.check(fnKernelGetFunction, c.bound(fnKernelGetFunction, f, f.outAddr(0), k.h)); err != nil {
			return nil, fmt.Errorf("cudadrv: kernel %q: %w", name, err)
		}
	}
	if err := k.readParams(f); err != nil {
		return nil, err
	}
	var err error
	if k.maxThreads, err = k.attribute(FuncMaxThreadsPerBlock); err != nil {
		return nil, err
	}
	m.kernels[name] = k
	return k, nil
}
