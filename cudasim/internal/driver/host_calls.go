package driver

import "github.com/robocache/robocache/cudadrv"

// cuMemHostAlloc accepts 0 bytes, unlike cuMemAlloc but as a real driver does. It then returns address 0 and no memory.
func cuMemHostAlloc(d *Device, a []uintptr) code {
	if a[2]&^7 != 0 {
		return cudadrv.ErrInvalidValue
	}
	if a[1] == 0 {
		return put64(a[0], 0)
	}
	if uint64(a[1]) > d.memory.total { // host memory has a limit too; for a real driver it is the system's
		return cudadrv.ErrOutOfMemory
	}
	b := pages(uint64(a[1]))
	d.hosts.mu.Lock()
	defer d.hosts.mu.Unlock()
	d.hosts.keep(d, b, false)
	return put64(a[0], uint64(cudadrv.Addr(b)))
}

func cuMemFreeHost(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.Success
	}
	if !d.forget(a[0], false) {
		return cudadrv.ErrInvalidValue
	}
	return d.lost()
}

func cuMemHostGetDevicePointer(d *Device, a []uintptr) code {
	if a[2] != 0 {
		return cudadrv.ErrInvalidValue
	}
	h := d.hosts.find(a[1], 1)
	if h == nil {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], h.device+uint64(a[1]-cudadrv.Addr(h.bytes)))
}

func cuMemHostRegister(d *Device, a []uintptr) code {
	if a[0] == 0 || a[1] == 0 || a[2]&^15 != 0 {
		return cudadrv.ErrInvalidValue
	}
	m := &d.hosts
	m.mu.Lock()
	defer m.mu.Unlock()
	for base, h := range m.blocks {
		if a[0] < base+uintptr(len(h.bytes)) && base < a[0]+a[1] {
			return cudadrv.ErrAlreadyRegistered
		}
	}
	m.keep(d, cudadrv.View(a[0], int(a[1])), true)
	return cudadrv.Success
}

func cuMemHostUnregister(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.ErrInvalidValue
	}
	if !d.forget(a[0], true) {
		return cudadrv.ErrNotRegistered
	}
	return d.lost()
}
