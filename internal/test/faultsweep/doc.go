// Package faultsweep tests a program's error handling: it makes each driver call of a run fail in turn. Each run must end with an
// error that names the failed call, and must close everything that it opened. The run after it must succeed.
package faultsweep
