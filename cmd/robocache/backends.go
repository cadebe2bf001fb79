package main

// The imports register the backends besides the CPU.
import (
	_ "github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
)
