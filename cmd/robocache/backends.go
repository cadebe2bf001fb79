package main

// The backends that the program has besides the CPU's.
import (
	_ "github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
)
