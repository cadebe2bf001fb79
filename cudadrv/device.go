package cudadrv

import (
	"encoding/hex"
	"sync"
	"sync/atomic"
)

// Device is one GPU. It lives as long as the process.
type Device struct {
	drv     *Driver
	ordinal int
	h       uintptr
	lost    atomic.Pointer[LostError]
	history history
	poller  poller
	pools   struct {
		mu    sync.Mutex
		known bool
		ok    bool
	}
}

// Attr is a device attribute (CUdevice_attribute). Values without a name here work too.
type Attr int32

// Device attributes.
const (
	MaxThreadsPerBlock          Attr = 1
	MaxBlockDimX                Attr = 2
	MaxBlockDimY                Attr = 3
	MaxBlockDimZ                Attr = 4
	MaxGridDimX                 Attr = 5
	MaxGridDimY                 Attr = 6
	MaxGridDimZ                 Attr = 7
	MaxSharedPerBlock           Attr = 8 // bytes, without SetMaxDynamicShared
	WarpSize                    Attr = 10
	MaxPitch                    Attr = 11 // bytes
	ClockRate                   Attr = 13 // kHz
	MultiprocessorCount         Attr = 16
	MemoryClockRate             Attr = 36 // kHz
	MemoryBusWidth              Attr = 37 // bits
	L2CacheSize                 Attr = 38 // bytes
	MaxThreadsPerMultiprocessor Attr = 39
	AsyncEngineCount            Attr = 40
	ComputeCapabilityMajor      Attr = 75
	ComputeCapabilityMinor      Attr = 76
	MaxSharedPerMultiprocessor  Attr = 81  // bytes
	CooperativeLaunch           Attr = 95  // 1 if the device supports cooperative launches
	MaxSharedPerBlockOptin      Attr = 97  // bytes
	ReadOnlyHostRegister        Attr = 113 // 1 if read-only memory can be registered
	MemoryPoolsSupported        Attr = 115
	ClusterLaunch               Attr = 120 // 1 if the device supports clusters
)

// Driver returns the driver that the device belongs to.
func (dev *Device) Driver() *Driver { return dev.drv }

// Ordinal returns the device's number in the driver's order, from 0.
func (dev *Device) Ordinal() int { return dev.ordinal }

// Name returns the product's name.
func (dev *Device) Name() (string, error) {
	return dev.text(fnDeviceGetName)
}

// text returns what a function of the driver writes about the device.
func (dev *Device) text(s slot) (string, error) {
	f := getFrame()
	defer f.put()
	if err := dev.check(s, dev.drv.call(s, f, f.bufAddr(), uintptr(len(f.buf)), dev.h)); err != nil {
		return "", err
	}
	return f.text(), nil
}

// UUID returns an identifier that stays the same across processes and reboots, in nvidia-smi's form.
func (dev *Device) UUID() (string, error) {
	f := getFrame()
	defer f.put()
	if err := dev.check(fnDeviceGetUUID, dev.drv.call(fnDeviceGetUUID, f, f.bufAddr(), dev.h)); err != nil {
		return "", err
	}
	x := hex.EncodeToString(f.buf[:16])
	return "GPU-" + x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:], nil
}

// PCIBusID returns domain:bus:device.function, for example 0000:1b:00.0.
func (dev *Device) PCIBusID() (string, error) {
	return dev.text(fnDeviceGetPCIBusID)
}

// TotalMem returns the device's memory in bytes.
func (dev *Device) TotalMem() (uint64, error) {
	f := getFrame()
	defer f.put()
	err := dev.check(fnDeviceTotalMem, dev.drv.call(fnDeviceTotalMem, f, f.outAddr(0), dev.h))
	return f.out[0], err
}

// Attribute reads one attribute.
func (dev *Device) Attribute(a Attr) (int, error) {
	f := getFrame()
	defer f.put()
	err := dev.check(fnDeviceGetAttribute, dev.drv.call(fnDeviceGetAttribute, f, f.outAddr(0), uintptr(a), dev.h))
	return int(int32(f.out[0])), err
}

// ComputeCapability returns the architecture: 9 and 0 for sm_90. It is 0, 0 if the driver does not report it.
func (dev *Device) ComputeCapability() (major, minor int) {
	major, err := dev.Attribute(ComputeCapabilityMajor)
	if err != nil {
		return 0, 0
	}
	minor, err = dev.Attribute(ComputeCapabilityMinor)
	if err != nil {
		return 0, 0
	}
	return major, minor
}

// hasPools reports whether memory can be allocated in stream order. An error is not kept: the next call asks again.
func (dev *Device) hasPools() (bool, error) {
	p := &dev.pools
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		n, err := dev.Attribute(MemoryPoolsSupported)
		if err != nil {
			return false, err
		}
		p.known, p.ok = true, n != 0 && dev.drv.has(fnMemAllocAsync, fnMemFreeAsync)
	}
	return p.ok, nil
}

// check converts a code to an error. If the code means that the device is lost, it records that.
func (dev *Device) check(s slot, code Code) error {
	if code == Success {
		return nil
	}
	return dev.failed(dev.drv.fail(s, code), code)
}

// failed returns the error of a failed call, or the device's loss.
func (dev *Device) failed(err error, code Code) error {
	if lost := dev.lost.Load(); lost != nil {
		return lost
	}
	if !(code &^ codeOfPush).sticky() {
		return err
	}
	dev.lost.CompareAndSwap(nil, &LostError{First: err.(*Error), Kernels: dev.history.names()})
	return dev.lost.Load()
}

// Lost returns the error that made the device unusable, or nil if it is usable.
func (dev *Device) Lost() error {
	if l := dev.lost.Load(); l != nil {
		return l
	}
	return nil
}

// history keeps the kernels launched last.
type history struct {
	n    atomic.Uint64
	ring [16]atomic.Pointer[Kernel]
}

func (h *history) add(k *Kernel) {
	n := h.n.Load()
	if n > 0 && h.ring[(n-1)%uint64(len(h.ring))].Load() == k {
		return // names would leave it out
	}
	h.ring[(h.n.Add(1)-1)%uint64(len(h.ring))].Store(k)
}

// names lists the kernels, the latest first; a run of one kernel is named once.
func (h *history) names() []string {
	var out []string
	n := h.n.Load()
	for i := uint64(1); i <= min(n, uint64(len(h.ring))); i++ {
		k := h.ring[(n-i)%uint64(len(h.ring))].Load()
		if k != nil && (len(out) == 0 || out[len(out)-1] != k.name) {
			out = append(out, k.name)
		}
	}
	return out
}
