//go:build !linux || !(amd64 || arm64)

package cudadrv

import "runtime"

// load returns the error that this platform has no driver.
func load() (*Driver, error) {
	return nil, &LoadError{Kind: ErrPlatform, Path: runtime.GOOS + "/" + runtime.GOARCH}
}

// SystemFunctionTable returns the functions in the library that [Open] loads. A program can wrap them and make its own driver
// with [NewDriver].
func SystemFunctionTable() (*FunctionTable, error) {
	_, err := load()
	return nil, err
}
