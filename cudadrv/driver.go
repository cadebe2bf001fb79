package cudadrv

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Driver is a loaded and started CUDA driver. It is never unloaded.
type Driver struct {
	path    string
	nccl    func() (*FunctionTable, error)
	nvdec   func() (*FunctionTable, error)
	version int
	procs   [slotCount]Proc
	bind    [slotCount]atomic.Bool // functions that answered 201 without a current context
	devices []*Device
	texts   sync.Map // Code -> [2]string
	leaks   leakList
}

var opened struct {
	once sync.Once
	d    *Driver
	err  error
}

// Open loads and starts the driver library at its first call. Later calls return the same result at once. Starting takes about a
// tenth of a second.
//
// If the environment variable ROBOCACHE_LIBCUDA is set, only the library in it is tried: an absolute path, or a bare name for the
// loader. Otherwise Open tries libcuda.so.1 in the loader's path, and then in the folders that distributions, containers and WSL
// use. It never searches the working directory. The error is a *[LoadError].
func Open() (*Driver, error) {
	opened.once.Do(func() { opened.d, opened.err = load() })
	return opened.d, opened.err
}

// NewDriver starts a driver whose functions come from t. The error is a *[LoadError].
func NewDriver(t *FunctionTable) (*Driver, error) {
	if t == nil || t.Lookup == nil {
		return nil, &LoadError{Kind: ErrDriverMissing, Tried: []string{"a function table without Lookup"}}
	}
	d := &Driver{path: t.Path, nccl: t.NCCL, nvdec: t.NVDEC}
	fail := func(kind LoadKind, err error) (*Driver, error) {
		if errors.Is(err, codeStubLibrary) {
			kind = ErrDriverStub
		}
		return nil, &LoadError{Kind: kind, Path: t.Path, Found: d.version, Needed: MinVersion, Err: err}
	}
	resolve := func(s slot) bool {
		if p, ok := t.Lookup(symbols[s].name, symbols[s].since); ok && p != nil {
			d.procs[s] = p
		}
		return d.procs[s] != nil
	}
	missing := func(s slot) (*Driver, error) {
		return nil, &LoadError{Kind: ErrSymbolMissing, Path: t.Path, Found: d.version, Needed: symbols[s].since, Symbol: symbols[s].name}
	}

	// The version and the initialisation come first, because a stub and an old driver lack other functions, and the errors from
	// these two are more specific.
	for _, s := range []slot{fnInit, fnDriverGetVersion} {
		if !resolve(s) {
			return missing(s)
		}
	}
	resolve(fnGetErrorName)
	resolve(fnGetErrorString)
	f := getFrame()
	defer f.put()
	if code := d.call(fnDriverGetVersion, f, f.outAddr(0)); code != Success {
		return fail(ErrInitFailed, d.fail(fnDriverGetVersion, code))
	}
	d.version = int(int32(f.out[0]))
	if d.version < MinVersion {
		return fail(ErrDriverTooOld, nil)
	}
	if code := d.call(fnInit, f, 0); code != Success {
		kind := ErrInitFailed
		if code == codeNoDevice {
			kind = ErrNoGPU
		}
		return fail(kind, d.fail(fnInit, code))
	}
	for s := range slotCount {
		if d.procs[s] == nil && !resolve(s) && symbols[s].required {
			return missing(s)
		}
	}

	if code := d.call(fnDeviceGetCount, f, f.outAddr(0)); code != Success {
		return fail(ErrInitFailed, d.fail(fnDeviceGetCount, code))
	}
	n := int(int32(f.out[0]))
	if n <= 0 {
		return fail(ErrNoGPU, nil)
	}
	for i := range n {
		if code := d.call(fnDeviceGet, f, f.outAddr(0), uintptr(i)); code != Success {
			return fail(ErrInitFailed, d.fail(fnDeviceGet, code))
		}
		dev := &Device{drv: d, ordinal: i, h: uintptr(uint32(f.out[0]))}
		d.devices = append(d.devices, dev)
	}
	return d, nil
}

// Version returns the CUDA version that the driver supports: 13000 is 13.0.
func (d *Driver) Version() int { return d.version }

// Path returns the library's file name.
func (d *Driver) Path() string { return d.path }

// DeviceCount returns the number of devices, at least 1.
func (d *Driver) DeviceCount() (int, error) { return len(d.devices), nil }

// Device returns device i, the same one each time.
func (d *Driver) Device(i int) (*Device, error) {
	if i < 0 || i >= len(d.devices) {
		return nil, &ValueError{Op: "Device", What: "the ordinal", Kind: ErrOption, Got: fmt.Sprint(i), Want: fmt.Sprintf("0 to %d", len(d.devices)-1)}
	}
	return d.devices[i], nil
}

// fail makes the error for a code that is not Success.
func (d *Driver) fail(s slot, code Code) error {
	if code == Success {
		return nil
	}
	if code == codeMissing {
		return &UnsupportedError{Op: symbols[s].name, Needed: symbols[s].since, Found: d.version}
	}
	if code > codeOfPush {
		s, code = fnCtxPush, code&^codeOfPush
	}
	return d.failure(symbols[s].name, code)
}

func (d *Driver) failure(op string, code Code) *Error {
	name, text := d.describe(code)
	return &Error{Op: op, Code: code, Name: name, Text: text}
}

// NVDEC returns the functions of NVIDIA's library that decodes video. If it is missing, the error is a *[LoadError] that matches
// [ErrNVDECMissing]; or [ErrNVDECLocked] if the container's NVIDIA_DRIVER_CAPABILITIES exclude it.
func (d *Driver) NVDEC() (*FunctionTable, error) {
	missing := &LoadError{Kind: ErrNVDECMissing, Tried: []string{d.path + ": it comes with none"}}
	if d.nvdec != nil {
		t, err := d.nvdec()
		if err == nil || !errors.As(err, &missing) {
			return t, err
		}
	}
	if v := os.Getenv("NVIDIA_DRIVER_CAPABILITIES"); v != "" {
		list := strings.Split(v, ",")
		if !slices.Contains(list, "all") && !slices.Contains(list, "video") {
			missing.Kind = ErrNVDECLocked
		}
	}
	return nil, missing
}

// describe asks the driver for the name and the text of a code, once for each.
func (d *Driver) describe(code Code) (name, text string) {
	if v, ok := d.texts.Load(code); ok {
		p := v.([2]string)
		return p[0], p[1]
	}
	f := getFrame()
	defer f.put()
	if d.call(fnGetErrorName, f, uintptr(uint32(code)), f.outAddr(0)) == Success {
		name = CString(uintptr(f.out[0]))
	}
	if d.call(fnGetErrorString, f, uintptr(uint32(code)), f.outAddr(0)) == Success {
		text = CString(uintptr(f.out[0]))
	}
	d.texts.Store(code, [2]string{name, text})
	return name, text
}
