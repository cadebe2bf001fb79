// Package main makes of a flight log what a model is fed: one row of numbers for every tick of 50 Hz, from streams that ran at 5 to
// 404 Hz, with a mask that tells what was measured from what was not. plan.yaml says which; all streams go through one launch.
//
//	go run ./examples/fuse [-in FILE.ulg] [-backend NAME]
package main
