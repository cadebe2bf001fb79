//go:build linux && (amd64 || arm64)

package cudadrv

import "github.com/ebitengine/purego"

// LibraryFunctionTable gives the table of the library at a path, which is open already.
func LibraryFunctionTable(path string) (*FunctionTable, error) {
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return libraryFunctionTable(lib, path), nil
}
