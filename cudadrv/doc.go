// Package cudadrv binds the CUDA driver API without cgo.
package cudadrv
