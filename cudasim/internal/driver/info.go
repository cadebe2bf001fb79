package driver

import (
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/exec"
)

// attribute returns a device attribute, and false if the device does not have it. Clocks and bus widths are 0, because the simulation
// has no speed.
func (d *Device) attribute(a cudadrv.Attr) (int, bool) {
	switch a {
	case cudadrv.MaxThreadsPerBlock, cudadrv.MaxBlockDimX, cudadrv.MaxBlockDimY:
		return maxThreads, true
	case cudadrv.MaxBlockDimZ:
		return 64, true
	case cudadrv.MaxGridDimX:
		return 1<<31 - 1, true
	case cudadrv.MaxGridDimY, cudadrv.MaxGridDimZ:
		return 1<<16 - 1, true
	case cudadrv.MaxSharedPerBlock:
		return maxShared, true
	case cudadrv.WarpSize:
		return 32, true
	case cudadrv.MaxPitch:
		return 1<<31 - 1, true
	case cudadrv.MultiprocessorCount:
		return d.multiprocessors(), true
	case cudadrv.ClockRate, cudadrv.MemoryClockRate, cudadrv.MemoryBusWidth:
		return 0, true
	case cudadrv.L2CacheSize:
		return 50 << 20, true
	case cudadrv.MaxThreadsPerMultiprocessor:
		return exec.ThreadsPerSM, true
	case cudadrv.AsyncEngineCount:
		return 1, true
	case cudadrv.ComputeCapabilityMajor:
		return ccMajor, true
	case cudadrv.ComputeCapabilityMinor:
		return ccMinor, true
	case cudadrv.MaxSharedPerMultiprocessor:
		return exec.SharedPerSM, true
	case cudadrv.MaxSharedPerBlockOptin:
		return d.sharedOptin(), true
	case cudadrv.MemoryPoolsSupported:
		return 1, true
	case 12: // registers a block
		return exec.RegistersPerSM, true
	case 41, 99: // unified addressing; host memory registration
		return 1, true
	case 106: // blocks a multiprocessor
		return exec.BlocksPerSM, true
	case 111: // shared memory of each block that the system reserves
		return exec.ReservedShared, true
	}
	if a > 0 && a < 150 {
		return 0, true
	}
	return 0, false
}

func cuInit(d *Device, a []uintptr) code {
	if a[0] != 0 {
		return cudadrv.ErrInvalidValue
	}
	d.started.Store(true)
	return cudadrv.Success
}

func cuDriverGetVersion(d *Device, a []uintptr) code { return put32(a[0], CUDAVersion) }

func cuGetErrorName(d *Device, a []uintptr) code   { return d.errorText(a, 0) }
func cuGetErrorString(d *Device, a []uintptr) code { return d.errorText(a, 1) }

// errorText writes the name or the sentence of a code. The sentence of the code that poisoned the device ends with the
// report of the fault.
func (d *Device) errorText(a []uintptr, which int) code {
	c := code(int32(a[0]))
	t, ok := codeTexts[c]
	if !ok {
		put64(a[1], 0)
		return cudadrv.ErrInvalidValue
	}
	s := t[which]
	if which == 1 && c != cudadrv.Success {
		d.mu.Lock()
		for _, d := range d.devices {
			if c == d.lost() && d.report != "" {
				s += ": " + d.report
				break
			}
		}
		d.mu.Unlock()
	}
	return put64(a[1], d.text(s))
}

func cuDeviceGetCount(d *Device, a []uintptr) code { return put32(a[0], uint32(len(d.devices))) }

func cuDeviceGet(d *Device, a []uintptr) code {
	return put32(a[0], uint32(d.owner.Index))
}

func cuDeviceGetName(d *Device, a []uintptr) code {
	putText(a[0], int(int32(a[1])), Name)
	return cudadrv.Success
}

func cuDeviceGetUUID(d *Device, a []uintptr) code {
	b := cudadrv.View(a[0], 16)
	copy(b, "simulated device")
	b[15] ^= byte(d.owner.Index)
	return cudadrv.Success
}

func cuDeviceGetPCIBusID(d *Device, a []uintptr) code {
	putText(a[0], int(int32(a[1])), fmt.Sprintf("0000:%02x:00.0", d.owner.Index))
	return cudadrv.Success
}

// cuDeviceCanAccessPeer returns 1 for two devices, and 0 for a device and itself.
func cuDeviceCanAccessPeer(d *Device, a []uintptr) code {
	peer := int32(a[2])
	if peer < 0 || int(peer) >= len(d.devices) {
		return cudadrv.ErrInvalidDevice
	}
	if int(peer) == d.owner.Index {
		return put32(a[0], 0)
	}
	return put32(a[0], 1)
}

func cuDeviceTotalMem(d *Device, a []uintptr) code {
	return put64(a[0], d.memory.total)
}

func cuDeviceGetAttribute(d *Device, a []uintptr) code {
	v, ok := d.attribute(cudadrv.Attr(int32(a[1])))
	if !ok {
		return cudadrv.ErrInvalidValue
	}
	return put32(a[0], uint32(int32(v)))
}
