package cudadrv

import "fmt"

// HandleBytes is the size of a handle from [DeviceMem.Handle].
const HandleBytes = 64

// sharedUnit is of how many bytes shared memory is a multiple: the driver shares whole pieces of this size, with all that lies in them.
const sharedUnit = 2 << 20

// MallocShared allocates n bytes that other processes can open with [Context.OpenShared]. n must be more than 0 and is rounded up
// to 2 MiB. The memory comes from the plain allocator, not from a pool.
func (c *Context) MallocShared(n int64) (*DeviceMem, error) {
	if n <= 0 {
		return nil, &ValueError{Op: "MallocShared", What: "the size", Kind: ErrShape, Got: fmt.Sprint(n), Want: "1 or more"}
	}
	n = (n + sharedUnit - 1) / sharedUnit * sharedUnit
	return c.plain("MallocShared", n, false, func(f *frame) (slot, Code) {
		return fnMemAlloc, c.bound(fnMemAlloc, f, f.outAddr(0), uintptr(n))
	})
}

// Handle returns [HandleBytes] bytes with which another process on the machine can open memory from [Context.MallocShared]. Their
// contents have no other meaning.
func (m *DeviceMem) Handle() ([]byte, error) {
	c := m.ctx
	if err := c.enter("Handle"); err != nil {
		return nil, err
	}
	defer c.leave()
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.closed:
		return nil, &ClosedError{Op: "Handle", What: "memory"}
	case m.pooled || m.foreign || m.size == 0:
		return nil, &ValueError{Op: "Handle", What: "the memory", Kind: ErrOption, Got: "memory of another kind", Want: "memory of MallocShared"}
	}
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnIpcGetMemHandle, c.bound(fnIpcGetMemHandle, f, f.bufAddr(), uintptr(m.ptr))); err != nil {
		return nil, err
	}
	return append([]byte(nil), f.buf[:HandleBytes]...), nil
}

// OpenShared opens memory that another process on the machine allocated with [Context.MallocShared], on this device or on a
// device that it can access. handle is from [DeviceMem.Handle], and n is the size that was requested there. The memory is used
// like memory on this device. It exists only as long as the other process has it, so close it before that process closes its own.
func (c *Context) OpenShared(handle []byte, n int64) (*DeviceMem, error) {
	if len(handle) != HandleBytes || n <= 0 {
		return nil, &ValueError{Op: "OpenShared", What: "the handle", Kind: ErrShape, Got: fmt.Sprintf("%d bytes, of memory of %d", len(handle), n), Want: fmt.Sprintf("%d bytes, of memory of 1 or more", HandleBytes)}
	}
	return c.plain("OpenShared", n, true, func(f *frame) (slot, Code) {
		const enablePeerAccess = 1 // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
		at := f.bufAddr()
		copy(f.buf[:], handle)
		return fnIpcOpenMemHandle, c.bound(fnIpcOpenMemHandle, f, f.outAddr(0), at, enablePeerAccess)
	})
}

// plain makes memory of an address that a call gives.
func (c *Context) plain(op string, n int64, foreign bool, call func(f *frame) (slot, Code)) (*DeviceMem, error) {
	if err := c.enter(op); err != nil {
		return nil, err
	}
	defer c.leave()
	if !c.drv.has(fnIpcGetMemHandle, fnIpcOpenMemHandle, fnIpcCloseMemHandle) {
		return nil, &UnsupportedError{Op: op, Found: c.drv.version}
	}
	f := getFrame()
	defer f.put()
	s, code := call(f)
	if err := c.dev.check(s, code); err != nil {
		return nil, err
	}
	m := &DeviceMem{size: n, ptr: DevicePtr(f.out[0]), foreign: foreign}
	m.child = c.adopt(kindMemory, n)
	return m, nil
}

// Put32 writes the 4 bytes at off, a multiple of 4, atomically: a kernel that reads them at the same time gets the old or the new
// value.
func (m *HostMem) Put32(off int64, v uint32) error {
	if off%4 != 0 {
		return &ValueError{Op: "Put32", What: "the offset", Kind: ErrShape, Got: fmt.Sprint(off), Want: "a multiple of 4"}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	at, err := m.span("Put32", off, 4, true)
	if err == nil {
		storeWord(at, v)
	}
	return err
}
