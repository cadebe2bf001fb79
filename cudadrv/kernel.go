package cudadrv

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Kernel is a function in a module. It may be used from any goroutine as long as its module is open.
type Kernel struct {
	mod        *Module
	name       string
	h          uintptr
	maxThreads int
	params     []Param // the driver's own list
	known      bool    // whether the driver gave it
	declared   atomic.Pointer[[]int]
}

// Param is the position and the size of a parameter in the kernel's parameter memory, in bytes.
type Param struct{ Offset, Size int }

// FuncAttr is a kernel attribute (CUfunction_attribute).
type FuncAttr int32

// Kernel attributes. Sizes are bytes.
const (
	FuncMaxThreadsPerBlock FuncAttr = 0
	FuncSharedSize         FuncAttr = 1
	FuncConstSize          FuncAttr = 2
	FuncLocalSize          FuncAttr = 3 // per thread; more than 0 means spilled registers or arrays
	FuncRegisters          FuncAttr = 4
	FuncPTXVersion         FuncAttr = 5
	FuncBinaryVersion      FuncAttr = 6
	FuncMaxDynamicShared   FuncAttr = 8
	FuncSharedCarveout     FuncAttr = 9  // percent of a multiprocessor's on-chip memory, or -1; see [Kernel.PreferShared]
	FuncLargeClusters      FuncAttr = 14 // 1 if clusters of more than 8 blocks are allowed
)

// Name returns the kernel's name in the module.
func (k *Kernel) Name() string { return k.name }

// Device returns the device that the kernel was loaded on.
func (k *Kernel) Device() *Device { return k.mod.ctx.dev }

// readParams asks for the parameters one by one until there are no more.
func (k *Kernel) readParams(f *frame) error {
	c := k.mod.ctx
	s := fnFuncGetParamInfo
	if k.mod.library {
		s = fnKernelGetParamInfo
	}
	if !c.drv.has(s) {
		return nil
	}
	for i := 0; ; i++ {
		code := c.bound(s, f, k.h, uintptr(i), f.outAddr(0), f.outAddr(1))
		if code == ErrInvalidValue {
			k.known = true
			return nil
		}
		if err := c.dev.check(s, code); err != nil {
			return fmt.Errorf("cudadrv: kernel %q, parameter %d: %w", k.name, i, err)
		}
		k.params = append(k.params, Param{Offset: int(f.out[0]), Size: int(f.out[1])})
	}
}

// Params returns the parameters in order, or false if the driver does not report them (before CUDA 12.4).
func (k *Kernel) Params() ([]Param, bool) { return slices.Clone(k.params), k.known }

// Declare sets the parameters' sizes in bytes. It is needed if the driver does not report them. If it does, a difference is an
// *[ArgError].
func (k *Kernel) Declare(sizes []int) error {
	if k.known {
		if err := k.compare(len(sizes), func(i int) int { return sizes[i] }); err != nil {
			return err
		}
	}
	own := slices.Clone(sizes)
	k.declared.Store(&own)
	return nil
}

// compare checks a list of sizes against the driver's.
func (k *Kernel) compare(n int, size func(int) int) error {
	if n != len(k.params) {
		return &ArgError{Kernel: k.name, Position: -1, Got: fmt.Sprintf("%d declared parameters", n), Want: fmt.Sprintf("%d", len(k.params))}
	}
	for i, p := range k.params {
		if size(i) != p.Size {
			return &ArgError{Kernel: k.name, Position: i, Got: fmt.Sprintf("declared as %d bytes", size(i)), Want: fmt.Sprintf("%d bytes", p.Size)}
		}
	}
	return nil
}

// sizes is the list to check arguments against.
func (k *Kernel) sizes() ([]int, error) {
	if k.known {
		out := make([]int, len(k.params))
		for i, p := range k.params {
			out[i] = p.Size
		}
		return out, nil
	}
	if d := k.declared.Load(); d != nil {
		return *d, nil
	}
	return nil, fmt.Errorf("cudadrv: kernel %s: %w: this driver (CUDA %s) does not tell it before 12.4; call Declare",
		k.name, ErrParamsUnknown, FormatVersion(k.mod.ctx.drv.version))
}

// Attribute reads one attribute.
func (k *Kernel) Attribute(a FuncAttr) (int, error) {
	if _, err := k.mod.begin("Attribute"); err != nil {
		return 0, err
	}
	defer k.mod.end()
	return k.attribute(a)
}

func (k *Kernel) attribute(a FuncAttr) (int, error) {
	c := k.mod.ctx
	f := getFrame()
	defer f.put()
	s, code := fnFuncGetAttribute, Success
	if k.mod.library {
		s = fnKernelGetAttribute
		code = c.bound(s, f, f.outAddr(0), uintptr(a), k.h, c.dev.h)
	} else {
		code = c.bound(s, f, f.outAddr(0), uintptr(a), k.h)
	}
	return int(int32(f.out[0])), c.dev.check(s, code)
}

// SetMaxDynamicShared sets how many bytes of dynamic shared memory a launch may request. A kernel needs it for more than 48 KiB.
func (k *Kernel) SetMaxDynamicShared(bytes int) error {
	return k.setAttribute("SetMaxDynamicShared", FuncMaxDynamicShared, bytes)
}

// PreferShared requests the percentage, 0 to 100, of a multiprocessor's on-chip memory that is shared memory while the kernel
// runs; the rest is cache. -1 is the default and leaves the choice to the driver: as much as the launch needs. A multiprocessor
// changes its division only when it is idle. Kernels that run at the same time, or start before the previous one ends, should
// therefore request the same percentage.
func (k *Kernel) PreferShared(percent int) error {
	return k.setAttribute("PreferShared", FuncSharedCarveout, percent)
}

// AllowLargeClusters lets launches request clusters of 9 to 16 blocks. Some devices and launch configurations have no room for
// them.
func (k *Kernel) AllowLargeClusters() error {
	return k.setAttribute("AllowLargeClusters", FuncLargeClusters, 1)
}

func (k *Kernel) setAttribute(op string, a FuncAttr, value int) error {
	if _, err := k.mod.begin(op); err != nil {
		return err
	}
	defer k.mod.end()
	c := k.mod.ctx
	f := getFrame()
	defer f.put()
	s, code := fnFuncSetAttribute, Success
	if k.mod.library {
		s = fnKernelSetAttribute
		code = c.bound(s, f, uintptr(a), uintptr(uint32(int32(value))), k.h, c.dev.h)
	} else {
		code = c.bound(s, f, k.h, uintptr(a), uintptr(uint32(int32(value))))
	}
	return c.dev.check(s, code)
}

// Occupancy returns the number of blocks that a multiprocessor holds at once, if each has blockThreads threads and shared bytes
// of dynamic shared memory.
func (k *Kernel) Occupancy(blockThreads, shared int) (int, error) {
	if _, err := k.mod.begin("Occupancy"); err != nil {
		return 0, err
	}
	defer k.mod.end()
	c := k.mod.ctx
	f := getFrame()
	defer f.put()
	code := c.bound(fnOccupancyMaxBlocks, f, f.outAddr(0), k.h, uintptr(uint32(int32(blockThreads))), uintptr(shared))
	return int(int32(f.out[0])), c.dev.check(fnOccupancyMaxBlocks, code)
}
