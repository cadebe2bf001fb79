// Package faultsweep makes every driver call of a run fail in turn and looks at what the program does about it: each run
// must end, in an error that names the call, with nothing left open, and the run after it must be right.
package faultsweep
