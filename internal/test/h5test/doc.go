// Package h5test has checks for every reader of episodes in HDF5 files: the values must equal those from h5py, and a file that is
// damaged, truncated or malicious must give a typed error.
package h5test
