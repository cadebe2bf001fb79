package main

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
)

// result is what resample and fuse say of their work.
type result struct {
	Input  string     `json:"input"`
	Output string     `json:"output"`
	Plot   string     `json:"plot,omitempty"`
	Device deviceInfo `json:"device"`
	align.Report
	Ignored []string `json:"ignored"` // arrays of an .npz file that were not used
}

func deviceOf(i ops.Info) deviceInfo {
	return deviceInfo{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Why: i.Why}
}

// resampled writes the result: a table to standard output, what is not in the table to standard error.
func (a *app) resampled(r *result) error {
	if a.json {
		return a.writeJSON(r)
	}
	if len(r.Ignored) > 0 {
		a.remark("not used: %s", strings.Join(r.Ignored, ", "))
	}
	for _, note := range r.Notes() {
		a.remark("%s", note)
	}
	wrote := r.Output
	if r.Plot != "" {
		wrote += " and " + r.Plot
	}
	_, err := fmt.Fprintf(a.out, "%vwrote %s, computed on %s\n", r.Report, wrote, r.Device.Name)
	return err
}
