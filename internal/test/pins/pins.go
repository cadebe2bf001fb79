package pins

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/ptx"
)

// Launch counts the work of one kernel launch.
type Launch struct {
	Kernel       string
	Instructions uint64 // executed warp instructions
	Read         uint64 // sectors of 32 bytes of global memory, counted once per request
	Written      uint64
	Prefetched   uint64 // prefetched lines of 128 bytes
}

// multiprocessors is the number of multiprocessors of the simulated device. An H100 has 33 times as many, so a job with 1/33 of the
// rows fills the device as the whole job fills an H100, and launches the same kernels and block sizes.
const multiprocessors = 4

// shapes has five jobs for each operation from the tables in bench/README, with fewer rows or points.
var shapes = map[string]string{
	"resample": `
		{"suite": "resample", "B": 2, "S": 4096, "T": 1024, "D": 32},
		{"suite": "resample", "B": 1, "S": 100, "T": 50, "D": 32},
		{"suite": "forms", "B": 8, "S": 500, "T": 250, "D": 75},
		{"suite": "forms", "B": 1, "S": 30000, "T": 7500, "D": 14, "values": "f32", "times": "i64"},
		{"suite": "forms", "B": 8, "S": 500, "T": 250, "D": 22, "values": "f32", "times": "i64", "channels": [{"kind": "linear", "D": 3}, {"kind": "slerp", "D": 4}, {"kind": "linear", "D": 14}, {"kind": "previous", "D": 1}]}`,
	"fuse": `
		{"suite": "fuse", "B": 8, "T": 128, "streams": [{"S": 100, "D": 512}, {"S": 200, "D": 128}, {"S": 300, "D": 64}]},
		{"suite": "fuse", "B": 1, "T": 250, "streams": [{"S": 150, "D": 512}, {"S": 500, "D": 14}, {"S": 1000, "D": 6}]},
		{"suite": "fuse", "B": 1, "T": 20, "streams": [{"S": 30, "D": 128}, {"S": 100, "D": 64}, {"S": 200, "D": 12}]},
		{"suite": "fuse", "B": 8, "T": 50, "streams": [{"S": 30, "D": 64}, {"S": 100, "D": 7}]},
		{"suite": "fuse", "B": 8, "T": 50, "streams": [{"S": 30, "D": 64}, {"S": 100, "D": 7}], "values": "f64", "max_gap_ms": 500, "valid": true, "age": true}`,
	"backward": `
		{"suite": "backward", "B": 2, "S": 1000, "T": 500, "D": 512, "times": "i64"},
		{"suite": "backward", "B": 8, "S": 500, "T": 250, "D": 32, "times": "i64"},
		{"suite": "backward", "B": 8, "S": 500, "T": 250, "D": 14, "values": "f32", "times": "i64"},
		{"suite": "backward", "B": 2, "S": 500, "T": 2000, "D": 64, "times": "i64"},
		{"suite": "backward", "B": 2, "S": 500, "T": 250, "D": 33, "values": "f64", "times": "f64"}`,
	"voxel": `
		{"suite": "voxelize", "points": 15000, "cells": 40, "reduce": "occupancy", "cloud": "lidar"},
		{"suite": "voxelize", "points": 60000, "cells": 80, "reduce": "count", "cloud": "uniform"},
		{"suite": "voxelize", "points": 30000, "cells": 60, "features": 16, "reduce": "mean", "cloud": "lidar"},
		{"suite": "voxelize", "points": 1500, "cells": 30, "features": 1, "reduce": "max", "cloud": "uniform"},
		{"suite": "voxelize", "points": 7500, "cells": 80, "features": 1, "reduce": "hard", "cloud": "uniform"}`,
	"draw": `
		{"suite": "draw", "windows": 32, "episodes": 1000, "streams": 2},
		{"suite": "draw", "windows": 32, "episodes": 1000, "streams": 2, "trusted": true},
		{"suite": "draw", "windows": 32, "episodes": 100000, "streams": 2, "trusted": true},
		{"suite": "draw", "windows": 124, "episodes": 3000, "streams": 2},
		{"suite": "draw", "windows": 4, "episodes": 100, "streams": 16}`,
	"tally": `
		{"suite": "tally", "rows": 1000, "columns": 26, "values": "normal"},
		{"suite": "tally", "rows": 5000, "columns": 4, "values": "robot"},
		{"suite": "tally", "rows": 20000, "columns": 1, "values": "robot"},
		{"suite": "tally", "rows": 1000, "columns": 26, "known": 11, "values": "normal"},
		{"suite": "tally", "rows": 1000, "columns": 7, "known": 22, "values": "robot"}`,
	"frames": `
		{"suite": "frames", "frames": 2, "format": "rgb", "height": 64, "width": 80, "to": 56, "out": "bf16", "crop": true},
		{"suite": "frames", "frames": 2, "format": "rgb", "height": 64, "width": 80, "to": 56, "out": "f32", "crop": true, "jitter": true, "last": true},
		{"suite": "frames", "frames": 2, "format": "nv12", "height": 48, "width": 64, "to": 48, "out": "u8", "crop": true},
		{"suite": "frames", "frames": 2, "format": "nv12", "height": 96, "width": 128, "to": 40, "out": "bf16"},
		{"suite": "frames", "frames": 1, "format": "i010", "height": 48, "width": 64, "to": 40, "out": "f16", "float": true, "resize": "bilinear"}`,
	"nn": `
		{"suite": "train", "B": 2, "S": 40, "T": 20, "D": 64, "layers": 1, "heads": 2, "ffn": 128, "out": 26},
		{"suite": "train", "B": 1, "S": 200, "T": 100, "D": 256, "layers": 1, "heads": 8, "ffn": 512, "out": 26},
		{"suite": "train", "B": 1, "S": 100, "T": 70, "D": 320, "layers": 1, "heads": 5, "ffn": 320, "out": 14},
		{"suite": "train", "B": 1, "S": 20, "T": 10, "D": 32, "layers": 2, "heads": 1, "ffn": 128, "out": 7},
		{"suite": "train", "B": 1, "S": 20, "T": 30, "D": 544, "layers": 1, "heads": 17, "ffn": 64, "out": 30}`,
}

// Operations returns the names of the operations that Count accepts.
func Operations() []string {
	return []string{"resample", "fuse", "backward", "voxel", "draw", "tally", "frames", "nn"}
}

// Count runs each shape of an operation once, on a device of its own, and returns the launches by the shape's name, in order. It sets
// cfg.Multiprocessors. It returns an error for an unknown shape or a failed run.
func Count(operation string, cfg cudasim.Config) (map[string][]Launch, error) {
	jobs, err := benchmark.ReadShapes(strings.NewReader(`{"jobs": [` + shapes[operation] + `]}`))
	if err != nil {
		return nil, err
	}
	cfg.Multiprocessors = multiprocessors
	all := map[string][]Launch{}
	for _, j := range jobs {
		name := j.Suite() + " " + j.Name()
		if all[name], err = count(j, cfg); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

func count(j benchmark.Job, cfg cudasim.Config) (list []Launch, err error) {
	d := cudasim.New(cfg)
	b, err := sim.New(d)
	if err != nil {
		return nil, err
	}
	dev, err := ops.NewDevice(b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	d.Observe(func(l *cudasim.Launch) {
		if _, _, ok := ptx.Lookup(l.Kernel); ok {
			c := l.Counters
			list = append(list, Launch{l.Kernel, c.Warps, c.GlobalRead.Sectors, c.GlobalWrite.Sectors, c.Prefetched})
		}
	})
	_, _, err = benchmark.Runs(dev, j, 1)
	return list, err
}
