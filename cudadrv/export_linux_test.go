//go:build linux && (amd64 || arm64)

package cudadrv

import "github.com/ebitengine/purego"

// LibraryTable gives the table of the library at a path, which is open already.
func LibraryTable(path string) (*Table, error) {
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return libraryTable(lib, path), nil
}
