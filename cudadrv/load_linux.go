//go:build linux && (amd64 || arm64)

package cudadrv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// libraryEnv names the one library to load.
const libraryEnv = "ROBOCACHE_LIBCUDA"

// searchList returns the library names to try, in order.
func searchList() ([]string, error) {
	if v := os.Getenv(libraryEnv); v != "" {
		if strings.Contains(v, "/") && !filepath.IsAbs(v) {
			return nil, &LoadError{Kind: ErrDriverMissing, Path: v, Err: errors.New(libraryEnv + " must be an absolute path or a bare name")}
		}
		return []string{v}, nil
	}
	list := []string{"libcuda.so.1"}
	arch := "x86_64"
	if runtime.GOARCH == "arm64" {
		arch = "aarch64"
	}
	for _, dir := range []string{
		"/usr/lib/" + arch + "-linux-gnu",
		"/usr/lib/" + arch + "-linux-gnu/nvidia/current",
		"/usr/lib/" + arch + "-linux-gnu/tegra",
		"/usr/lib64",
		"/usr/lib64/nvidia",
		"/usr/lib",
		"/usr/lib/wsl/lib",
		"/run/opengl-driver/lib",
		"/usr/local/nvidia/lib64",
		"/usr/local/nvidia/lib",
	} {
		list = append(list, dir+"/libcuda.so.1")
	}
	return list, nil
}

// load opens the first library of the list that is a driver.
func load() (*Driver, error) {
	list, err := searchList()
	if err != nil {
		return nil, err
	}
	return loadFrom(list)
}

// loadFrom passes over files that are missing and over stubs; any other error ends the search. A library
// once opened stays open: the driver does not survive being unloaded.
func loadFrom(list []string) (*Driver, error) {
	missing := &LoadError{Kind: ErrDriverMissing}
	var stub error
	for _, name := range list {
		lib, err := open(name)
		if err != nil {
			missing.Tried = append(missing.Tried, err.Error())
			continue
		}
		d, err := NewDriver(libraryFunctionTable(lib, name))
		if errors.Is(err, ErrDriverStub) {
			if stub == nil {
				stub = err
			}
			continue
		}
		return d, err
	}
	if stub != nil {
		return nil, stub
	}
	return nil, missing
}

// open loads a library. The loader keeps its answer for the thread that asked, so the goroutine stays on that.
func open(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, fmt.Errorf("%s: %s", name, strings.TrimPrefix(strings.TrimSpace(err.Error()), name+": "))
	}
	return lib, nil
}

// libraryFunctionTable looks functions up in an open library: through the driver's own cuGetProcAddress, asked for
// the version that fixes the signature, else by exported name.
func libraryFunctionTable(lib uintptr, path string) *FunctionTable {
	get, _ := purego.Dlsym(lib, "cuGetProcAddress_v2")
	getV1 := uintptr(0)
	if get == 0 {
		getV1, _ = purego.Dlsym(lib, "cuGetProcAddress")
	}
	find := func(name string, version int) uintptr {
		f := getFrame()
		defer f.put()
		base := f.bytesAddr(0, cstring(baseName(name)))
		args := append(f.args[:0], base, f.outAddr(0), uintptr(version), 0)
		ask := getV1
		if get != 0 {
			ask, args = get, append(args, f.outAddr(1))
		}
		if ask != 0 {
			if r, _, _ := purego.SyscallN(ask, args...); int32(r) == 0 && f.out[0] != 0 {
				return uintptr(f.out[0])
			}
		}
		p, _ := purego.Dlsym(lib, name)
		return p
	}
	return &FunctionTable{Path: path, NCCL: openNCCL, NVDEC: openNVDEC, Lookup: func(name string, version int) (Proc, bool) {
		fn := find(name, version)
		if fn == 0 {
			return nil, false
		}
		if name == symbols[fnIpcOpenMemHandle].name && runtime.GOARCH == "amd64" {
			return func(args []uintptr) uintptr { return openHandle(fn, args) }, true
		}
		return func(args []uintptr) uintptr {
			r, _, _ := purego.SyscallN(fn, args...)
			return r
		}, true
	}}
}

func openNCCL() (*FunctionTable, error) {
	return openOther("libnccl.so.2", "ROBOCACHE_LIBNCCL", ErrNCCLMissing)
}

func openNVDEC() (*FunctionTable, error) {
	return openOther("libnvcuvid.so.1", "ROBOCACHE_LIBNVCUVID", ErrNVDECMissing)
}

// openOther loads another library, which stays open. The environment variable may name its file.
func openOther(name, env string, missing LoadKind) (*FunctionTable, error) {
	if v := os.Getenv(env); v != "" {
		name = v
	}
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return nil, &LoadError{Kind: missing, Path: name, Err: errors.New(env + " must be an absolute path or a bare name")}
	}
	lib, err := open(name)
	if err != nil {
		return nil, &LoadError{Kind: missing, Tried: []string{err.Error()}}
	}
	return &FunctionTable{Path: name, Lookup: func(name string, _ int) (Proc, bool) {
		fn, err := purego.Dlsym(lib, name)
		return func(args []uintptr) uintptr {
			r, _, _ := purego.SyscallN(fn, args...)
			return r
		}, err == nil
	}}, nil
}

// openHandle calls cuIpcOpenMemHandle, which takes the handle by value. On x86-64 the handle lies on the stack, after the six
// arguments in registers, of which two are used. On arm64 such a structure is passed by address, as all calls here do.
func openHandle(fn uintptr, args []uintptr) uintptr {
	call := [6 + HandleBytes/8]uintptr{args[0], args[2]}
	for i := range HandleBytes / 8 {
		call[6+i] = uintptr(binary.NativeEndian.Uint64(View(args[1]+uintptr(8*i), 8)))
	}
	r, _, _ := purego.SyscallN(fn, call[:]...)
	return r
}

// baseName takes the version suffix off: cuMemAlloc_v2 is cuMemAlloc.
func baseName(name string) string {
	i := strings.LastIndex(name, "_v")
	if i < 0 {
		return name
	}
	return name[:i]
}

// SystemFunctionTable returns the functions in the library that [Open] loads. A program can wrap them and make its own driver
// with [NewDriver].
func SystemFunctionTable() (*FunctionTable, error) {
	d, err := Open()
	if err != nil {
		return nil, err
	}
	lib, err := open(d.path)
	if err != nil {
		return nil, &LoadError{Kind: ErrDriverMissing, Path: d.path, Err: err}
	}
	return libraryFunctionTable(lib, d.path), nil
}
