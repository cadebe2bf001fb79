// Package main puts a flight log on one clock: it reads a recording whose sensors ran at rates from 2 to 280 Hz, brings them to
// 50 Hz on a GPU, or on the CPU where there is none, and writes the tensors and a picture of them to the current folder.
//
//	go run github.com/robocache/robocache/examples/quickstart
package main
