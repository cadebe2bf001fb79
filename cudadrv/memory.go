package cudadrv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// DevicePtr is an address on the device. It is never a Go pointer.
type DevicePtr uint64

// DeviceMem is device memory, in bytes. [Array] is device memory with elements of a Go type.
type DeviceMem struct {
	child
	mu      sync.RWMutex // held for reading while a call uses ptr
	ptr     DevicePtr
	size    int64
	pooled  bool
	foreign bool // another process has allocated it
	closed  bool
}

// Malloc allocates n bytes that every stream can use at once. Their contents are undefined. They come from the device's memory
// pool, as with [Context.MallocAsync], or from the plain allocator if the device has no pools. If n is 0, there is no memory, and
// the address is 0. Too little memory is ErrOutOfMemory. If ctx ends first, nothing is allocated, and the error is ctx's.
func (c *Context) Malloc(ctx context.Context, n int64) (*DeviceMem, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	m, err := c.malloc(c.memory, n)
	if err != nil || !m.pooled {
		return m, err
	}
	if err := c.memory.Synchronize(ctx); err != nil { // other streams may use the memory only after this point of its own
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// MallocAsync allocates n bytes in the order of s: later work on s may use them, and other streams must wait for an event
// recorded on s. If the device has no memory pools, it allocates plainly, which may wait for the device.
func (c *Context) MallocAsync(s *Stream, n int64) (*DeviceMem, error) {
	if err := c.owns("MallocAsync", s); err != nil {
		return nil, err
	}
	return c.malloc(s, n)
}

func (c *Context) malloc(s *Stream, n int64) (*DeviceMem, error) {
	if n < 0 {
		return nil, &ValueError{Op: "Malloc", What: "the size", Kind: ErrShape, Got: fmt.Sprint(n), Want: "0 or more"}
	}
	if err := c.enter("Malloc"); err != nil {
		return nil, err
	}
	defer c.leave()
	m := &DeviceMem{size: n}
	if n > 0 {
		f := getFrame()
		defer f.put()
		pools, err := c.dev.hasPools()
		if err != nil {
			return nil, err
		}
		if pools {
			m.pooled = true
			h, err := s.begin("MallocAsync")
			if err != nil {
				return nil, err
			}
			code := c.free(fnMemAllocAsync, f, f.outAddr(0), uintptr(n), h)
			s.end()
			if err := c.dev.check(fnMemAllocAsync, code); err != nil {
				return nil, err
			}
		} else if err := c.dev.check(fnMemAlloc, c.bound(fnMemAlloc, f, f.outAddr(0), uintptr(n))); err != nil {
			return nil, err
		}
		m.ptr = DevicePtr(f.out[0])
	}
	m.child = c.adopt(kindMemory, n)
	return m, nil
}

// Ptr returns the address of the first byte; 0 after Close.
func (m *DeviceMem) Ptr() DevicePtr {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.ptr
}

// Size returns the size in bytes.
func (m *DeviceMem) Size() int64 { return m.size }

// Close frees the memory. No work that uses it may be queued or running on any stream: synchronise first, or use CloseAsync. A
// second Close does nothing. If the device is lost it returns nil, because the memory is gone too.
func (m *DeviceMem) Close() error { return m.release(nil) }

// CloseAsync frees the memory after the work that is queued on s so far. If other streams use the memory, s must wait for them
// before. If the device has no memory pools, CloseAsync waits for s.
func (m *DeviceMem) CloseAsync(s *Stream) error {
	if err := m.ctx.owns("CloseAsync", s); err != nil {
		return err
	}
	return m.release(s)
}

func (m *DeviceMem) release(s *Stream) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	c := m.ctx
	var gone error
	if m.size > 0 && c.dev.Lost() == nil {
		f := getFrame()
		defer f.put()
		if m.pooled {
			on := s
			if on == nil {
				on = c.memory
			}
			h, err := on.begin("CloseAsync")
			if err != nil {
				return err
			}
			code := c.free(fnMemFreeAsync, f, uintptr(m.ptr), h)
			on.end()
			gone = c.dev.check(fnMemFreeAsync, code)
		} else {
			if s != nil {
				if err := s.wait(); err != nil && c.dev.Lost() == nil {
					return err
				}
			}
			free := fnMemFree
			if m.foreign {
				free = fnIpcCloseMemHandle
			}
			gone = c.dev.check(free, c.bound(free, f, uintptr(m.ptr)))
		}
	}
	if stays(gone) {
		return gone
	}
	m.closed, m.ptr = true, 0
	m.drop()
	return gone
}

// stays reports whether memory still exists after its free failed. A free inside a capture can be repeated. After other errors
// the state is unknown, and the memory counts as closed, so that its context can be closed too.
func stays(err error) bool { return errors.Is(err, ErrCaptureUnsupported) }

// SetPoolThreshold sets how many bytes of freed memory the device's pool keeps for later allocations. The driver's default is 0:
// each synchronisation returns everything to the system. The setting applies to the whole process.
func (c *Context) SetPoolThreshold(bytes uint64) error {
	return c.withPool("SetPoolThreshold", func(f *frame, pool uintptr) error {
		const releaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
		at := f.outAddr(1)
		f.out[1] = bytes
		return c.dev.check(fnMemPoolSetAttribute, c.free(fnMemPoolSetAttribute, f, pool, releaseThreshold, at))
	})
}

// TrimPool returns freed memory to the system until the pool holds no more than keep bytes.
func (c *Context) TrimPool(keep uint64) error {
	return c.withPool("TrimPool", func(f *frame, pool uintptr) error {
		return c.dev.check(fnMemPoolTrimTo, c.free(fnMemPoolTrimTo, f, pool, uintptr(keep)))
	})
}

// PoolInfo returns the number of bytes that the device's pool holds, and the number in use by the whole process.
func (c *Context) PoolInfo() (reserved, used uint64, err error) {
	err = c.withPool("PoolInfo", func(f *frame, pool uintptr) error {
		for i, attr := range []uintptr{5, 7} { // RESERVED_MEM_CURRENT, USED_MEM_CURRENT
			if err := c.dev.check(fnMemPoolGetAttribute, c.free(fnMemPoolGetAttribute, f, pool, attr, f.outAddr(1))); err != nil {
				return err
			}
			*[]*uint64{&reserved, &used}[i] = f.out[1]
		}
		return nil
	})
	return reserved, used, err
}

func (c *Context) withPool(op string, fn func(f *frame, pool uintptr) error) error {
	if err := c.enter(op); err != nil {
		return err
	}
	defer c.leave()
	pools, err := c.dev.hasPools()
	if err != nil {
		return err
	}
	if !pools {
		return &UnsupportedError{Op: op, Found: c.drv.version}
	}
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnDeviceGetMemPool, c.free(fnDeviceGetMemPool, f, f.outAddr(0), c.dev.h)); err != nil {
		return err
	}
	return fn(f, uintptr(f.out[0]))
}

// HostMem is pinned host memory, which the device can read and write. It is the driver's, from [Context.MallocHost], or the
// program's own, from [Context.RegisterHost].
type HostMem struct {
	child
	mu       sync.RWMutex // held for reading while a call uses the address
	addr     uintptr
	dev      DevicePtr
	size     int64
	closed   bool
	own      []byte // the program's memory; nil if the driver allocated it
	pin      runtime.Pinner
	readOnly bool
}

// MallocHost allocates n bytes of pinned memory. Every context can use it, and it is mapped into the device's address space.
// Asynchronous copies accept it, as they accept memory from [Context.RegisterHost]. n may be 0.
func (c *Context) MallocHost(n int64) (*HostMem, error) {
	if n < 0 {
		return nil, &ValueError{Op: "MallocHost", What: "the size", Kind: ErrShape, Got: fmt.Sprint(n), Want: "0 or more"}
	}
	if err := c.enter("MallocHost"); err != nil {
		return nil, err
	}
	defer c.leave()
	m := &HostMem{size: n}
	if n > 0 {
		const portable, mapped = 1, 2
		f := getFrame()
		defer f.put()
		if err := c.dev.check(fnMemHostAlloc, c.bound(fnMemHostAlloc, f, f.outAddr(0), uintptr(n), portable|mapped)); err != nil {
			return nil, err
		}
		m.addr = uintptr(f.out[0])
		if err := c.dev.check(fnMemHostGetDevicePointer, c.bound(fnMemHostGetDevicePointer, f, f.outAddr(1), m.addr, 0)); err != nil {
			c.bound(fnMemFreeHost, f, m.addr)
			return nil, err
		}
		m.dev = DevicePtr(f.out[1])
	}
	m.child = c.adopt(kindHost, n)
	return m, nil
}

// Bytes returns the memory, or nil after Close. If the memory is the driver's, the slice must not be used after Close, because
// the garbage collector does not keep it. While an asynchronous copy runs, its source must not be written and its destination not
// read.
func (m *HostMem) Bytes() []byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.own != nil {
		return m.own
	}
	return View(m.addr, int(m.size))
}

// DevicePtr returns the memory's address on the device; 0 after Close.
func (m *HostMem) DevicePtr() DevicePtr {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dev
}

// Size returns the size in bytes.
func (m *HostMem) Size() int64 { return m.size }

// Close frees the memory, or unregisters it. No copy or kernel that uses it may be queued or running. A second Close does
// nothing.
func (m *HostMem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	c := m.ctx
	var gone error
	if m.own != nil {
		if gone = m.unregister(); gone != nil && c.dev.Lost() == nil {
			return gone // the device may still reach it: Close again
		}
	} else if m.size > 0 && c.dev.Lost() == nil {
		f := getFrame()
		defer f.put()
		if gone = c.dev.check(fnMemFreeHost, c.bound(fnMemFreeHost, f, m.addr)); stays(gone) {
			return gone
		}
	}
	m.closed, m.addr, m.dev, m.own = true, 0, 0, nil
	m.drop()
	return gone
}

// span gives the address of bytes off to off+n, checked.
func (m *HostMem) span(op string, off, n int64, write bool) (uintptr, error) {
	if m.closed {
		return 0, &ClosedError{Op: op, What: "host memory"}
	}
	if write && m.readOnly {
		return 0, &ValueError{Op: op, What: "the destination", Kind: ErrOption, Got: "host memory registered as read-only", Want: "memory that may be written"}
	}
	if off < 0 || n < 0 || n > m.size || off > m.size-n {
		return 0, &ValueError{Op: op, What: "the host range", Kind: ErrShape, Got: fmt.Sprintf("%d bytes at %d", n, off), Want: fmt.Sprintf("within %d bytes", m.size)}
	}
	return m.addr + uintptr(off), nil
}
