package cudadrv

import (
	"context"
	"fmt"
)

// The synchronous copies run on their own stream and return when the bytes have arrived. They do not wait for work on other
// streams: synchronise that first.
//
// If ctx has ended, a copy does not begin. If ctx ends during a copy, the copy returns its error. A copy from or to host memory
// has then stopped and has copied a part of the bytes. Work on the device alone continues.

// copyPart is how many bytes of the host's memory are copied at a time where ctx may end: some milliseconds.
const copyPart = 64 << 20

// CopyToDevice copies src to the device, from any memory of the program.
func (c *Context) CopyToDevice(ctx context.Context, dst DevicePtr, src []byte) error {
	return c.inParts(ctx, "CopyToDevice", src, func(f *frame, part []byte, at uintptr, h uintptr) (slot, Code) {
		return fnMemcpyHtoDAsync, c.free(fnMemcpyHtoDAsync, f, uintptr(dst)+at, f.bytesAddr(0, part), uintptr(len(part)), h)
	})
}

// CopyToHost copies len(dst) bytes from the device, to any memory of the program.
func (c *Context) CopyToHost(ctx context.Context, dst []byte, src DevicePtr) error {
	return c.inParts(ctx, "CopyToHost", dst, func(f *frame, part []byte, at uintptr, h uintptr) (slot, Code) {
		return fnMemcpyDtoHAsync, c.free(fnMemcpyDtoHAsync, f, f.bytesAddr(0, part), uintptr(src)+at, uintptr(len(part)), h)
	})
}

// CopyDevice copies n bytes on the device. The ranges must not overlap.
func (c *Context) CopyDevice(ctx context.Context, dst, src DevicePtr, n int64) error {
	return c.queueAndWait(ctx, func() error { return c.inner.CopyDevice(dst, src, n) })
}

// Memset8 sets n bytes to value.
func (c *Context) Memset8(ctx context.Context, dst DevicePtr, value uint8, n int64) error {
	return c.queueAndWait(ctx, func() error { return c.inner.Memset8(dst, value, n) })
}

// Memset32 sets n 4-byte words to value. dst must be a multiple of 4.
func (c *Context) Memset32(ctx context.Context, dst DevicePtr, value uint32, n int64) error {
	return c.queueAndWait(ctx, func() error { return c.inner.Memset32(dst, value, n) })
}

// inParts copies host memory, all of it at once if ctx cannot end.
func (c *Context) inParts(ctx context.Context, op string, host []byte, queue func(f *frame, part []byte, at, h uintptr) (slot, Code)) error {
	size := len(host)
	if cancellable(ctx) {
		size = copyPart
	}
	for at := 0; at < len(host); at += size {
		if err := ended(ctx); err != nil {
			return err
		}
		part := host[at:min(at+size, len(host))]
		if err := c.callAndWait(op, func(f *frame, h uintptr) (slot, Code) { return queue(f, part, uintptr(at), h) }); err != nil {
			return err
		}
	}
	return nil
}

// queueAndWait queues work on the inner stream and waits for it.
func (c *Context) queueAndWait(ctx context.Context, queue func() error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if err := queue(); err != nil {
		return err
	}
	if cancellable(ctx) {
		return c.dev.poller.wait(ctx, c.inner)
	}
	return c.waitForInner()
}

// callAndWait queues one call on the inner stream and waits for it; the frame keeps the host's memory until then.
func (c *Context) callAndWait(op string, fn func(f *frame, h uintptr) (slot, Code)) error {
	h, err := c.inner.begin(op)
	if err != nil {
		return err
	}
	defer c.inner.end()
	f := getFrame()
	defer f.put()
	s, code := fn(f, h)
	// Also after an error: a part of the copy may be queued, and it refers to the host's memory.
	done := c.arrived(f, h)
	if err := c.dev.check(s, code); err != nil {
		return err
	}
	return c.dev.check(fnStreamSynchronize, done)
}

// arrived waits for the inner stream. If a wait fails, it tries once more, so that a temporary error does not release memory that
// the copy still uses. It returns the first error.
func (c *Context) arrived(f *frame, h uintptr) Code {
	code := c.free(fnStreamSynchronize, f, h)
	if code != Success && !code.sticky() {
		c.free(fnStreamSynchronize, f, h)
	}
	return code
}

// waitForInner is arrived for work that refers to memory of the device alone.
func (c *Context) waitForInner() error {
	return c.inner.do("Synchronize", fnStreamSynchronize, c.arrived)
}

// The asynchronous copies return at once. They take only memory of [Context.MallocHost] and [Context.RegisterHost]: other
// Go memory could be freed while the device still reads it, and the driver would copy it in a way that is not asynchronous anyhow.
// Until the stream has passed the copy, the source must not be written, the destination not be read, and neither closed.

// CopyToDevice queues a copy of bytes off to off+n of src.
func (s *Stream) CopyToDevice(dst DevicePtr, src *HostMem, off, n int64) error {
	return s.hostCopy("CopyToDevice", fnMemcpyHtoDAsync, src, off, n, false, func(f *frame, h, host uintptr) Code {
		return s.ctx.free(fnMemcpyHtoDAsync, f, uintptr(dst), host, uintptr(n), h)
	})
}

// CopyToHost queues a copy of n bytes to byte off of dst.
func (s *Stream) CopyToHost(dst *HostMem, off int64, src DevicePtr, n int64) error {
	return s.hostCopy("CopyToHost", fnMemcpyDtoHAsync, dst, off, n, true, func(f *frame, h, host uintptr) Code {
		return s.ctx.free(fnMemcpyDtoHAsync, f, host, uintptr(src), uintptr(n), h)
	})
}

func (s *Stream) hostCopy(op string, fn slot, m *HostMem, off, n int64, write bool, call func(f *frame, h, host uintptr) Code) error {
	if m == nil {
		return &ValueError{Op: op, What: "the host memory", Kind: ErrMissing, Got: "nil", Want: "memory of MallocHost or RegisterHost"}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	host, err := m.span(op, off, n, write)
	if err != nil || n == 0 {
		return err
	}
	return s.do(op, fn, func(f *frame, h uintptr) Code { return call(f, h, host) })
}

// CopyDevice queues a copy of n bytes on the device. The ranges must not overlap.
func (s *Stream) CopyDevice(dst, src DevicePtr, n int64) error {
	return s.fill("CopyDevice", fnMemcpyDtoDAsync, dst, uintptr(src), n)
}

// Memset8 queues setting n bytes to value.
func (s *Stream) Memset8(dst DevicePtr, value uint8, n int64) error {
	return s.fill("Memset8", fnMemsetD8Async, dst, uintptr(value), n)
}

// Memset32 queues setting n 4-byte words to value. dst must be a multiple of 4.
func (s *Stream) Memset32(dst DevicePtr, value uint32, n int64) error {
	return s.fill("Memset32", fnMemsetD32Async, dst, uintptr(value), n)
}

// fill queues a driver's call that fills n items of device memory from an address or with a value.
func (s *Stream) fill(op string, fn slot, dst DevicePtr, from uintptr, n int64) error {
	if err := count(op, n); err != nil || n == 0 {
		return err
	}
	return s.do(op, fn, func(f *frame, h uintptr) Code { return s.ctx.free(fn, f, uintptr(dst), from, uintptr(n), h) })
}

func count(op string, n int64) error {
	if n < 0 {
		return &ValueError{Op: op, What: "the count", Kind: ErrShape, Got: fmt.Sprint(n), Want: "0 or more"}
	}
	return nil
}

// Plane is the source or the destination of a two-dimensional copy. It is in pinned memory if Host is set, else on the device.
// Its rows are Pitch bytes apart.
type Plane struct {
	Device DevicePtr
	Host   *HostMem
	Offset int64 // the first byte in Host
	Pitch  int64 // from one row to the next in bytes, at least the width
}

// Copy2D queues a copy of height rows of width bytes. The rules are those of the other asynchronous copies.
func (s *Stream) Copy2D(dst, src Plane, width, height int64) error {
	const op = "Copy2D"
	if err := count(op, min(width, height)); err != nil || width == 0 || height == 0 {
		return err
	}
	for _, p := range []Plane{dst, src} {
		if p.Pitch < width {
			return &ValueError{Op: op, What: "the pitch", Kind: ErrShape, Got: fmt.Sprint(p.Pitch), Want: fmt.Sprintf("at least the width, %d", width)}
		}
		if p.Host != nil && height-1 > (p.Host.size-width)/p.Pitch {
			return &ValueError{Op: op, What: "the host range", Kind: ErrShape, Got: fmt.Sprintf("%d rows of %d bytes, %d apart", height, width, p.Pitch),
				Want: fmt.Sprintf("within %d bytes", p.Host.size)}
		}
	}
	var hosts [2]uintptr
	for i, p := range []Plane{dst, src} {
		if p.Host == nil || i == 1 && p.Host == dst.Host {
			continue
		}
		p.Host.mu.RLock()
		defer p.Host.mu.RUnlock()
	}
	for i, p := range []Plane{dst, src} {
		if p.Host != nil {
			var err error
			if hosts[i], err = p.Host.span(op, p.Offset, (height-1)*p.Pitch+width, i == 0); err != nil {
				return err
			}
		}
	}
	return s.do(op, fnMemcpy2DAsync, func(f *frame, h uintptr) Code {
		const onHost, onDevice = 1, 2
		f.copy = memcpy2D{
			srcType: onDevice, srcDevice: uint64(src.Device), srcPitch: uint64(src.Pitch),
			dstType: onDevice, dstDevice: uint64(dst.Device), dstPitch: uint64(dst.Pitch),
			width: uint64(width), height: uint64(height),
		}
		if src.Host != nil {
			f.copy.srcType, f.copy.srcHost = onHost, hosts[1]
		}
		if dst.Host != nil {
			f.copy.dstType, f.copy.dstHost = onHost, hosts[0]
		}
		return s.ctx.free(fnMemcpy2DAsync, f, f.copyAddr(), h)
	})
}
