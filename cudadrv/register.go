package cudadrv

import (
	"runtime"
	"sync"
)

// RegisterOptions are the options of [Context.RegisterHost].
type RegisterOptions struct {
	// ReadOnly registers memory that the process may only read, for example a file that is mapped read-only. The device must not
	// write to it, and copies to it are rejected. Some devices do not support it: see [ReadOnlyHostRegister].
	ReadOnly bool
}

// registered keeps registered memory reachable, because the driver refers to it until Close even if the program does not.
var registered sync.Map // *HostMem -> struct{}

// RegisterHost pins memory that the program already has, so that asynchronous copies and kernels can use it in place, like memory
// from [Context.MallocHost]. Examples: a Go slice, a mapped file, or another library's memory. Close unregisters it and does not
// change the contents. Registering takes far longer than one copy of the same bytes, so it is for memory that is used repeatedly.
//
// A runtime.Pinner holds Go memory until Close, even if the program drops the slice and the HostMem. Other memory must stay
// mapped, at its address, until Close. Close may be called only after every copy and kernel that uses the memory has run (wait
// for an event or the stream), and if no graph that refers to it is launched later.
//
// Until that work has run, Go code must not write its sources, nor touch its destinations, also not through another slice of the
// same bytes. The driver locks whole pages. Other data in the same page is not affected, but overlapping ranges cannot be
// registered at the same time (ErrAlreadyRegistered).
func (c *Context) RegisterHost(b []byte, o RegisterOptions) (*HostMem, error) {
	if err := c.enter("RegisterHost"); err != nil {
		return nil, err
	}
	defer c.leave()
	m := &HostMem{size: int64(len(b)), own: b[:len(b):len(b)], readOnly: o.ReadOnly}
	if len(b) > 0 {
		if !c.drv.has(fnMemHostUnregister) {
			return nil, c.drv.fail(fnMemHostUnregister, codeMissing)
		}
		const portable, mapped, readOnly = 1, 2, 8
		flags := uintptr(portable | mapped)
		if o.ReadOnly {
			if n, err := c.dev.Attribute(ReadOnlyHostRegister); err != nil || n == 0 {
				return nil, &UnsupportedError{Op: "registering read-only memory, on this device", Found: c.drv.version}
			}
			flags |= readOnly
		}
		m.pin.Pin(&b[0]) // nothing happens to memory that is not Go's
		f := getFrame()
		defer f.put()
		m.addr = f.bytesAddr(0, b)
		if err := c.dev.check(fnMemHostRegister, c.bound(fnMemHostRegister, f, m.addr, uintptr(len(b)), flags)); err != nil {
			m.pin.Unpin()
			return nil, err
		}
		if err := c.dev.check(fnMemHostGetDevicePointer, c.bound(fnMemHostGetDevicePointer, f, f.outAddr(1), m.addr, 0)); err != nil {
			c.bound(fnMemHostUnregister, f, m.addr)
			m.pin.Unpin()
			return nil, err
		}
		m.dev = DevicePtr(f.out[1])
		registered.Store(m, struct{}{})
	}
	m.child = c.adopt(kindHost, int64(len(b)))
	return m, nil
}

// unregister does the work of Close for registered memory. The caller holds its lock. If it fails, the memory stays registered,
// because the device may still access it.
func (m *HostMem) unregister() error {
	if m.size == 0 {
		return nil
	}
	c := m.ctx
	var err error
	if c.dev.Lost() == nil {
		f := getFrame()
		defer f.put()
		err = c.dev.check(fnMemHostUnregister, c.bound(fnMemHostUnregister, f, m.addr))
		if err != nil && c.dev.Lost() == nil {
			return err
		}
	}
	runtime.KeepAlive(m.own)
	m.pin.Unpin()
	registered.Delete(m)
	return err
}
