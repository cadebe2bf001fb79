// Package main does the main job on a flight log: it finds the faults of a recording whose sensors ran at 2 to 404 Hz, brings
// five of them to 50 Hz on a GPU, or on the CPU if there is none, and writes the tensors and a picture of them to the current folder.
//
//	go run ./examples/quickstart [-in FILE.ulg] [-backend NAME]
package main
