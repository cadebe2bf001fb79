// Package robocache is the root of a module that aligns recorded robot data, on the GPU from a plain Go binary and on the
// CPU with the same answers. It exports nothing and holds the tests of the tree as a whole: which package may import which,
// and what every file keeps to. Start at package ops, or at the command cmd/robocache.
package robocache
