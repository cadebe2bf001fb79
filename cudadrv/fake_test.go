package cudadrv

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a driver in Go behind the function table. Device memory is Go memory; kernels are Go functions; work
// runs when it is queued, except that a held stream counts as busy.
type fake struct {
	mu      sync.Mutex
	version int
	devices int
	missing map[string]bool // functions that the library lacks
	attrs   map[Attr]int
	kernels map[string]fakeKernel
	fault   func(name string, n int) Code // n counts the calls of that name from 1
	calls   map[string]int
	next    uintptr
	mem     map[uintptr][]byte
	texts   map[string][]byte
	pushed  int
	handles map[uintptr]string // open handles
	names   map[uintptr]string // kernel handles
	held    map[uintptr]chan struct{}
	capture *fakeCapture
	graphs  map[uintptr]*fakeCapture
	runs    []fakeRun
	poison  Code                // what every call answers once set
	opened  [][3]uint32         // what cuMemPoolSetAccess was given
	pinned  map[uintptr]uintptr // registered memory: size | flags<<48, by address
}

type fakeKernel struct {
	sizes []int
	run   func(args [][]byte)
}

type fakeRun struct {
	name   string
	args   [][]byte
	config [7]uintptr
	stream uintptr
	attrs  map[uint32][]uint32 // by number: the first three words of the value
}

type fakeCapture struct {
	stream  uintptr
	invalid bool
	nodes   []uintptr
	runs    map[uintptr]fakeRun
}

func newFake() *fake {
	return &fake{
		version: 12080, devices: 1,
		missing: map[string]bool{}, calls: map[string]int{}, mem: map[uintptr][]byte{}, texts: map[string][]byte{},
		handles: map[uintptr]string{}, names: map[uintptr]string{}, held: map[uintptr]chan struct{}{}, graphs: map[uintptr]*fakeCapture{},
		pinned: map[uintptr]uintptr{},
		attrs:  map[Attr]int{MemoryPoolsSupported: 1, ComputeCapabilityMajor: 9, ClusterLaunch: 1, CooperativeLaunch: 1, ReadOnlyHostRegister: 1},
		kernels: map[string]fakeKernel{
			"tiles": {sizes: []int{8, 128, 4, 128}},
			"null":  {},
			"mixed": {sizes: []int{4, 8, 4, 2, 1, 8, 12}},
			"fill": {sizes: []int{8, 4, 4}, run: func(a [][]byte) {
				n := binary.LittleEndian.Uint32(a[2])
				for i := range n {
					copy(View(uintptr(binary.LittleEndian.Uint64(a[0]))+uintptr(4*i), 4), a[1])
				}
			}},
		},
		next: 0x1000,
	}
}

func (k *fake) handle(kind string) uint64 {
	k.next += 0x10
	k.handles[k.next] = kind
	return uint64(k.next)
}

func (k *fake) alloc(n uintptr) uint64 {
	b := make([]byte, n)
	k.mem[Addr(b)] = b
	return uint64(Addr(b))
}

func (k *fake) text(s string) uint64 {
	if k.texts[s] == nil {
		k.texts[s] = cstring(s)
	}
	return uint64(Addr(k.texts[s]))
}

func put64(addr uintptr, v uint64) Code {
	binary.LittleEndian.PutUint64(View(addr, 8), v)
	return Success
}

func put32(addr uintptr, v int) Code {
	binary.LittleEndian.PutUint32(View(addr, 4), uint32(int32(v)))
	return Success
}

// table is what the driver package sees.
func (k *fake) table() *FunctionTable {
	return &FunctionTable{Path: "fake", Lookup: func(name string, version int) (Proc, bool) {
		if k.missing[name] || version > k.version {
			return nil, false
		}
		return func(args []uintptr) uintptr {
			k.mu.Lock()
			k.calls[name]++
			code := k.poison
			if k.fault != nil && code == Success {
				code = k.fault(name, k.calls[name])
			}
			if code != Success && name != "cuGetErrorName" && name != "cuGetErrorString" {
				k.mu.Unlock()
				return uintptr(uint32(code)) | 0xdead<<32 // the upper half is garbage, as in a real register
			}
			var wait chan struct{}
			if name == "cuStreamSynchronize" {
				wait = k.held[args[0]]
			}
			code = k.do(name, args)
			k.mu.Unlock()
			if wait != nil {
				<-wait
			}
			return uintptr(uint32(code)) | 0xdead<<32
		}, true
	}}
}

func (k *fake) do(name string, a []uintptr) Code {
	switch name {
	case "cuInit":
		return Success
	case "cuCtxPushCurrent_v2":
		k.pushed++
		return Success
	case "cuCtxPopCurrent_v2":
		k.pushed--
		return Success
	case "cuDriverGetVersion":
		return put32(a[0], k.version)
	case "cuGetErrorName":
		return put64(a[1], k.text(map[Code]string{2: "CUDA_ERROR_OUT_OF_MEMORY", 700: "CUDA_ERROR_ILLEGAL_ADDRESS"}[Code(int32(a[0]))]))
	case "cuGetErrorString":
		return put64(a[1], k.text(map[Code]string{2: "out of memory", 700: "an illegal memory access was encountered"}[Code(int32(a[0]))]))
	case "cuDeviceGetCount":
		return put32(a[0], k.devices)
	case "cuDeviceGet":
		return put32(a[0], int(a[1]))
	case "cuDeviceGetName":
		copy(View(a[0], int(a[1])), "Fake GPU")
		return Success
	case "cuDeviceGetUuid_v2":
		for i := range View(a[0], 16) {
			View(a[0], 16)[i] = byte(i * 17)
		}
		return Success
	case "cuDeviceGetPCIBusId":
		copy(View(a[0], int(a[1])), "0000:1b:00.0")
		return Success
	case "cuDeviceTotalMem_v2":
		return put64(a[0], 1<<30)
	case "cuDeviceGetAttribute":
		return put32(a[0], k.attrs[Attr(a[1])])
	case "cuMemGetInfo_v2":
		put64(a[1], 1<<30)
		return put64(a[0], 1<<29)
	case "cuMemAlloc_v2", "cuMemAllocAsync", "cuMemHostAlloc":
		if name == "cuMemHostAlloc" && k.capture != nil {
			k.capture.invalid = true
			return ErrCaptureUnsupported
		}
		if a[1] > 1<<30 {
			return ErrOutOfMemory
		}
		return put64(a[0], k.alloc(a[1]))
	case "cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost":
		if k.mem[a[0]] == nil {
			return ErrInvalidValue
		}
		delete(k.mem, a[0])
		return Success
	case "cuMemHostGetDevicePointer_v2":
		return put64(a[0], uint64(a[1]))
	case "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2":
		copy(View(a[0], int(a[2])), View(a[1], int(a[2])))
		return Success
	case "cuMemcpy2DAsync_v2":
		return k.copy2D(View(a[0], 128))
	case "cuMemsetD8Async":
		for i := range View(a[0], int(a[2])) {
			View(a[0], int(a[2]))[i] = byte(a[1])
		}
		return Success
	case "cuMemsetD32Async":
		for i := range a[2] {
			put32(a[0]+4*i, int(int32(a[1])))
		}
		return Success
	case "cuDeviceGetMemPool":
		return put64(a[0], 0x99)
	case "cuDeviceCanAccessPeer":
		if a[1] == 2 {
			return put32(a[0], 0)
		}
		return put32(a[0], 1)
	case "cuMemPoolSetAccess":
		k.opened = append(k.opened, [3]uint32{binary.LittleEndian.Uint32(View(a[1], 12)), binary.LittleEndian.Uint32(View(a[1]+4, 8)), binary.LittleEndian.Uint32(View(a[1]+8, 4))})
		return Success
	case "cuMemPoolSetAttribute":
		k.attrs[-Attr(a[1])] = int(binary.LittleEndian.Uint64(View(a[2], 8)))
		return Success
	case "cuMemPoolGetAttribute":
		return put64(a[2], uint64(a[1]))
	case "cuDevicePrimaryCtxRetain":
		return put64(a[0], k.handle("context"))
	case "cuStreamCreateWithPriority":
		return put64(a[0], k.handle("stream"))
	case "cuEventCreate":
		return put64(a[0], k.handle("event"))
	case "cuLibraryLoadData", "cuModuleLoadDataEx":
		return k.load(name, a)
	case "cuLibraryGetKernel", "cuModuleGetFunction":
		entry := CString(a[2])
		if _, ok := k.kernels[entry]; !ok {
			return ErrNotFound
		}
		h := k.handle("kernel")
		k.names[uintptr(h)] = entry
		return put64(a[0], h)
	case "cuKernelGetFunction":
		return put64(a[0], uint64(a[1]))
	case "cuKernelGetParamInfo", "cuFuncGetParamInfo":
		off, sizes := 0, k.kernels[k.names[a[0]]].sizes
		for i, s := range sizes {
			off = (off + s - 1) / s * s
			if s == 12 {
				off = (off + 3) &^ 3
			}
			if i == int(a[1]) {
				put64(a[2], uint64(off))
				return put64(a[3], uint64(s))
			}
			off += s
		}
		return ErrInvalidValue
	case "cuKernelGetAttribute", "cuFuncGetAttribute":
		return put32(a[0], 1024)
	case "cuOccupancyMaxActiveBlocksPerMultiprocessor":
		return put32(a[0], 2048/int(a[2]))
	case "cuStreamQuery":
		if k.held[a[0]] != nil {
			return ErrNotReady
		}
		return Success
	case "cuLaunchKernel":
		return k.launch(a)
	case "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuLibraryUnload", "cuModuleUnload", "cuGraphExecDestroy", "cuGraphDestroy":
		if k.handles[a[0]] == "" {
			return ErrInvalidHandle
		}
		delete(k.handles, a[0])
		return Success
	case "cuEventElapsedTime":
		return put32(a[0], 0x3fc00000) // 1.5 ms
	}
	return k.extended(name, a)
}

func (k *fake) copy2D(s []byte) Code {
	word := func(off int) uintptr { return uintptr(binary.LittleEndian.Uint64(s[off:])) }
	src, dst := word(32), word(88)
	if s[16] == 1 {
		src = word(24)
	}
	if s[72] == 1 {
		dst = word(80)
	}
	for y := range word(120) {
		copy(View(dst+y*word(104), int(word(112))), View(src+y*word(48), int(word(112))))
	}
	return Success
}

func (k *fake) load(name string, a []uintptr) Code {
	options, values := a[2], a[3]
	if name == "cuModuleLoadDataEx" {
		options, values = a[3], a[4]
	}
	if CString(a[1]) == "bad" {
		for i := range 4 {
			if binary.LittleEndian.Uint32(View(options+uintptr(4*i), 4)) == 5 {
				copy(View(uintptr(binary.LittleEndian.Uint64(View(values+uintptr(8*i), 8))), 100), "ptxas error: line 1\x00")
			}
		}
		return ErrInvalidPTX
	}
	return put64(a[0], k.handle("module"))
}

func (k *fake) packed(h, ptrs uintptr) (string, [][]byte) {
	name := k.names[h]
	var args [][]byte
	for i, s := range k.kernels[name].sizes {
		p := binary.LittleEndian.Uint64(View(ptrs+uintptr(8*i), 8))
		args = append(args, slices.Clone(View(uintptr(p), s)))
	}
	return name, args
}

func (k *fake) exec(r fakeRun) {
	k.runs = append(k.runs, r)
	if f := k.kernels[r.name].run; f != nil {
		f(r.args)
	}
}

func (k *fake) graph(name string, a []uintptr) Code {
	switch name {
	case "cuStreamBeginCapture_v2":
		k.capture = &fakeCapture{stream: a[0], runs: map[uintptr]fakeRun{}}
		return Success
	case "cuStreamEndCapture":
		c := k.capture
		k.capture = nil
		if c.invalid {
			put64(a[1], 0)
			return ErrCaptureInvalidated
		}
		h := k.handle("graph")
		k.graphs[uintptr(h)] = c
		return put64(a[1], h)
	case "cuGraphGetNodes":
		return put64(a[2], uint64(len(k.graphs[a[0]].nodes)))
	case "cuGraphInstantiateWithFlags":
		h, g := k.handle("exec"), k.graphs[a[1]]
		k.graphs[uintptr(h)] = &fakeCapture{nodes: g.nodes, runs: maps.Clone(g.runs)}
		return put64(a[0], h)
	case "cuGraphLaunch":
		for _, n := range k.graphs[a[0]].nodes {
			k.exec(k.graphs[a[0]].runs[n])
		}
		return Success
	case "cuGraphExecUpdate_v2", "cuGraphExecUpdate":
		x, g := k.graphs[a[0]], k.graphs[a[1]]
		if len(x.nodes) != len(g.nodes) {
			result := a[2]
			if name == "cuGraphExecUpdate" {
				result = a[3]
			}
			put32(result, 2)
			return ErrGraphUpdateFailure
		}
		for i := range x.nodes {
			x.runs[x.nodes[i]] = g.runs[g.nodes[i]]
		}
		return Success
	}
	return Success
}

// hold makes a stream busy until release.
func (k *fake) hold(s *Stream) (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ch := make(chan struct{})
	k.held[s.h] = ch
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.held, s.h)
		close(ch)
	}
}

func (k *fake) count(name string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[name]
}

// open gives a context on the fake; it must be closed again at the end of the test, with nothing left open.
func (k *fake) open(t testing.TB) *Context {
	t.Helper()
	d, err := NewDriver(k.table())
	require.NoError(t, err)
	dev, err := d.Device(0)
	require.NoError(t, err)
	c, err := dev.Primary()
	require.NoError(t, err)
	return c
}

func (k *fake) kernel(t testing.TB, c *Context, name string) *Kernel {
	t.Helper()
	m, err := c.LoadModule([]byte("good"))
	require.NoError(t, err)
	kern, err := m.Kernel(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return kern
}

func stream(t testing.TB, c *Context) *Stream {
	t.Helper()
	s, err := c.NewStream(StreamOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
