//go:build !linux || !(amd64 || arm64)

package cudadrv

import "runtime"

// load says why there can be no driver.
func load() (*Driver, error) {
	return nil, &LoadError{Kind: ErrPlatform, Path: runtime.GOOS + "/" + runtime.GOARCH}
}
