//go:build !linux || !(amd64 || arm64)

package cudadrv

import "runtime"

// load says why there can be no driver.
func load() (*Driver, error) {
	return nil, &LoadError{Kind: ErrPlatform, Path: runtime.GOOS + "/" + runtime.GOARCH}
}

// SystemFunctionTable gives the functions of the library that [Open] loads, for a program that wraps them and makes a driver of
// its own with [NewDriver].
func SystemFunctionTable() (*FunctionTable, error) {
	_, err := load()
	return nil, err
}
