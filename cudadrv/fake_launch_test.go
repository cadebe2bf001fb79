package cudadrv

import (
	"encoding/binary"
)

// launch is cuLaunchKernel.
func (k *fake) launch(a []uintptr) Code {
	return k.queue(a[0], a[8], a[9], fakeRun{config: [7]uintptr(a[1:8])})
}

func (k *fake) queue(kern, stream, params uintptr, r fakeRun) Code {
	if k.handles[kern] != "kernel" || k.handles[stream] != "stream" {
		return ErrInvalidHandle
	}
	if k.names[kern] == "null" && k.capture == nil && r.attrs == nil {
		return Success // and nothing kept: the allocation test counts
	}
	r.name, r.args = k.packed(kern, params)
	r.stream = stream
	if c := k.capture; c != nil && c.stream == stream {
		n := uintptr(k.handle("node"))
		c.nodes = append(c.nodes, n)
		c.runs[n] = r
		return Success
	}
	k.exec(r)
	return Success
}

// extended holds the functions that not every driver has, read at the byte offsets of cuda.h.
func (k *fake) extended(name string, a []uintptr) Code {
	le := binary.LittleEndian
	switch name {
	case "cuLaunchKernelEx":
		cfg := View(a[0], 56)
		r := fakeRun{}
		for i := range r.config {
			r.config[i] = uintptr(le.Uint32(cfg[4*i:]))
		}
		if k.names[a[1]] != "null" {
			r.attrs = map[uint32][]uint32{}
			for i := range uintptr(le.Uint32(cfg[48:])) {
				attr := View(uintptr(le.Uint64(cfg[40:]))+72*i, 72)
				r.attrs[le.Uint32(attr)] = []uint32{le.Uint32(attr[8:]), le.Uint32(attr[12:]), le.Uint32(attr[16:])}
			}
		}
		return k.queue(a[1], uintptr(le.Uint64(cfg[32:])), a[2], r)
	case "cuMemHostRegister_v2":
		for at, v := range k.pinned {
			if a[0] < at+v&(1<<48-1) && at < a[0]+a[1] {
				return ErrAlreadyRegistered
			}
		}
		k.pinned[a[0]] = a[1] | a[2]<<48
		return Success
	case "cuMemHostUnregister":
		if k.pinned[a[0]] == 0 {
			return ErrNotRegistered
		}
		delete(k.pinned, a[0])
		return Success
	}
	return k.graph(name, a)
}
