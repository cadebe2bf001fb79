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

// DeviceMem is memory on the device, in bytes. [Array] is such memory as elements of a Go type.
type DeviceMem struct {
	child
	mu      sync.RWMutex // held for reading while a call uses ptr
	ptr     DevicePtr
	size    int64
	pooled  bool
	foreign bool // another process has allocated it
	closed  bool
}

// Malloc allocates n bytes, usable at once on every stream. Where the device has memory pools they come from
// the device's pool, as with [Context.MallocAsync], else from the plain allocator. n may be 0: no memory, address 0.
// Out of memory is ErrOutOfMemory. The contents are undefined. If ctx ends first there is no memory, and the error is ctx's.
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

// MallocAsync allocates n bytes in the order of s: work queued on s from now on may use them; other streams
// must wait for an event recorded on s. Where the device has no memory pools it is a plain allocation, which may
// wait for the device.
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

// Ptr is the address of the first byte; 0 after Close.
func (m *DeviceMem) Ptr() DevicePtr {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.ptr
}

// Size is the size in bytes.
func (m *DeviceMem) Size() int64 { return m.size }

// Close frees the memory. No work that uses it may be queued or running on any stream: synchronise first, or
// use CloseAsync. Closing twice is fine. On a lost device it returns nil: the memory went with the context.
func (m *DeviceMem) Close() error { return m.release(nil) }

// CloseAsync frees the memory when s has done the work queued on it so far. Work on other streams that uses the
// memory must be waited for by s. Where the device has no memory pools it waits for s.
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

// stays reports whether memory is still there after an error of its free: a free inside a capture can be done again. After
// any other error nobody can say, and the memory counts as closed, so that its context can be closed too.
func stays(err error) bool { return errors.Is(err, ErrCaptureUnsupported) }

// SetPoolThreshold sets how many bytes of freed memory the device's pool keeps for later allocations; the
// driver's default is 0, so that each synchronisation gives everything back. It holds for the whole process.
func (c *Context) SetPoolThreshold(bytes uint64) error {
	return c.withPool("SetPoolThreshold", func(f *frame, pool uintptr) error {
		const releaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
		at := f.outAddr(1)
		f.out[1] = bytes
		return c.dev.check(fnMemPoolSetAttribute, c.free(fnMemPoolSetAttribute, f, pool, releaseThreshold, at))
	})
}

// TrimPool gives freed memory back to the system until the pool holds no more than keep bytes.
func (c *Context) TrimPool(keep uint64) error {
	return c.withPool("TrimPool", func(f *frame, pool uintptr) error {
		return c.dev.check(fnMemPoolTrimTo, c.free(fnMemPoolTrimTo, f, pool, uintptr(keep)))
	})
}

// PoolInfo gives the bytes that the device's pool holds and the bytes of them in use, by everyone in the process.
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

// HostMem is pinned memory of the host, which the device reads and writes too: the driver's, from [Context.MallocHost], or the
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

// MallocHost allocates n bytes of pinned memory, usable by every context and mapped into the device's
// addresses. Asynchronous copies take this memory, and that of [Context.RegisterHost]. n may be 0.
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

// Bytes shows the memory; nil after Close. A slice of the driver's memory must not be used after Close: the garbage collector
// does not keep that memory. While an asynchronous copy runs, what it reads must not be written, and what it writes
// not be read.
func (m *HostMem) Bytes() []byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.own != nil {
		return m.own
	}
	return View(m.addr, int(m.size))
}

// DevicePtr is the memory's address on the device; 0 after Close.
func (m *HostMem) DevicePtr() DevicePtr {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dev
}

// Size is the size in bytes.
func (m *HostMem) Size() int64 { return m.size }

// Close frees the memory, or unregisters it. No copy or kernel that uses it may be queued or running. Closing twice is fine.
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
