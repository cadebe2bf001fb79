// Package main is the command robocache: it puts recorded robot data on one clock.
//
//	robocache info
//	robocache resample flight.ulg -o flight.npz --hz 50 --plot flight.png
//
// Results go to standard output, remarks to standard error. With --json a command writes one JSON object to standard output and
// nothing else: its result, or {"error": {"kind", "code", "message", ...}}. The exit code is 0 for success, 2 for an invalid command
// line, 3 for input that cannot be used, 4 if the requested device is missing, and 1 for any other error. A file is written under a
// temporary name in its folder, and renamed when it is complete. A command that fails leaves no file.
package main
