// Package main draws training batches from a dataset: windows of state and action around random moments, put on one clock of 50 Hz and normalised on a
// GPU, or on the CPU where there is none. A picture shows a window over the recorded samples.
//
//	go run ./examples/batches [-in PATH] [-backend NAME]
package main
