package main

import (
	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/viz"
)

// job is a recording that was read.
type job interface {
	// run resamples and keeps what save needs.
	run(r *request, device *ops.Device) (*result, error)
	// arrays writes the output.
	arrays(w align.ArrayWriter) error
	// panels returns the figure's content.
	panels() ([]viz.Panel, error)
}

// work is a job with its output still to be written.
type work struct{ job }
