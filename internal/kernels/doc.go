// Package kernels loads the kernels of package ptx on a device: of each family the best image that the driver takes, when the first of its
// kernels is asked for.
package kernels
