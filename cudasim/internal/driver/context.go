package driver

import "github.com/robocache/robocache/cudadrv"

// cudaContext is a device's primary context, its only one. It stays the same while it is retained.
type cudaContext struct{ d *Device }

func cuDevicePrimaryCtxRetain(d *Device, a []uintptr) code {
	d.mu.Lock()
	first := d.retained == 0
	d.retained++
	d.mu.Unlock()
	if first {
		h := d.add(kindContext, &cudaContext{d}, 0)
		d.mu.Lock()
		d.context = h
		d.mu.Unlock()
	}
	return put64(a[0], uint64(d.context))
}

// cuDevicePrimaryCtxRelease ends one use of the primary context. On a lost device it returns the fault's code, but the use ends too.
func cuDevicePrimaryCtxRelease(d *Device, _ []uintptr) code {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retained == 0 {
		return cudadrv.ErrInvalidContext
	}
	d.retained--
	if d.retained == 0 {
		delete(d.open, d.context)
		d.context = 0
	}
	return d.lost()
}

func cuCtxPushCurrent(d *Device, _ *cudaContext, a []uintptr) code {
	t := threadID()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current[t] = append(d.current[t], a[0])
	return cudadrv.Success
}

func cuCtxPopCurrent(d *Device, a []uintptr) code {
	t := threadID()
	d.mu.Lock()
	defer d.mu.Unlock()
	stack := d.current[t]
	if len(stack) == 0 {
		return cudadrv.ErrInvalidContext
	}
	if a[0] != 0 {
		put64(a[0], uint64(stack[len(stack)-1]))
	}
	d.current[t] = stack[:len(stack)-1] // an empty stack stays, because the thread will bind again
	return cudadrv.Success
}

// bound returns the device whose context is current on the calling thread, nil if there is none; r.mu is held.
func (r *driver) bound() *Device {
	stack := r.current[threadID()]
	if len(stack) == 0 {
		return nil
	}
	for _, d := range r.devices {
		if h := stack[len(stack)-1]; h == d.context && h != 0 {
			return d
		}
	}
	return nil
}

// hasCurrent reports whether the calling thread has a context.
func (r *driver) hasCurrent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bound() != nil
}

func cuCtxSynchronize(d *Device, a []uintptr) code {
	d.mu.Lock()
	capturing := false
	for c := range d.captures {
		if c.has(d) {
			c.invalid, capturing = true, true
		}
	}
	d.mu.Unlock()
	if capturing {
		return cudadrv.ErrCaptureUnsupported
	}
	d.waitAll()
	d.memory.synchronised()
	return d.lost()
}

// cuCtxGetStreamPriorityRange returns the range of priorities, where lower numbers go first. The device ignores them.
func cuCtxGetStreamPriorityRange(d *Device, a []uintptr) code {
	if a[0] != 0 {
		put32(a[0], 0)
	}
	if a[1] != 0 {
		put32(a[1], ^uint32(4)) // -5
	}
	return cudadrv.Success
}
