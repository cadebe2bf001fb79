package main

// The imports register the backends besides the CPU, and video decoders besides ffmpeg.
import (
	_ "github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
	_ "github.com/robocache/robocache/video/dav1d"
	_ "github.com/robocache/robocache/video/nvdec"
)
