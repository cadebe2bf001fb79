package cudasim

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

// module is a loaded image: of the module calls or, as a library, of the library calls.
type module struct {
	handle  uintptr
	inner   uintptr // the module of a library
	program *program
	mu      sync.Mutex
	entries map[string]*function
}

// library is the same under the library calls, so that a handle of one is not taken for the other.
type library struct{ module *module }

// function is a kernel of a module.
type function struct {
	handle   uintptr // as a CUkernel
	inner    uintptr // as a CUfunction
	dev      *Device
	module   *module
	kernel   *kernel
	mu       sync.Mutex
	dynamic  int // bytes of dynamic shared memory that a launch may ask for
	carveout int // percent of memory that is to be shared, or -1
}

// ISAVersion is the newest .version of PTX that the device takes: 8.7, CUDA 12.8's.
const ISAVersion = 87

// programs keeps what was compiled, for every device of the process: a program without variables is the same anywhere.
var programs struct {
	sync.Mutex
	byHash map[uint64][]compiled
}

type compiled struct {
	text    []byte
	program *program
}

var seed = maphash.MakeSeed()

// known finds a program that was compiled before.
func known(hash uint64, text []byte) *program {
	programs.Lock()
	defer programs.Unlock()
	for _, c := range programs.byHash[hash] {
		if bytes.Equal(c.text, text) {
			return c.program
		}
	}
	return nil
}

var versionLine = regexp.MustCompile(`(?m)^\s*\.version\s+(\d+)\.(\d+)`)

// compile gives the program of an image, which it does not keep, or a code and what the compiler says.
func (d *Device) compile(image []byte) (*program, code, string) {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		return nil, cudadrv.ErrNoBinaryForGPU, "machine code does not run on a simulated device"
	}
	if v := versionLine.FindSubmatch(image); v != nil {
		major, _ := strconv.Atoi(string(v[1]))
		minor, _ := strconv.Atoi(string(v[2]))
		if 10*major+minor > ISAVersion {
			return nil, cudadrv.ErrUnsupportedPTXVersion, fmt.Sprintf("ptxas fatal   : Unsupported .version %d.%d; current version is '%d.%d'", major, minor, ISAVersion/10, ISAVersion%10)
		}
	}
	if d.cfg.Rewrite != nil {
		image = d.cfg.Rewrite(image)
	}
	hash := maphash.Bytes(seed, image)
	if p := known(hash, image); p != nil {
		return p, cudadrv.Success, ""
	}
	image = bytes.Clone(image)
	p, err := loadProgram(image, d.space)
	switch {
	case errors.Is(err, errNoMemory):
		return nil, cudadrv.ErrOutOfMemory, err.Error()
	case err != nil:
		return nil, cudadrv.ErrInvalidPTX, err.Error()
	}
	if len(p.globals) == 0 {
		programs.Lock()
		defer programs.Unlock()
		if programs.byHash == nil {
			programs.byHash = map[uint64][]compiled{}
		}
		programs.byHash[hash] = append(programs.byHash[hash], compiled{image, p})
	}
	return p, cudadrv.Success, ""
}

// image returns the bytes that a pointer to an image means, where they are. Of machine code only the first are wanted.
func image(addr uintptr) []byte {
	if addr == 0 {
		return nil
	}
	if elf := "\x7fELF"; cudadrv.View(addr, 1)[0] == elf[0] && string(cudadrv.View(addr, 4)) == elf {
		return []byte(elf)
	}
	return cText(addr)
}

// logTo writes what the compiler says where the options want it.
func logTo(n, options, values uintptr, text string) {
	const errorLog, errorLogBytes = 5, 6
	var buf uintptr
	size := 0
	for i := range n {
		switch get32(options + 4*i) {
		case errorLog:
			buf = uintptr(get64(values + 8*i))
		case errorLogBytes:
			size = int(uint32(get64(values + 8*i)))
		}
	}
	if buf != 0 && size > 0 {
		putText(buf, size, text)
	}
}

func (d *Device) loadModule(a []uintptr, addr, n, options, values uintptr) (*module, code) {
	text := image(addr)
	if len(text) == 0 {
		return nil, cudadrv.ErrInvalidImage
	}
	p, c, log := d.compile(text)
	if c != cudadrv.Success {
		logTo(n, options, values, log)
		return nil, c
	}
	return &module{program: p, entries: map[string]*function{}}, cudadrv.Success
}

func cuModuleLoadDataEx(d *Device, a []uintptr) code {
	m, c := d.loadModule(a, a[1], a[2], a[3], a[4])
	if c != cudadrv.Success {
		return c
	}
	m.handle = d.add(kindModule, m, 0)
	return put64(a[0], uint64(m.handle))
}

func cuModuleUnload(d *Device, a []uintptr) code {
	m, ok := lookup[*module](d, a[0])
	if !ok || m.handle != a[0] {
		return cudadrv.ErrInvalidHandle
	}
	return d.unload(m)
}

// unload waits for the kernels that run.
func (d *Device) unload(m *module) code {
	d.waitAll()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.entries {
		d.drop(f.handle)
		d.drop(f.inner)
	}
	d.drop(m.handle)
	if m.inner != 0 {
		d.drop(m.inner)
	}
	if len(m.program.globals) > 0 {
		if err := m.program.unload(d.space); err != nil {
			return cudadrv.ErrUnknown
		}
	}
	return d.lost()
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

func cuLibraryUnload(d *Device, a []uintptr) code {
	l, ok := lookup[*library](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	return d.unload(l.module)
}

func cuLibraryGetModule(d *Device, a []uintptr) code {
	l, ok := lookup[*library](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	return put64(a[0], uint64(l.module.inner))
}

// function finds an entry, the same each time.
func (d *Device) function(m *module, name string) (*function, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.entries[name]; f != nil {
		return f, true
	}
	k, ok := m.program.kernel(name)
	if !ok {
		return nil, false
	}
	f := &function{dev: d, module: m, kernel: k, dynamic: max(maxShared-int(k.shared), 0), carveout: -1}
	f.handle = d.add(kindInner, f, 0)
	f.inner = d.add(kindInner, f, 0)
	m.entries[name] = f
	return f, true
}

func cuModuleGetFunction(d *Device, a []uintptr) code {
	m, ok := lookup[*module](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	f, ok := d.function(m, cudadrv.CString(a[2]))
	if !ok {
		return cudadrv.ErrNotFound
	}
	return put64(a[0], uint64(f.inner))
}

func cuLibraryGetKernel(d *Device, a []uintptr) code {
	l, ok := lookup[*library](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	f, ok := d.function(l.module, cudadrv.CString(a[2]))
	if !ok {
		return cudadrv.ErrNotFound
	}
	return put64(a[0], uint64(f.handle))
}

func cuKernelGetFunction(d *Device, a []uintptr) code {
	f, ok := lookup[*function](d, a[1])
	if !ok || f.handle != a[1] {
		return cudadrv.ErrInvalidHandle
	}
	return put64(a[0], uint64(f.inner))
}

// cuGetParamInfo is the same for kernels and functions.
func cuGetParamInfo(d *Device, a []uintptr) code {
	f, ok := lookup[*function](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if a[1] >= uintptr(len(f.kernel.params)) || a[2] == 0 {
		return cudadrv.ErrInvalidValue
	}
	p := f.kernel.params[a[1]]
	if a[3] != 0 {
		put64(a[3], uint64(p.size))
	}
	return put64(a[2], uint64(p.offset))
}

func cuFuncGetAttribute(d *Device, a []uintptr) code { return d.functionAttribute(a) }

func cuKernelGetAttribute(d *Device, a []uintptr) code {
	return d.onDevice(a[3], func() code { return d.functionAttribute(a) })
}

// maxThreads is what the entry says, else the device's limit: a compiler fits the registers to the first, and what it would
// need without is only guessed, so that it refuses no launch.
func (f *function) maxThreads() int {
	if f.kernel.maxThreads > 0 {
		return min(maxThreads, int(f.kernel.maxThreads))
	}
	return maxThreads
}

// registersOf guesses what a compiler would give a thread: at least 16, at most 255, in steps of 8, and no more than fit a
// block of the size that the entry declares.
func registersOf(k *kernel) int {
	most := 255
	if k.maxThreads > 0 {
		most = min(most, smRegisters/int(k.maxThreads)/8*8)
	}
	return min(max(int(k.registers+7)/8*8, 16), most)
}

func (d *Device) functionAttribute(a []uintptr) code {
	f, ok := lookup[*function](d, a[2])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v := 0
	switch cudadrv.FuncAttr(int32(a[1])) {
	case cudadrv.FuncMaxThreadsPerBlock:
		v = f.maxThreads()
	case cudadrv.FuncSharedSize:
		v = int(f.kernel.shared)
	case cudadrv.FuncConstSize, 7: // and whether caching was asked for
	case cudadrv.FuncLocalSize:
		v = int(f.kernel.local)
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

func cuFuncSetAttribute(d *Device, a []uintptr) code {
	return d.setFunctionAttribute(a[0], a[1], a[2])
}

func cuKernelSetAttribute(d *Device, a []uintptr) code {
	return d.onDevice(a[3], func() code { return d.setFunctionAttribute(a[2], a[0], a[1]) })
}

func (d *Device) setFunctionAttribute(h, attr, value uintptr) code {
	f, ok := lookup[*function](d, h)
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	v := int(int32(value))
	switch cudadrv.FuncAttr(int32(attr)) {
	case cudadrv.FuncMaxDynamicShared:
		if v < 0 || v+int(f.kernel.shared) > d.sharedOptin() {
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

// cuOccupancyMaxActiveBlocksPerMultiprocessor counts by threads, blocks, shared memory and the guess at registers.
func cuOccupancyMaxActiveBlocksPerMultiprocessor(d *Device, a []uintptr) code {
	f, ok := lookup[*function](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	threads := int(int32(a[2]))
	if threads <= 0 {
		return cudadrv.ErrInvalidValue
	}
	shared := int(a[3]) + int(f.kernel.shared)
	if threads > f.maxThreads() || shared > d.sharedOptin() {
		return put32(a[0], 0)
	}
	threads = (threads + 31) / 32 * 32
	return put32(a[0], uint32(min(smThreads/threads, smBlocks, smShared/(shared+blockReserved), max(smRegisters/(registersOf(f.kernel)*threads), 1))))
}
