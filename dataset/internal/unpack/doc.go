// Package unpack expands compressed chunks and puts their bytes in order. The readers of HDF5 and zarr share it.
package unpack
