package cudasim

import "github.com/robocache/robocache/cudadrv"

const page = 4096

// pages makes zeroed memory that begins on a page, as pinned memory does.
func pages(n uint64) []byte {
	b := alignedBytes(n + page)
	off := -cudadrv.Addr(b) & (page - 1)
	return b[off:][:n:n]
}

// keep makes host memory known to the device.
func (m *memory) keep(b []byte, registered bool) *hostBlock {
	kind := kindHost
	if registered {
		kind = kindRegistered
	}
	odd := cudadrv.Addr(b) & 7 // the device sees memory from a multiple of 8 on
	h := &hostBlock{bytes: b, registered: registered}
	h.base = m.d.space.mapHost(cudadrv.View(cudadrv.Addr(b)-odd, len(b)+int(odd)))
	h.device = h.base + uint64(odd)
	h.handle = m.d.add(kind, h, int64(len(b)))
	m.hosts[cudadrv.Addr(b)] = h
	return h
}

// forget ends what keep began. The device is idle.
func (m *memory) forget(addr uintptr, registered bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hosts[addr]
	if h == nil || h.registered != registered {
		return false
	}
	delete(m.hosts, addr)
	m.d.drop(h.handle)
	_ = m.d.space.free(h.base) // it is there: hosts says so
	return true
}

// host finds the pinned memory that holds n bytes at a host address.
func (m *memory) host(addr, n uintptr) *hostBlock {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hostLocked(addr, n)
}

func (m *memory) hostLocked(addr, n uintptr) *hostBlock {
	if h := m.hosts[addr]; h != nil && n <= uintptr(len(h.bytes)) {
		return h
	}
	for base, h := range m.hosts {
		if addr >= base && n <= uintptr(len(h.bytes)) && addr-base <= uintptr(len(h.bytes))-n {
			return h
		}
	}
	return nil
}

// cuMemHostAlloc takes 0 bytes, unlike cuMemAlloc and as a real driver does: there is no memory then, at address 0.
func cuMemHostAlloc(d *Device, a []uintptr) code {
	if a[2]&^7 != 0 {
		return cudadrv.ErrInvalidValue
	}
	if a[1] == 0 {
		return put64(a[0], 0)
	}
	if uint64(a[1]) > d.memory.total { // host memory has a limit too; a real one's is the system's
		return cudadrv.ErrOutOfMemory
	}
	b := pages(uint64(a[1]))
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(b, false)
	return put64(a[0], uint64(cudadrv.Addr(b)))
}

func cuMemFreeHost(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.Success
	}
	d.waitAll()
	if !d.memory.forget(a[0], false) {
		return cudadrv.ErrInvalidValue
	}
	return d.lost()
}

func cuMemHostGetDevicePointer(d *Device, a []uintptr) code {
	if a[2] != 0 {
		return cudadrv.ErrInvalidValue
	}
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hostLocked(a[1], 1)
	if h == nil {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], h.device+uint64(a[1]-cudadrv.Addr(h.bytes)))
}

func cuMemHostRegister(d *Device, a []uintptr) code {
	if a[0] == 0 || a[1] == 0 || a[2]&^15 != 0 {
		return cudadrv.ErrInvalidValue
	}
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for base, h := range m.hosts {
		if a[0] < base+uintptr(len(h.bytes)) && base < a[0]+a[1] {
			return cudadrv.ErrAlreadyRegistered
		}
	}
	m.keep(cudadrv.View(a[0], int(a[1])), true)
	return cudadrv.Success
}

func cuMemHostUnregister(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.ErrInvalidValue
	}
	d.waitAll()
	if !d.memory.forget(a[0], true) {
		return cudadrv.ErrNotRegistered
	}
	return d.lost()
}
