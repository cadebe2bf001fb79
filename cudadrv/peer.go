package cudadrv

import (
	"encoding/binary"
	"fmt"
)

// CanAccess reports whether the device's kernels can access the memory of peer, another device of the same driver.
func (dev *Device) CanAccess(peer *Device) (bool, error) {
	if err := dev.beside("CanAccess", peer); err != nil {
		return false, err
	}
	f := getFrame()
	defer f.put()
	err := dev.check(fnDeviceCanAccessPeer, dev.drv.call(fnDeviceCanAccessPeer, f, f.outAddr(0), dev.h, peer.h))
	return int32(f.out[0]) != 0, err
}

// beside checks that a device is another one of the same driver.
func (dev *Device) beside(op string, peer *Device) error {
	switch {
	case peer == nil:
		return &ValueError{Op: op, What: "the peer", Kind: ErrMissing, Got: "nil", Want: "a device"}
	case peer.drv != dev.drv || peer == dev:
		return &ValueError{Op: op, What: "the peer", Kind: ErrWrongDevice, Got: fmt.Sprintf("device %d of %s", peer.ordinal, peer.drv.path),
			Want: fmt.Sprintf("another device than %d of %s", dev.ordinal, dev.drv.path)}
	}
	return nil
}

// OpenPool gives other devices of the same driver access to this device's memory. Their kernels and copies can then use memory
// from [Context.Malloc], also if it was allocated before. It applies to the whole process. If a device cannot access this one, or
// this one has no memory pools, the error is an *[UnsupportedError] and nothing changes.
func (c *Context) OpenPool(to ...*Device) error {
	return c.withPool("OpenPool", func(f *frame, pool uintptr) error {
		for _, peer := range to {
			ok := false
			err := c.dev.beside("OpenPool", peer)
			if err == nil {
				ok, err = peer.CanAccess(c.dev)
			}
			if err != nil {
				return err
			}
			if !ok {
				return &UnsupportedError{Op: fmt.Sprintf("access of device %d to the memory of device %d", peer.ordinal, c.dev.ordinal), Found: c.drv.version}
			}
		}
		for _, peer := range to {
			const onDevice, readWrite = 1, 3 // CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			at := f.bufAddr()
			for i, v := range []uint32{onDevice, uint32(peer.h), readWrite} { // CUmemAccessDesc
				binary.NativeEndian.PutUint32(f.buf[4*i:], v)
			}
			if err := c.dev.check(fnMemPoolSetAccess, c.free(fnMemPoolSetAccess, f, pool, at, 1)); err != nil {
				return err
			}
		}
		return nil
	})
}
