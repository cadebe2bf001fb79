package driver

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/internal/program"
)

// module is an image that was loaded by a module call or, as a library, by a library call.
type module struct {
	handle  uintptr
	inner   uintptr // the module of a library
	program *program.Program
	mu      sync.Mutex
	entries map[string]*function
}

// library is a module with a handle of its own type, so that module calls refuse it.
type library struct{ module *module }

// function is a kernel of a module.
type function struct {
	handle   uintptr // handle as a CUkernel
	inner    uintptr // handle as a CUfunction
	dev      *Device
	module   *module
	kernel   *exec.Kernel
	mu       sync.Mutex
	dynamic  int // the most dynamic shared memory of a launch, bytes
	carveout int // preferred percent of shared memory, or -1
}

// programs caches compiled programs for every device of the process, because a program without variables is the same for all.
var programs struct {
	sync.Mutex
	byHash map[uint64][]compiled
}

type compiled struct {
	text    []byte
	program *program.Program
}

var seed = maphash.MakeSeed()

// known returns the cached program of an image, or nil.
func known(hash uint64, text []byte) *program.Program {
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

// compile compiles an image without caching it. It returns the program, Success and an empty log; or nil, the error code and the
// compiler's log.
func (d *Device) compile(image []byte) (*program.Program, code, string) {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		return nil, cudadrv.ErrNoBinaryForGPU, "machine code does not run on a simulated device"
	}
	if v := versionLine.FindSubmatch(image); v != nil {
		major, _ := strconv.Atoi(string(v[1]))
		minor, _ := strconv.Atoi(string(v[2]))
		if 10*major+minor > ISAVersion {
			return nil, cudadrv.ErrUnsupportedPTXVersion,
				fmt.Sprintf("ptxas fatal   : Unsupported .version %d.%d; current version is '%d.%d'", major, minor, ISAVersion/10, ISAVersion%10)
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
	p, err := program.Load(image, d.space)
	switch {
	case errors.Is(err, memory.ErrNoMemory):
		return nil, cudadrv.ErrOutOfMemory, err.Error()
	case err != nil:
		return nil, cudadrv.ErrInvalidPTX, err.Error()
	}
	if !p.HasVariables() {
		programs.Lock()
		defer programs.Unlock()
		if programs.byHash == nil {
			programs.byHash = map[uint64][]compiled{}
		}
		programs.byHash[hash] = append(programs.byHash[hash], compiled{image, p})
	}
	return p, cudadrv.Success, ""
}

// image returns the bytes of an image without a copy. For machine code, it returns only the first bytes.
func image(addr uintptr) []byte {
	if addr == 0 {
		return nil
	}
	if elf := "\x7fELF"; cudadrv.View(addr, 1)[0] == elf[0] && string(cudadrv.View(addr, 4)) == elf {
		return []byte(elf)
	}
	return cText(addr)
}

// logTo writes the compiler's log to the buffers in the options.
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

// unload waits for running kernels first.
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
	if m.program.HasVariables() {
		if err := m.program.Unload(d.space); err != nil {
			return cudadrv.ErrUnknown
		}
	}
	return d.lost()
}

// function returns the kernel with a name, the same object for each call. It returns false if the module has none.
func (d *Device) function(m *module, name string) (*function, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.entries[name]; f != nil {
		return f, true
	}
	k, ok := m.program.Kernel(name)
	if !ok {
		return nil, false
	}
	f := &function{dev: d, module: m, kernel: k, dynamic: max(maxShared-int(k.Shared), 0), carveout: -1}
	f.handle = d.add(kindInner, f, 0)
	f.inner = d.add(kindInner, f, 0)
	m.entries[name] = f
	return f, true
}

// maxThreads returns the entry's own limit, else the device's. A compiler fits the registers to the entry's limit. Without one,
// the number of registers is only an estimate, so it refuses no launch.
func (f *function) maxThreads() int {
	if f.kernel.MaxThreads > 0 {
		return min(maxThreads, int(f.kernel.MaxThreads))
	}
	return maxThreads
}

// registersOf estimates the registers that a compiler would use for a thread: at least 16, at most 255, in steps of 8.
func registersOf(k *exec.Kernel) int { return min(max(int(k.Registers+7)/8*8, 16), 255) }
