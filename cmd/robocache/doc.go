// Package main is the command robocache: it puts recorded robot data on one clock.
//
//	robocache info
//	robocache resample flight.ulg -o flight.npz --hz 50 --plot flight.png
//
// Results go to standard output, remarks to standard error. With --json a command writes one JSON object to standard output and
// nothing else: its result, or {"error": {"kind", "code", "message", ...}}. The exit code is 0 for success, 2 for a command
// line that cannot be, 3 for input that cannot be used, 4 where the device asked for is not there, 1 for anything else. A file
// is written beside its name and renamed when it is complete; a command that fails leaves none.
package main
