package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/ops"
)

// result is what resample and fuse say of their work.
type result struct {
	Input  string     `json:"input"`
	Output string     `json:"output"`
	Plot   string     `json:"plot,omitempty"`
	Device deviceInfo `json:"device"`
	align.Report
	Remarks []string          `json:"remarks"`  // the lines on standard error
	LeftOut []notetext.Reason `json:"left_out"` // streams of the recording that are not in the output, and why
	Ignored []string          `json:"ignored"`  // arrays of an .npz file that were not used
}

func deviceOf(i ops.Info) deviceInfo {
	return deviceInfo{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Why: i.Why}
}

// resampled writes the result: a table to standard output, what is not in the table to standard error.
func (a *app) resampled(r *result) error {
	remarks := []string{} // in JSON if there are none
	if len(r.Ignored) > 0 {
		remarks = append(remarks, "not used: "+strings.Join(r.Ignored, ", "))
	}
	r.LeftOut = notetext.Reasons(r.Notes.Of(dataset.ClassLeftOut))
	r.Remarks = slices.Concat(remarks, notetext.LeftOutLines(r.Notes), notetext.Lines(r.Notes.Of(dataset.ClassDamage, dataset.ClassRemark)), r.Remarks)
	if a.json {
		return a.writeJSON(r)
	}
	for _, s := range r.Remarks {
		a.remark("%s", s)
	}
	wrote := r.Output
	if r.Plot != "" {
		wrote += " and " + r.Plot
	}
	_, err := fmt.Fprintf(a.out, "%vwrote %s, computed on %s\n", r.Report, wrote, r.Device.Name)
	return err
}
