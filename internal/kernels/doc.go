// Package kernels loads the kernels of package ptx on a device. It loads a family (the kernels of one source file) when its first
// kernel is needed, from the best image that the driver accepts.
package kernels
