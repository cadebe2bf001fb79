// Package ptxscan reads the outline of a PTX module: version, target, and each entry's name, parameters and opcodes.
// It knows no instruction; what it does not need it skips. Sizes and alignments are bytes. Nothing is kept of the text.
package ptxscan
