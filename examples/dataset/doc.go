// Package main goes through a dataset of any format, episode by episode, and puts each on one clock of 50 Hz on a GPU, or on the CPU where there is none:
// state and action side by side, with a mask.
//
//	go run ./examples/dataset [-in PATH] [-rate HZ] [-backend NAME] [STREAM...]
package main
