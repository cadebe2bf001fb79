package cudadrv

import (
	"fmt"
	"math"
	"sync"
)

// LaunchConfig is the grid, the blocks and the way in which they start. The fields after Shared need newer drivers and devices
// than the oldest supported ones. If support is missing, Bind and SetConfig return an *[UnsupportedError]. A capture keeps the
// fields in the graph.
type LaunchConfig struct {
	Grid   [3]uint32 // blocks; 0 counts as 1 in the second and third dimension
	Block  [3]uint32 // threads in a block; 0 as in Grid
	Shared uint32    // bytes of dynamic shared memory for each block

	// Cluster is the number of blocks in a cluster: blocks on neighbouring multiprocessors that can access each other's shared
	// memory. At most 8, or 16 after [Kernel.AllowLargeClusters]. The grid must be a multiple of it in each dimension. All 0
	// means no cluster; otherwise 0 counts as 1 in the second and third dimension. It needs sm_90 or newer.
	Cluster [3]uint32

	// Dependent lets the kernel start before the previous kernel on the stream has ended, as soon as every block of that kernel
	// has ended or executed griddepcontrol.launch_dependents. The kernel itself must wait with griddepcontrol.wait: see rule 7
	// under Safe launches in the package comment. It has no effect if the previous work is not a kernel. It needs sm_90 or newer:
	// see [Device.DependentLaunch].
	Dependent bool

	// Cooperative starts all blocks at once, so they may wait for each other. If the device cannot hold the grid at once, the
	// launch returns ErrCooperativeTooLarge.
	Cooperative bool

	// Priority is the priority of this launch, with the values of [StreamOptions.Priority]. 0 is the stream's priority.
	Priority int32
}

// Launch is a kernel with checked and packed arguments and a launch configuration, ready to run many times. It may be used from
// any goroutine; calls on one Launch wait for each other. It holds addresses, not memory: the caller keeps the memory open until
// the launch has run.
type Launch struct {
	mu    sync.Mutex
	k     *Kernel
	cfg   LaunchConfig
	call  [11]uintptr // the arguments of cuLaunchKernel
	sizes []int
	at    []int     // where each argument starts in words
	words []uint64  // the arguments, each from a word's start
	ptrs  []uintptr // their addresses, which the driver is given

	fn     slot       // the function that the configuration needs: fnLaunchKernel, or fnLaunchKernelEx
	ex     *extended  // for cuLaunchKernelEx; nil if not needed so far
	callEx [4]uintptr // the arguments of cuLaunchKernelEx
}

// Bind packs the arguments for the kernel. Each must have the size that the kernel declares for its position: 1 byte for int8 and
// uint8; 2 for int16 and uint16; 4 for int32, uint32 and float32; 8 for int64, uint64, float64 and [DevicePtr]; any
// size for []byte, which holds a structure. int, uint and Go pointers are rejected.
//
// An unsuitable argument is an *[ArgError] with its position and both types. An invalid configuration is a *[ValueError]. If the
// driver does not report the parameters and [Kernel.Declare] was not called, the error is ErrParamsUnknown.
func (k *Kernel) Bind(cfg LaunchConfig, args ...any) (*Launch, error) {
	sizes, err := k.sizes()
	if err != nil {
		return nil, err
	}
	if len(args) != len(sizes) {
		return nil, &ArgError{Kernel: k.name, Position: -1, Got: fmt.Sprintf("%d arguments", len(args)), Want: fmt.Sprint(len(sizes))}
	}
	l := &Launch{k: k, sizes: sizes, at: make([]int, len(sizes)), ptrs: make([]uintptr, len(sizes))}
	n := 0
	for _, s := range sizes {
		n += (s + 7) / 8
	}
	l.words = make([]uint64, n)
	base := Addr(wordBytes(l.words))
	n = 0
	for i, s := range sizes {
		l.at[i], l.ptrs[i] = n, base+uintptr(8*n)
		n += (s + 7) / 8
		if err := l.set(i, args[i]); err != nil {
			return nil, err
		}
	}
	l.call[0] = k.h
	l.call[9] = wordsAddr(l.ptrs)
	if err := l.configure(cfg); err != nil {
		return nil, err
	}
	return l, nil
}

// configure checks a launch configuration and takes it over.
func (l *Launch) configure(cfg LaunchConfig) error {
	for i := 1; i < 3; i++ {
		cfg.Grid[i], cfg.Block[i] = max(cfg.Grid[i], 1), max(cfg.Block[i], 1)
	}
	g, b := cfg.Grid, cfg.Block
	if g[0] == 0 || g[0] > math.MaxInt32 || g[1] > math.MaxUint16 || g[2] > math.MaxUint16 {
		return &ValueError{Op: "kernel " + l.k.name, What: "the grid", Kind: ErrOption, Got: fmt.Sprint(g), Want: "1 to 2147483647, 65535, 65535 blocks"}
	}
	threads := uint64(b[0]) * uint64(b[1]) // no overflow: below 2^64
	if b[0] == 0 || threads > uint64(l.k.maxThreads) || threads*uint64(b[2]) > uint64(l.k.maxThreads) {
		return &ValueError{Op: "kernel " + l.k.name, What: "the block", Kind: ErrOption, Got: fmt.Sprint(b), Want: fmt.Sprintf("1 to %d threads", l.k.maxThreads)}
	}
	if cfg.Cluster[0] > 0 {
		cfg.Cluster[1], cfg.Cluster[2] = max(cfg.Cluster[1], 1), max(cfg.Cluster[2], 1)
	}
	if err := l.k.checkAttributes(&cfg); err != nil {
		return err
	}
	l.cfg = cfg
	for i := range 3 {
		l.call[1+i], l.call[4+i] = uintptr(g[i]), uintptr(b[i])
	}
	l.call[7] = uintptr(cfg.Shared)
	l.extend()
	return nil
}

// Kernel returns the launch's kernel.
func (l *Launch) Kernel() *Kernel { return l.k }

// Config returns the launch configuration.
func (l *Launch) Config() LaunchConfig {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg
}

// SetConfig changes the launch configuration, with the checks of Bind.
func (l *Launch) SetConfig(cfg LaunchConfig) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.configure(cfg)
}

// Set changes argument i, with the checks of Bind. Launches that are already queued keep their value. SetPtr, SetInt64 and the
// other typed methods do the same without allocating.
func (l *Launch) Set(i int, arg any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(i, arg)
}

func (l *Launch) set(i int, arg any) error {
	switch v := arg.(type) {
	case DevicePtr:
		return l.scalar(i, uint64(v), 8, "DevicePtr")
	case int64:
		return l.scalar(i, uint64(v), 8, "int64")
	case uint64:
		return l.scalar(i, v, 8, "uint64")
	case float64:
		return l.scalar(i, math.Float64bits(v), 8, "float64")
	case int32:
		return l.scalar(i, uint64(uint32(v)), 4, "int32")
	case uint32:
		return l.scalar(i, uint64(v), 4, "uint32")
	case float32:
		return l.scalar(i, uint64(math.Float32bits(v)), 4, "float32")
	case int16:
		return l.scalar(i, uint64(uint16(v)), 2, "int16")
	case uint16:
		return l.scalar(i, uint64(v), 2, "uint16")
	case int8:
		return l.scalar(i, uint64(uint8(v)), 1, "int8")
	case uint8:
		return l.scalar(i, uint64(v), 1, "uint8")
	case []byte:
		if err := l.fits(i, len(v), "[]byte"); err != nil {
			return err
		}
		copy(wordBytes(l.words)[8*l.at[i]:], v)
		return nil
	}
	if i < 0 || i >= len(l.sizes) {
		return l.fits(i, 0, "")
	}
	return &ArgError{Kernel: l.k.name, Position: i, Got: fmt.Sprintf("%T", arg), Want: fmt.Sprintf("a type of fixed size, %d bytes", l.sizes[i])}
}

// SetPtr changes argument i to a device address.
func (l *Launch) SetPtr(i int, v DevicePtr) error { return l.locked(i, uint64(v), 8, "DevicePtr") }

// SetInt64 changes argument i.
func (l *Launch) SetInt64(i int, v int64) error { return l.locked(i, uint64(v), 8, "int64") }

// SetUint64 changes argument i.
func (l *Launch) SetUint64(i int, v uint64) error { return l.locked(i, v, 8, "uint64") }

// SetFloat64 changes argument i.
func (l *Launch) SetFloat64(i int, v float64) error {
	return l.locked(i, math.Float64bits(v), 8, "float64")
}

// SetInt32 changes argument i.
func (l *Launch) SetInt32(i int, v int32) error { return l.locked(i, uint64(uint32(v)), 4, "int32") }

// SetUint32 changes argument i.
func (l *Launch) SetUint32(i int, v uint32) error { return l.locked(i, uint64(v), 4, "uint32") }

// SetFloat32 changes argument i.
func (l *Launch) SetFloat32(i int, v float32) error {
	return l.locked(i, uint64(math.Float32bits(v)), 4, "float32")
}

func (l *Launch) locked(i int, bits uint64, size int, typ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scalar(i, bits, size, typ)
}

func (l *Launch) scalar(i int, bits uint64, size int, typ string) error {
	if err := l.fits(i, size, typ); err != nil {
		return err
	}
	l.words[l.at[i]] = bits // both platforms store the low bytes first
	return nil
}

func (l *Launch) fits(i, size int, typ string) error {
	if i < 0 || i >= len(l.sizes) {
		return &ArgError{Kernel: l.k.name, Position: i, Got: "that position", Want: fmt.Sprintf("0 to %d", len(l.sizes)-1)}
	}
	if l.sizes[i] != size {
		return &ArgError{Kernel: l.k.name, Position: i, Got: fmt.Sprintf("%s (%d bytes)", typ, size), Want: fmt.Sprintf("%d bytes", l.sizes[i])}
	}
	return nil
}

// Run queues the launch on s and returns. It reads the arguments before it returns; the memory that they point to is in use until
// the stream has passed the launch. It allocates nothing. An error in the kernel itself, for example a bad address, is returned
// by a later call, at the latest by the next call that waits for s.
func (l *Launch) Run(s *Stream) error {
	k := l.k
	c := k.mod.ctx
	if err := c.owns("Run", s); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.begin(s)
	if err != nil {
		return err
	}
	defer l.end(s) // two defers and few ways out: the compiler then calls them as plain functions
	c.dev.history.add(k)
	code := ErrInvalidContext
	if !c.drv.bind[l.fn].Load() {
		code = l.launch(c, h)
	}
	if code == ErrInvalidContext {
		code = l.runBound(c, h)
	}
	return c.dev.check(l.fn, code)
}

// begin keeps the module and the stream open until end, and gives the stream's handle.
func (l *Launch) begin(s *Stream) (uintptr, error) {
	if _, err := l.k.mod.begin("Run"); err != nil {
		return 0, err
	}
	h, err := s.begin("Run")
	if err != nil {
		l.k.mod.end()
	}
	return h, err
}

func (l *Launch) end(s *Stream) {
	s.end()
	l.k.mod.end()
}

// runBound is the way for drivers that want a current context even with an explicit stream.
func (l *Launch) runBound(c *Context, h uintptr) Code {
	unbind, code := c.makeCurrent()
	if code != Success {
		return code
	}
	defer unbind()
	code = l.launch(c, h)
	if code != ErrInvalidContext {
		c.drv.bind[l.fn].Store(true)
	}
	return code
}
