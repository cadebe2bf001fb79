//go:build linux && (amd64 || arm64)

package dav1d

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/robocache/robocache/internal/video"
)

// load opens the first library that exists. It stays open.
func load() (*library, error) {
	list, err := names()
	if err != nil {
		return nil, &video.Refusal{Driver: driver, Reason: video.NoLibrary, Err: err}
	}
	runtime.LockOSThread() // the loader keeps an error for the thread
	defer runtime.UnlockOSThread()
	var tried []string
	for _, name := range list {
		lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			tried = append(tried, strings.TrimSpace(err.Error()))
			continue
		}
		var procs [functionCount]uintptr
		for f, symbol := range functions {
			if procs[f], err = purego.Dlsym(lib, symbol); err != nil {
				return nil, &video.Refusal{Driver: driver, Reason: video.OldLibrary, Err: err}
			}
		}
		return newLibrary(func(f function, args ...uintptr) uintptr {
			r, _, _ := purego.SyscallN(procs[f], args...)
			return r
		})
	}
	return nil, &video.Refusal{Driver: driver, Reason: video.NoLibrary, Err: fmt.Errorf("%s", strings.Join(tried, "; "))}
}
