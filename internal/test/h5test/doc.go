// Package h5test has the checks that every reader of episodes in HDF5 files must pass: values as h5py reads them, and files that are broken, cut or
// hostile.
package h5test
